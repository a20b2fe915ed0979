package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/git"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A source is what the files of a commit are made of.
type source struct {
	kv    store.KV
	blobs store.Blobs
	// home is where settings, policies and agents are; empty leaves them as they are, for
	// a time of which nobody knows them.
	home string
	// thorough looks at the index of each package, too, and not only of those whose
	// list of versions is another.
	thorough bool
}

// Bounds on what is kept of one package and of one other file, in bytes.
const (
	maxText    = 256 << 10
	maxPackage = 4 << 20
	maxOther   = 1 << 20
)

// versions is what versions.json holds.
type versions struct {
	Active   string    `json:"active,omitempty"`
	Versions []version `json:"versions"`
}

type version struct {
	Version     string           `json:"version"`
	Digest      manifests.Digest `json:"digest"`
	Source      string           `json:"source,omitempty"`
	Origin      registry.Origin  `json:"origin"`
	Signer      string           `json:"signer,omitempty"`
	InstalledAt time.Time        `json:"installed_at"`
	InstalledBy string           `json:"installed_by"`
}

// grant is a line of grants.json. It leaves out how often the grant was used, which
// nobody decided.
type grant struct {
	Version    string             `json:"version"`
	ID         string             `json:"id"`
	Capability string             `json:"capability"`
	Scope      approval.Scope     `json:"scope"`
	Run        string             `json:"run,omitempty"`
	Session    string             `json:"session,omitempty"`
	For        []approval.Pattern `json:"for,omitempty"`
	ExpiresAt  time.Time          `json:"expires_at,omitzero"`
	MaxUses    int                `json:"max_uses,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	By         string             `json:"granted_by"`
	At         time.Time          `json:"granted_at"`
}

// before is the last commit. It is read once, and not for each skill: a decision takes
// as long however many there are.
type before struct {
	repo  *git.Repository
	files git.Listing
	paths []string
}

// files are what differs, or may differ, from the last commit.
func (s source) files(ctx context.Context, repo *git.Repository) ([]git.File, error) {
	last, err := repo.List()
	if err != nil {
		return nil, err
	}
	c := before{repo, last, last.Paths()}
	files, err := s.skills(ctx, c)
	if err != nil || s.home == "" {
		return files, err
	}
	others, err := s.others(c.paths)
	return append(files, others...), err
}

// withGone adds the deletion of files that are there, are ours to say something
// about, and are not among files.
func withGone(files []git.File, there []string, ours func(string) bool) []git.File {
	for _, p := range there {
		if ours(p) && !slices.ContainsFunc(files, func(f git.File) bool { return f.Path == p }) {
			files = append(files, git.File{Path: p})
		}
	}
	return files
}

// skills are the files of all skills.
func (s source) skills(ctx context.Context, last before) ([]git.File, error) {
	all, err := registry.New(s.kv, s.blobs).List(ctx)
	if err != nil {
		return nil, err
	}
	given, err := approval.NewStore(nil, s.kv, nil, approval.Settings{}).AllGrants(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string][]registry.Skill{}
	for _, v := range all {
		byName[v.Name] = append(byName[v.Name], v)
	}
	var files []git.File
	for _, p := range last.paths {
		name, _, ok := strings.Cut(strings.TrimPrefix(p, "skills/"), "/")
		if ok && strings.HasPrefix(p, "skills/") && byName[name] == nil {
			files = append(files, git.File{Path: p})
		}
	}
	for name, vs := range byName {
		fs, err := s.skill(ctx, last, "skills/"+name+"/", vs, given)
		if err != nil {
			return nil, err
		}
		files = append(files, fs...)
	}
	return files, nil
}

// skill are the files of one skill. Its package is looked at only when another
// version is active than in the last commit.
func (s source) skill(ctx context.Context, last before, dir string, vs []registry.Skill, given map[manifests.Digest][]approval.Grant) ([]git.File, error) {
	listed, active := describe(vs)
	files := []git.File{{Path: dir + "versions.json", Content: listed}, {Path: dir + "grants.json", Content: grantsOf(vs, given)}}
	if !s.thorough && last.files.Has(files[0].Path, listed) {
		return files, nil
	}
	index, err := s.index(ctx, active)
	if err != nil {
		return nil, err
	}
	if was, err := last.repo.Read("", dir+"files.txt"); err == nil && string(was) == string(index) {
		return files, nil
	}
	files = append(files, git.File{Path: dir + "files.txt", Content: index})
	files = append(files, s.texts(ctx, dir+"package/", active)...)
	return withGone(files, last.paths, func(p string) bool { return strings.HasPrefix(p, dir) }), nil
}

// describe is versions.json, and the digest of the active version; empty when
// none is.
func describe(vs []registry.Skill) ([]byte, manifests.Digest) {
	var d versions
	var active manifests.Digest
	for _, v := range vs {
		if v.Active {
			d.Active, active = v.Version, v.Digest
		}
		d.Versions = append(d.Versions, version{v.Version, v.Digest, v.Source, v.Origin, v.Signer, v.InstalledAt, v.InstalledBy})
	}
	return indented(d), active
}

// grantsOf is grants.json.
func grantsOf(vs []registry.Skill, given map[manifests.Digest][]approval.Grant) []byte {
	all := []grant{}
	for _, v := range vs {
		for _, g := range given[v.Digest] {
			all = append(all, grant{
				v.Version, g.ID, g.Capability.String(), g.Scope, g.Run, g.Session, g.For,
				g.ExpiresAt, g.MaxUses, g.Reason, g.By, g.At,
			})
		}
	}
	return indented(all)
}

// indented is JSON in lines, as git compares it.
func indented(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // which these types cannot have
		panic("history: " + err.Error())
	}
	return append(b, '\n')
}

// index is the list of a package's files; a line that says so when its bytes are
// gone, and nothing for no package.
func (s source) index(ctx context.Context, d manifests.Digest) ([]byte, error) {
	if d == "" {
		return []byte{}, nil
	}
	b, err := s.blobs.Get(ctx, string(d))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Appendf(nil, "the bytes of package %s are not kept any more\n", d), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the index of package %s: %w", d.Short(), err)
	}
	return b, nil
}

// texts returns the files of a package that are text. It skips those whose bytes are
// damaged: other checks report them.
func (s source) texts(ctx context.Context, dir string, d manifests.Digest) []git.File {
	if d == "" {
		return nil
	}
	p, err := registry.New(s.kv, s.blobs).Package(ctx, d)
	if err != nil {
		return nil
	}
	var files []git.File
	left := int64(maxPackage)
	for _, f := range p.Files() {
		if f.Size > maxText || f.Size > left || special(f.Path) {
			continue
		}
		if b := text(p, f); b != nil {
			files = append(files, git.File{Path: dir + f.Path, Content: b})
			left -= f.Size
		}
	}
	return files
}

// text returns the content of a file; nil when it is not text.
func text(p *bundle.Package, f bundle.File) []byte {
	b, err := p.Read(f.Path)
	if err != nil || !utf8.Valid(b) || strings.ContainsRune(string(b), 0) {
		return nil
	}
	return append([]byte{}, b...)
}

// special reports whether git would see more than a file in a path: its own
// directory, or a file that tells it what to do.
func special(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool {
		low := strings.ToLower(part)
		return strings.HasPrefix(low, ".git") || strings.HasPrefix(low, "git~")
	})
}

// others are the settings, the policies and the agents, and those of the files
// there that are none any more.
func (s source) others(there []string) ([]git.File, error) {
	var files []git.File
	add := func(rel string) error {
		st, err := os.Lstat(filepath.Join(s.home, rel))
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() > maxOther) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(s.home, rel))
		if err == nil {
			files = append(files, git.File{Path: filepath.ToSlash(rel), Content: append([]byte{}, b...)})
		}
		return err
	}
	paths := []string{settingsFile}
	for _, dir := range []string{"policies", "agents"} {
		entries, err := os.ReadDir(filepath.Join(s.home, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the %s: %w", dir, err)
		}
		for _, e := range entries {
			if !special(e.Name()) {
				paths = append(paths, path.Join(dir, e.Name()))
			}
		}
	}
	for _, p := range paths {
		if err := add(p); err != nil {
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
	}
	return withGone(files, there, func(p string) bool { return !strings.HasPrefix(p, "skills/") }), nil
}

// differs is the first path that the last commit does not have as files say.
func differs(repo *git.Repository, files []git.File) (string, error) {
	for _, f := range files {
		was, err := repo.Read("", f.Path)
		if err != nil && !errors.Is(err, git.ErrNoFile) {
			return f.Path, err
		}
		if (err == nil) != (f.Content != nil) || string(was) != string(f.Content) {
			return f.Path, nil
		}
	}
	return "", nil
}

// maxLine bounds a line of a commit's message.
const maxLine = 500

// oneLine makes one printable line of a text of others'.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == '<' || r == '>' { // which end the name of an author
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxLine {
		text = string(r[:maxLine]) + "..."
	}
	return text
}
