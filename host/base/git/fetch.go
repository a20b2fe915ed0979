package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// The errors of [Fetch] that a caller may test for.
var (
	// ErrNoRepository: there is no repository there.
	ErrNoRepository = errors.New("no git repository")
	// ErrNoRevision: the repository has no such branch, tag or commit, or the
	// commit no such directory.
	ErrNoRevision = errors.New("not in the git repository")
	// ErrTooLarge: one of the limits.
	ErrTooLarge = errors.New("git repository too large")
	// ErrDamaged: what was sent is not what git sends.
	ErrDamaged = errors.New("damaged git data")
)

// Wanted says which files are wanted.
type Wanted struct {
	// URL is that of the repository: http, https, or file for one on this
	// machine, whose objects are read without running git.
	URL string
	// Revision is a branch, a tag, or the 40 hexadecimal digits of a commit;
	// empty for what HEAD names.
	Revision string
	// Subdir is the directory in the repository; empty for all of it.
	Subdir string
}

// Limits bound what is fetched. Each must be more than 0.
type Limits struct {
	Pack    int64  // bytes of the pack, as it is sent
	Objects uint32 // in the pack
	Content int64  // bytes of all objects of the pack, and of all files
	Files   int    // files, directories and links
}

// Fetched says what [Fetch] wrote.
type Fetched struct {
	Commit string // 40 hexadecimal digits
	Dir    string // the directory with the files
}

// Fetch writes the files of one commit below dir, which must be empty and is
// the caller's to delete. It runs no program: no hook, filter or submodule of
// the repository does anything, and of its history as little is fetched as the
// server allows. Links are written as links, and not followed.
//
// Errors of client are wrapped as they are.
func Fetch(ctx context.Context, client *http.Client, w Wanted, l Limits, dir string) (Fetched, error) {
	f, err := fetch(ctx, client, w, l, dir)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch %s: %w", w.URL, underlying(err))
	}
	return f, nil
}

func fetch(ctx context.Context, client *http.Client, w Wanted, l Limits, dir string) (Fetched, error) {
	var (
		objects storer.EncodedObjectStorer
		commit  plumbing.Hash
		err     error
	)
	if local, ok := strings.CutPrefix(w.URL, "file://"); ok {
		objects, commit, err = openLocal(filepath.FromSlash(local), w.Revision)
	} else {
		objects, commit, err = download(ctx, client, w, l, filepath.Join(dir, "git"))
	}
	if err != nil {
		return Fetched{}, err
	}
	tree, err := treeAt(objects, commit, w.Subdir)
	if err != nil {
		return Fetched{}, err
	}
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return Fetched{}, err
	}
	root, err := os.OpenRoot(files)
	if err != nil {
		return Fetched{}, err
	}
	defer root.Close()
	x := extractor{ctx: ctx, objects: objects, root: root, left: l}
	return Fetched{commit.String(), files}, x.tree(tree, ".", 0)
}

// underlying takes errors out of those of the library, which hide them.
func underlying(err error) error {
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		return unexpected.Err
	}
	for _, of := range []error{transport.ErrRepositoryNotFound, transport.ErrEmptyRemoteRepository, gogit.ErrRepositoryNotExists} {
		if errors.Is(err, of) {
			return fmt.Errorf("%w: %w", ErrNoRepository, err)
		}
	}
	return err
}

// openLocal opens a repository on this machine.
func openLocal(dir, revision string) (storer.EncodedObjectStorer, plumbing.Hash, error) {
	repo, err := gogit.PlainOpen(dir)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	if isHash(revision) {
		return repo.Storer, plumbing.NewHash(revision), nil
	}
	for _, name := range names(revision) {
		ref, err := repo.Reference(name, true)
		if err == nil {
			commit, err := peel(repo.Storer, ref.Hash())
			return repo.Storer, commit, err
		}
	}
	return nil, plumbing.ZeroHash, noRevision(revision)
}

func noRevision(revision string) error {
	if revision == "" {
		return fmt.Errorf("%w: HEAD names no commit", ErrNoRevision)
	}
	return fmt.Errorf("%w: no branch, tag or commit %q", ErrNoRevision, revision)
}

var hash = lazyregexp.New(`^[0-9a-f]{40}$`)

func isHash(text string) bool { return hash().MatchString(text) }

// names are the references a revision may mean: a tag before a branch.
func names(revision string) []plumbing.ReferenceName {
	if revision == "" {
		return []plumbing.ReferenceName{plumbing.HEAD}
	}
	return []plumbing.ReferenceName{plumbing.NewTagReferenceName(revision), plumbing.NewBranchReferenceName(revision)}
}

// maxTags is how many annotated tags may stand for one another.
const maxTags = 8

// peel follows annotated tags to the commit.
func peel(s storer.EncodedObjectStorer, h plumbing.Hash) (plumbing.Hash, error) {
	for range maxTags {
		tag, err := object.GetTag(s, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h = tag.Target
	}
	return h, fmt.Errorf("%w: tags of tags", ErrDamaged)
}

// download fetches a commit over HTTP into a store of objects in dir.
func download(ctx context.Context, client *http.Client, w Wanted, l Limits, dir string) (storer.EncodedObjectStorer, plumbing.Hash, error) {
	none := plumbing.ZeroHash
	if u, err := url.Parse(w.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, none, fmt.Errorf("%w: the address is not an http, https or file URL", ErrNoRepository)
	}
	ep, err := transport.NewEndpoint(w.URL)
	if err != nil {
		return nil, none, err
	}
	session, err := githttp.NewClientWithOptions(client, &githttp.ClientOptions{RedirectPolicy: githttp.NoFollowRedirects}).NewUploadPackSession(ep, nil)
	if err != nil {
		return nil, none, err
	}
	defer session.Close()
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, none, err
	}
	wanted, err := choose(adv, w.Revision)
	if err != nil {
		return nil, none, err
	}
	resp, err := session.UploadPack(ctx, request(adv, wanted, w.Revision))
	if err != nil {
		return nil, none, err
	}
	defer resp.Close()
	objects, err := unpack(resp, l, dir)
	if err != nil {
		return nil, none, err
	}
	commit, err := peel(objects, wanted)
	return objects, commit, err
}

// choose finds what a revision means among the references of a server.
func choose(adv *packp.AdvRefs, revision string) (plumbing.Hash, error) {
	if isHash(revision) {
		return plumbing.NewHash(revision), nil
	}
	if revision == "" && adv.Head != nil {
		return *adv.Head, nil
	}
	for _, name := range names(revision) {
		if h, ok := adv.References[name.String()]; ok {
			return h, nil
		}
	}
	return plumbing.ZeroHash, noRevision(revision)
}

// request asks for one commit without its history. A commit that no reference
// names, of a server that does not give out such, is looked for in the whole
// history instead.
func request(adv *packp.AdvRefs, wanted plumbing.Hash, revision string) *packp.UploadPackRequest {
	req := packp.NewUploadPackRequest()
	set := func(c capability.Capability) {
		if adv.Capabilities.Supports(c) {
			_ = req.Capabilities.Set(c) // capabilities without arguments
		}
	}
	set(capability.OFSDelta)
	named := false
	var all []plumbing.Hash
	for _, h := range adv.References {
		named = named || h == wanted
		all = append(all, h)
	}
	given := adv.Capabilities.Supports(capability.AllowReachableSHA1InWant) || adv.Capabilities.Supports(capability.AllowTipSHA1InWant)
	if isHash(revision) && !named && !given {
		slices.SortFunc(all, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
		req.Wants = slices.Compact(all)
		return req
	}
	req.Wants = []plumbing.Hash{wanted}
	if adv.Capabilities.Supports(capability.Shallow) {
		set(capability.Shallow)
		req.Depth = packp.DepthCommits(1)
	}
	return req
}

// unpack writes a pack to disk, looks through it, and only then has the library
// read it.
func unpack(r io.Reader, l Limits, dir string) (storer.EncodedObjectStorer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "received"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := io.Copy(f, io.LimitReader(r, l.Pack+1))
	if err != nil {
		return nil, err
	}
	if n > l.Pack {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, l.Pack)
	}
	if err := inspect(f, l); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	s := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(16*cache.MiByte))
	if err := packfile.UpdateObjectStorage(s, f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return s, nil
}

// maxChain is how many differences may be applied to one another.
const maxChain = 512

// inspect reads a pack from its start and adds up what its objects grow to,
// before anything is made of them: an object is compressed, or a difference to
// another that may copy it many times (gitformat-pack, "Deltified
// representation").
func inspect(f *os.File, l Limits) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := packfile.NewScanner(f)
	_, count, err := s.Header()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if count > l.Objects {
		return fmt.Errorf("%w: %d objects, at most %d are accepted", ErrTooLarge, count, l.Objects)
	}
	var total int64
	chain := map[int64]int{}
	for range count {
		size, err := inspectObject(s, chain, l.Content-total)
		if err != nil {
			return err
		}
		if total += size; size > l.Content || total > l.Content {
			return fmt.Errorf("%w: its objects have more than %d bytes", ErrTooLarge, l.Content)
		}
	}
	return nil
}

// inspectObject reads the next object of a pack and returns how many bytes it
// has when it is whole.
func inspectObject(s *packfile.Scanner, chain map[int64]int, left int64) (int64, error) {
	h, err := s.NextObjectHeader()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if h.Length < 0 || h.Length > left {
		return 0, fmt.Errorf("%w: an object of %d bytes", ErrTooLarge, h.Length)
	}
	begin := prefix{}
	if _, _, err := s.NextObject(&begin); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch h.Type {
	case plumbing.OFSDeltaObject:
		if chain[h.Offset] = chain[h.OffsetReference] + 1; chain[h.Offset] > maxChain {
			return 0, fmt.Errorf("%w: more than %d differences to one another", ErrTooLarge, maxChain)
		}
		return begin.target(h.Length)
	case plumbing.REFDeltaObject:
		return begin.target(h.Length)
	}
	return h.Length, nil
}

// prefix keeps the first bytes that are written to it.
type prefix struct {
	b [2 * binary.MaxVarintLen64]byte
	n int
}

// Write keeps what there is room for.
func (p *prefix) Write(b []byte) (int, error) {
	p.n += copy(p.b[p.n:], b)
	return len(b), nil
}

// target is the size of what a difference makes, the second number in it; it is
// never less than the size of the difference itself.
func (p *prefix) target(length int64) (int64, error) {
	_, n := binary.Uvarint(p.b[:p.n])
	if n <= 0 {
		return 0, fmt.Errorf("%w: a difference without sizes", ErrDamaged)
	}
	size, m := binary.Uvarint(p.b[n:p.n])
	if m <= 0 || size > 1<<62 {
		return 0, fmt.Errorf("%w: a difference without sizes", ErrDamaged)
	}
	return max(int64(size), length), nil
}

// treeAt finds a directory of a commit.
func treeAt(s storer.EncodedObjectStorer, commit plumbing.Hash, subdir string) (plumbing.Hash, error) {
	c, err := object.GetCommit(s, commit)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return plumbing.ZeroHash, noRevision(commit.String())
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	h := c.TreeHash
	for _, name := range strings.Split(subdir, "/") {
		if name == "" || name == "." {
			continue
		}
		t, err := object.GetTree(s, h)
		if err != nil {
			return h, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		i := slices.IndexFunc(t.Entries, func(e object.TreeEntry) bool { return e.Name == name && e.Mode == filemode.Dir })
		if i < 0 {
			return h, fmt.Errorf("%w: no directory %q", ErrNoRevision, subdir)
		}
		h = t.Entries[i].Hash
	}
	return h, nil
}

// An extractor writes the files of a tree.
type extractor struct {
	ctx     context.Context
	objects storer.EncodedObjectStorer
	root    *os.Root
	left    Limits
}

// maxDepth is how deep directories may be in one another.
const maxDepth = 64

func (x *extractor) tree(h plumbing.Hash, dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: directories more than %d deep", ErrTooLarge, maxDepth)
	}
	t, err := object.GetTree(x.objects, h)
	if err != nil {
		return fmt.Errorf("%w: directory %q: %w", ErrDamaged, dir, err)
	}
	for _, e := range t.Entries {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if x.left.Files--; x.left.Files < 0 {
			return fmt.Errorf("%w: too many files", ErrTooLarge)
		}
		name := path.Join(dir, e.Name)
		if !filepath.IsLocal(filepath.FromSlash(name)) || path.Base(name) != e.Name {
			return fmt.Errorf("%w: a file called %q", ErrDamaged, e.Name)
		}
		if err := x.entry(e, name, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry writes one entry. What other repositories would be is left out.
func (x *extractor) entry(e object.TreeEntry, name string, depth int) error {
	switch e.Mode {
	case filemode.Dir:
		if err := x.root.Mkdir(name, 0o700); err != nil {
			return fmt.Errorf("%w: directory %q: %w", ErrDamaged, name, err)
		}
		return x.tree(e.Hash, name, depth+1)
	case filemode.Submodule:
		return nil
	}
	b, err := object.GetBlob(x.objects, e.Hash)
	if err != nil {
		return fmt.Errorf("%w: file %q: %w", ErrDamaged, name, err)
	}
	if x.left.Content -= b.Size; x.left.Content < 0 {
		return fmt.Errorf("%w: its files have too many bytes", ErrTooLarge)
	}
	r, err := b.Reader()
	if err != nil {
		return fmt.Errorf("%w: file %q: %w", ErrDamaged, name, err)
	}
	defer r.Close()
	content := io.LimitReader(r, b.Size)
	if e.Mode == filemode.Symlink {
		return x.link(name, content)
	}
	return x.file(name, content)
}

// maxLink is the longest target of a link, in bytes.
const maxLink = 4096

func (x *extractor) link(name string, content io.Reader) error {
	to, err := io.ReadAll(io.LimitReader(content, maxLink+1))
	if err != nil || len(to) > maxLink {
		return fmt.Errorf("%w: link %q", ErrDamaged, name)
	}
	if err := x.root.Symlink(string(to), name); err != nil {
		return fmt.Errorf("%w: link %q: %w", ErrDamaged, name, err)
	}
	return nil
}

func (x *extractor) file(name string, content io.Reader) error {
	f, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: file %q: %w", ErrDamaged, name, err)
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
