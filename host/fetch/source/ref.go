package source

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/semver"
)

// A Kind says what sort of place a package comes from.
type Kind string

// The kinds of places.
const (
	KindDirectory Kind = "directory"  // ./text
	KindFile      Kind = "file"       // text-1.0.0.skill
	KindURL       Kind = "url"        // https://host/text-1.0.0.skill#sha256:...
	KindGit       Kind = "git"        // git+https://host/repo#v1.0.0:skills/text
	KindRegistry  Kind = "registry"   // oci://host/skills/text:1.0.0 or @sha256:...
	KindLayout    Kind = "oci-layout" // oci-layout:DIR:1.0.0 or @sha256:...
	KindName      Kind = "name"       // text@^1.2
	KindMCP       Kind = "mcp"        // mcp+https://host/mcp#forms or #skill://acme/forms/SKILL.md
	KindEngine    Kind = "engine"     // engine:qjs@0.1.0, which is made on this machine
	KindBuiltin   Kind = "builtin"    // builtin:text@^1.2, which comes with this program
)

// ErrRef means that a text is not a [Ref].
var ErrRef = errors.New("not a reference to a package")

// A Ref says where a package is. Which of the fields mean something depends on
// the kind; the zero value means nothing. It comes from [Parse].
type Ref struct {
	Kind Kind
	// Path is that of a directory, a file or a layout folder, as it was
	// written.
	Path string
	// URL is that of a file, a git repository or an MCP server, without what follows #.
	URL string
	// Host and Repository are those of a registry; the host may have a port.
	Host, Repository string
	// Tag and Digest say which artifact of a registry or layout; both empty for
	// the newest version. The digest of a URL is that of the file, and with an MCP
	// server that of the package.
	Tag    string
	Digest manifests.Digest
	// Revision and Subdir say which commit of a git repository, and which
	// directory in it.
	Revision, Subdir string
	// Skill is that of an MCP server: a name, a path such as acme/forms, or the URI of a
	// SKILL.md.
	Skill string
	// Name and Constraint are those of a short name, an engine, or a package of the
	// program's catalog; an empty constraint, and
	// "latest", mean the newest release.
	Name, Constraint string
}

// maxRef is the longest text of a reference, in bytes.
const maxRef = 4096

// ParseArgument is [Parse] of what a person wrote for a package: its error is a
// [fault.Error] of [fault.KindUsage] that says what may be written.
func ParseArgument(text string) (Ref, error) {
	r, err := Parse(text)
	if err != nil {
		return r, fault.Wrap(fault.KindUsage, err).WithHint("it may be a path, NAME@VERSION, https://, git+https://, mcp+https://, oci:// or oci-layout:; %s shows examples", fault.ReadHelp("pull"))
	}
	return r, nil
}

// Parse reads a reference. Text with a separator, a dot alone, and names that
// end in .skill are paths; a name without them is looked for in registries. The
// error wraps [ErrRef] and says what to write.
func Parse(text string) (Ref, error) {
	if len(text) > maxRef || text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return Ref{}, refError(text, "it is empty, too long, or has control characters")
	}
	for _, s := range schemes() {
		if rest, ok := strings.CutPrefix(text, s.prefix); ok {
			r, err := s.parse(s.keep + rest)
			if err != nil {
				return Ref{}, refError(text, "%v", err)
			}
			return r, nil
		}
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return Ref{}, refError(text, "addresses that begin with %s:// are not read; it may be a path, NAME@VERSION, https://, git+https://, mcp+https:// or oci://", scheme)
	}
	if IsPath(text) {
		return pathRef(text), nil
	}
	r, err := parseName(text)
	if err != nil {
		return Ref{}, refError(text, "%v", err)
	}
	return r, nil
}

// A scheme is how the references of one sort begin, what of the beginning is
// kept, and how the rest is read.
type scheme struct {
	prefix, keep string
	parse        func(string) (Ref, error)
}

func schemes() []scheme {
	return []scheme{
		{"https://", "https://", parseURL},
		{"http://", "http://", parseURL},
		{"git+https://", "https://", parseGit},
		{"git+http://", "http://", parseGit},
		{"git+file://", "file://", parseGit},
		{"mcp+https://", "https://", parseMCP},
		{"mcp+http://", "http://", parseMCP},
		{"oci://", "", parseRegistry},
		{"oci-layout:", "", parseLayout},
		{"engine:", "", parseEngine},
		{"builtin:", "", parseBuiltin},
	}
}

func refError(text, format string, args ...any) error {
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return fmt.Errorf("%w: %q: %s", ErrRef, text, fmt.Sprintf(format, args...))
}

// IsPath reports whether a text without a scheme is a path, and not a name.
func IsPath(text string) bool {
	return strings.HasPrefix(text, ".") ||
		strings.ContainsAny(text, `/\`) || filepath.Ext(text) == bundle.Extension
}

func pathRef(text string) Ref {
	if r, ok := formerEngine(text); ok {
		return r
	}
	if filepath.Ext(text) == bundle.Extension {
		return Ref{Kind: KindFile, Path: text}
	}
	return Ref{Kind: KindDirectory, Path: text}
}

// parseEngine reads NAME or NAME@VERSION.
func parseEngine(text string) (Ref, error) {
	r, err := manifests.ParseRef(text)
	if err != nil || r.String() != text || r.Tool != "" {
		return Ref{}, errors.New("write engine:NAME or engine:NAME@VERSION, such as engine:qjs@0.1.0")
	}
	return Ref{Kind: KindEngine, Name: r.Name, Constraint: r.Version}, nil
}

// parseBuiltin reads what is after builtin: as a short name.
func parseBuiltin(text string) (Ref, error) {
	r, err := parseName(text)
	if err != nil {
		return Ref{}, errors.New("write builtin:NAME or builtin:NAME@CONSTRAINT, such as builtin:text")
	}
	r.Kind = KindBuiltin
	return r, nil
}

// formerEngine is the engine that an earlier skillet made in a directory that it
// deleted, and named as the source.
func formerEngine(text string) (Ref, bool) {
	file, ok := strings.CutSuffix(filepath.Base(text), bundle.Extension)
	name, version, both := strings.Cut(file, "-")
	if !ok || !both || !strings.HasPrefix(filepath.Base(filepath.Dir(text)), "skillet-engine-") {
		return Ref{}, false
	}
	r, err := parseEngine(name + "@" + version)
	return r, err == nil
}

func parseName(text string) (Ref, error) {
	name, constraint, has := strings.Cut(text, "@")
	if ref, err := manifests.ParseRef(name); err != nil || ref.String() != name || ref.Name != name {
		return Ref{}, errors.New("write NAME or NAME@CONSTRAINT, with lower-case letters, digits and single hyphens, such as csv@^1.2; a path begins with ./ or /")
	}
	if has && strings.TrimSpace(constraint) == "" {
		return Ref{}, fmt.Errorf("nothing follows the @; write %s alone for the newest release", name)
	}
	if constraint != "" && constraint != latest {
		if _, err := semver.ParseRange(constraint); err != nil {
			return Ref{}, err
		}
	}
	return Ref{Kind: KindName, Name: name, Constraint: constraint}, nil
}

// latest is the constraint, and the tag, of the newest release.
const latest = "latest"

// parseAddress reads a URL that may not hold credentials: it would be in the
// history of a shell, and in the record of decisions.
func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.User != nil:
		return nil, errors.New("it has a user name or a password in it; leave them out")
	case u.Host == "" && u.Scheme != "file", u.Opaque != "":
		return nil, errors.New("it names no host")
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != ""):
		return nil, errors.New("write file:// and an absolute path")
	case u.Scheme != "file" && !isHost(u.Host):
		return nil, fmt.Errorf("%q is not a host", u.Host)
	}
	return u, nil
}

func parseURL(text string) (Ref, error) {
	base, fragment, pinned := strings.Cut(text, "#")
	u, err := parseAddress(base)
	if err != nil {
		return Ref{}, err
	}
	r := Ref{Kind: KindURL, URL: u.String()}
	if pinned {
		if r.Digest, err = manifests.ParseDigest(fragment); err != nil {
			return Ref{}, errors.New("what follows the # must be the digest of the file: sha256: and 64 hexadecimal digits")
		}
	}
	return r, nil
}

// parseMCP reads the address of an MCP server, and which of its skills is meant.
func parseMCP(text string) (Ref, error) {
	base, fragment, _ := strings.Cut(text, "#")
	u, err := parseAddress(base)
	if err != nil {
		return Ref{}, err
	}
	r := Ref{Kind: KindMCP, URL: u.String()}
	if i := strings.LastIndex(fragment, "@sha256:"); i >= 0 {
		if r.Digest, err = manifests.ParseDigest(fragment[i+1:]); err != nil {
			return Ref{}, errors.New("what follows the @ must be the digest of the package: sha256: and 64 hexadecimal digits")
		}
		fragment = fragment[:i]
	}
	if !skillForm().MatchString(fragment) {
		return Ref{}, errors.New("write mcp+https://HOST/PATH#SKILL, with the name of a skill of that server or the address of its SKILL.md")
	}
	r.Skill = fragment
	return r, nil
}

// skillForm is the name or path of a skill, or the URI of its SKILL.md.
var skillForm = lazyregexp.New(`^([a-z][a-z0-9+.-]*://)?[A-Za-z0-9._~%-]+(/[A-Za-z0-9._~%-]+)*$`)

var revision = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,254}$`)

func parseGit(text string) (Ref, error) {
	base, fragment, _ := strings.Cut(text, "#")
	u, err := parseAddress(base)
	if err != nil {
		return Ref{}, err
	}
	r := Ref{Kind: KindGit, URL: u.String()}
	rev, sub, _ := strings.Cut(fragment, ":")
	if rev != "" && (!revision().MatchString(rev) || strings.Contains(rev, "..")) {
		return Ref{}, fmt.Errorf("%q is not a branch, tag or commit", rev)
	}
	if sub != "" && (!filepath.IsLocal(sub) || path.Clean(sub) != sub || strings.ContainsAny(sub, `\#:`)) {
		return Ref{}, fmt.Errorf("%q is not a directory in a repository", sub)
	}
	r.Revision, r.Subdir = rev, sub
	return r, nil
}

// The forms of the OCI distribution specification, "Pulling manifests".
var (
	repository = lazyregexp.New(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagForm    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	hostForm   = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
)

// maxRepository is the longest name of a repository, in bytes.
const maxRepository = 255

func isHost(text string) bool {
	if strings.HasPrefix(text, "[") {
		address, port, _ := strings.Cut(strings.TrimPrefix(text, "["), "]")
		_, err := netip.ParseAddr(address)
		return err == nil && hostForm().MatchString("x"+port)
	}
	return hostForm().MatchString(text)
}

func parseRegistry(text string) (Ref, error) {
	host, rest, ok := strings.Cut(text, "/")
	if !ok || !isHost(host) {
		return Ref{}, errors.New("write oci://HOST/REPOSITORY:TAG, or @DIGEST for the tag")
	}
	r := Ref{Kind: KindRegistry, Host: host}
	name, err := r.artifact(rest)
	if err != nil {
		return Ref{}, err
	}
	if !repository().MatchString(name) || len(name) > maxRepository {
		return Ref{}, fmt.Errorf("%q is not the name of a repository; it has lower-case letters, digits, and single . _ - / between them", name)
	}
	r.Repository = name
	return r, nil
}

// artifact takes the tag or the digest off the end of a text.
func (r *Ref) artifact(text string) (rest string, err error) {
	if i := strings.LastIndex(text, "@sha256:"); i >= 0 {
		if r.Digest, err = manifests.ParseDigest(text[i+1:]); err != nil {
			return "", fmt.Errorf("%q is not a digest: write sha256: and 64 hexadecimal digits", text[i+1:])
		}
		text = text[:i]
	}
	i := strings.LastIndex(text, ":")
	if i < 0 || strings.ContainsAny(text[i:], `/\`) {
		return text, nil
	}
	tag := text[i+1:]
	if !tagForm().MatchString(tag) {
		return "", fmt.Errorf("%q is not a tag", tag)
	}
	if r.Digest == "" { // with a digest, the tag says nothing
		r.Tag = tag
	}
	return text[:i], nil
}

func parseLayout(text string) (Ref, error) {
	r := Ref{Kind: KindLayout}
	dir, err := r.artifact(strings.TrimPrefix(text, "//"))
	if err != nil {
		return Ref{}, err
	}
	if dir == "" {
		return Ref{}, errors.New("write oci-layout:DIR, oci-layout:DIR:TAG or oci-layout:DIR@DIGEST")
	}
	r.Path = dir
	return r, nil
}

// String writes r the way [Parse] reads it.
func (r Ref) String() string {
	switch r.Kind {
	case KindURL:
		return r.URL + after("#", string(r.Digest))
	case KindGit:
		rest := r.Revision + after(":", r.Subdir)
		return "git+" + r.URL + after("#", rest)
	case KindMCP:
		return "mcp+" + r.URL + "#" + r.Skill + after("@", string(r.Digest))
	case KindRegistry:
		return "oci://" + r.Host + "/" + r.Repository + after(":", r.Tag) + after("@", string(r.Digest))
	case KindLayout:
		return "oci-layout:" + r.Path + after(":", r.Tag) + after("@", string(r.Digest))
	case KindName:
		return r.Name + after("@", r.Constraint)
	case KindEngine:
		return "engine:" + r.Name + after("@", r.Constraint)
	case KindBuiltin:
		return "builtin:" + r.Name + after("@", r.Constraint)
	}
	return r.Path
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// Location is the reference without what says which version: what should stay the
// same from one version to the next. For a file or a URL it is the directory.
func (r Ref) Location() string {
	switch r.Kind {
	case KindURL:
		if u, err := url.Parse(r.URL); err == nil {
			return u.Scheme + "://" + u.Host + path.Dir(u.EscapedPath())
		}
		return r.URL
	case KindGit:
		r.Revision = ""
	case KindFile:
		return filepath.Dir(r.Path)
	}
	r.Tag, r.Digest, r.Constraint = "", "", ""
	return r.String()
}
