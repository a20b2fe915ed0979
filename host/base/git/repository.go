// Package git fetches from git repositories and keeps one: it is the only
// importer of go-git. It knows nothing of skills: what is fetched is a directory
// of files, and what is committed are files that it is given.
package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// ErrNoFile means that a commit has no file of that path.
var ErrNoFile = errors.New("no such file in the commit")

// A Repository is a git repository with a work tree on this machine, whose
// files are written by commits and by nobody else. It is not safe for concurrent
// use.
type Repository struct {
	dir  string
	repo *gogit.Repository

	// files are those of the commit of.
	of    plumbing.Hash
	files []*index.Entry
}

// branch is the one branch of a repository that [OpenRepository] makes.
const branch = plumbing.ReferenceName("refs/heads/main")

// OpenRepository opens the repository in dir, and makes one where there is none.
// Only the owner can reach what is made in it.
func OpenRepository(dir string) (*Repository, error) {
	work := privateFS{osfs.New(dir)}
	dot, err := work.Chroot(gogit.GitDirName)
	if err != nil {
		return nil, fmt.Errorf("open git repository %s: %w", dir, err)
	}
	stored := filesystem.NewStorage(dot, cache.NewObjectLRUDefault())
	repo, err := gogit.Open(stored, work)
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		repo, err = gogit.InitWithOptions(stored, work, gogit.InitOptions{DefaultBranch: branch})
	}
	if err != nil {
		return nil, fmt.Errorf("open git repository %s: %w", dir, err)
	}
	return &Repository{dir: dir, repo: repo}, nil
}

// A Signature says in whose name a commit is made, and when.
type Signature struct {
	Name string
	At   time.Time
}

func (s Signature) object() *object.Signature { return &object.Signature{Name: s.Name, When: s.At} }

// A Commit is one commit.
type Commit struct {
	Hash    string
	Message string
	By      Signature
}

// Head is the last commit; ok is false when there is none yet.
func (r *Repository) Head() (c Commit, ok bool, err error) {
	o, err := r.head()
	if err != nil || o == nil {
		return Commit{}, false, err
	}
	return commit(o), true, nil
}

func commit(o *object.Commit) Commit {
	return Commit{o.Hash.String(), o.Message, Signature{o.Author.Name, o.Author.When}}
}

func (r *Repository) head() (*object.Commit, error) {
	ref, err := r.repo.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the head of %s: %w", r.dir, err)
	}
	o, err := r.repo.CommitObject(ref.Hash())
	if err != nil {
		return nil, fmt.Errorf("read the head of %s: %w", r.dir, err)
	}
	return o, nil
}

// Log returns the last commits, the latest first, at most n of them.
func (r *Repository) Log(n int) ([]Commit, error) {
	var all []Commit
	o, err := r.head()
	for err == nil && o != nil && len(all) < n {
		all = append(all, commit(o))
		if o.NumParents() == 0 {
			return all, nil
		}
		o, err = o.Parent(0)
	}
	if err != nil {
		return all, fmt.Errorf("read the log of %s: %w", r.dir, err)
	}
	return all, nil
}

// A Listing is the files of one commit, without their contents.
type Listing struct{ entries []*index.Entry }

// List is the files of the last commit; empty when there is none. Asking a listing
// reads nothing, however often it is done.
func (r *Repository) List() (Listing, error) {
	entries, err := r.entries()
	return Listing{entries}, err
}

// Paths are those of all files, sorted.
func (l Listing) Paths() []string {
	paths := make([]string, 0, len(l.entries))
	for _, e := range l.entries {
		paths = append(paths, e.Name)
	}
	slices.Sort(paths)
	return paths
}

// Has reports whether a file is there with this content.
func (l Listing) Has(file string, content []byte) bool {
	at, found := slices.BinarySearchFunc(l.entries, file, func(e *index.Entry, name string) int { return strings.Compare(e.Name, name) })
	return found && l.entries[at].Hash == plumbing.ComputeHash(plumbing.BlobObject, content)
}

// Read returns a file of a commit; an empty commit means the last one. errors.Is
// finds [ErrNoFile].
func (r *Repository) Read(hash, file string) ([]byte, error) {
	o, err := r.at(hash)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("read %s: %w", file, ErrNoFile)
	}
	f, err := o.File(file)
	if errors.Is(err, object.ErrFileNotFound) {
		return nil, fmt.Errorf("read %s: %w", file, ErrNoFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", file, r.dir, err)
	}
	in, err := f.Reader()
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", file, r.dir, err)
	}
	defer in.Close()
	return io.ReadAll(in)
}

func (r *Repository) at(hash string) (*object.Commit, error) {
	if hash == "" {
		return r.head()
	}
	o, err := r.repo.CommitObject(plumbing.NewHash(hash))
	if err != nil {
		return nil, fmt.Errorf("read commit %s of %s: %w", hash, r.dir, err)
	}
	return o, nil
}

// A File is what a commit makes of one path.
type File struct {
	// Path has slashes and stays inside of the work tree.
	Path string
	// Content is what is written; nil deletes the file.
	Content []byte
}

// Commit writes files, deletes those without content, and makes a commit of it.
// What is the same already is left alone; made is false when that is all. The
// commit holds when Commit returns nil; a work tree that was left behind by a
// crash is brought up to date by the next commit of the same files, or by
// [Repository.Restore].
func (r *Repository) Commit(files []File, message string, by Signature) (c Commit, made bool, err error) {
	entries, err := r.entries()
	if err != nil {
		return Commit{}, false, err
	}
	next, changed, err := r.staged(entries, files)
	if err != nil || len(changed) == 0 {
		return Commit{}, false, err
	}
	if err := r.repo.Storer.SetIndex(&index.Index{Version: 2, Entries: next}); err != nil {
		return Commit{}, false, fmt.Errorf("commit to %s: %w", r.dir, err)
	}
	if err := r.write(changed); err != nil {
		return Commit{}, false, err
	}
	hash, err := r.record(entries, next, message, by)
	if err != nil {
		return Commit{}, false, fmt.Errorf("commit to %s: %w", r.dir, err)
	}
	r.of, r.files = hash, next
	return Commit{hash.String(), message, by}, true, nil
}

// entries are the files of the last commit.
func (r *Repository) entries() ([]*index.Entry, error) {
	o, err := r.head()
	if err != nil || o == nil {
		return nil, err
	}
	if o.Hash == r.of {
		return r.files, nil
	}
	if r.files, err = r.listed(o); err != nil {
		return nil, err
	}
	r.of = o.Hash
	return r.files, nil
}

// listed lists the files of a commit: from the index, which is one file, when that
// has the very tree of the commit, and from its trees otherwise.
func (r *Repository) listed(o *object.Commit) ([]*index.Entry, error) {
	if i, err := r.repo.Storer.Index(); err == nil {
		if root, _, err := trees(i.Entries); err == nil && root == o.TreeHash {
			return i.Entries, nil
		}
	}
	return r.walk(o)
}

// walk lists the files of a commit.
func (r *Repository) walk(o *object.Commit) ([]*index.Entry, error) {
	tree, err := o.Tree()
	if err != nil {
		return nil, fmt.Errorf("read the head of %s: %w", r.dir, err)
	}
	var entries []*index.Entry
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		name, e, err := walker.Next()
		if errors.Is(err, io.EOF) {
			slices.SortFunc(entries, byName)
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the head of %s: %w", r.dir, err)
		}
		if e.Mode.IsFile() {
			entries = append(entries, &index.Entry{Name: name, Hash: e.Hash, Mode: e.Mode})
		}
	}
}

// staged is what the index becomes, and which of files are different.
func (r *Repository) staged(entries []*index.Entry, files []File) (next []*index.Entry, changed []File, err error) {
	known := make(map[string]*index.Entry, len(entries))
	for _, e := range entries {
		known[e.Name] = e
	}
	for _, f := range files {
		if !filepath.IsLocal(f.Path) || path.Clean(f.Path) != f.Path || strings.HasPrefix(strings.ToLower(f.Path), ".git") {
			return nil, nil, fmt.Errorf("commit to %s: %q is not a path of a file in it", r.dir, f.Path)
		}
		was, there := known[f.Path]
		if f.Content == nil {
			if there {
				delete(known, f.Path)
				changed = append(changed, f)
			}
			continue
		}
		hash := plumbing.ComputeHash(plumbing.BlobObject, f.Content)
		if there && was.Hash == hash {
			continue
		}
		if err := r.keep(f.Content); err != nil {
			return nil, nil, err
		}
		known[f.Path] = &index.Entry{Name: f.Path, Hash: hash, Mode: filemode.Regular, Size: uint32(len(f.Content))}
		changed = append(changed, f)
	}
	for _, e := range known {
		next = append(next, e)
	}
	slices.SortFunc(next, byName)
	return next, changed, nil
}

func byName(a, b *index.Entry) int { return strings.Compare(a.Name, b.Name) }

// record stores what a commit of the files in next needs that was not there with
// those in before, and makes it the last commit.
func (r *Repository) record(before, next []*index.Entry, message string, by Signature) (plumbing.Hash, error) {
	_, there, err := trees(before)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	root, all, err := trees(next)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for hash, tree := range all {
		if there[hash] != nil {
			continue
		}
		if _, err := r.repo.Storer.SetEncodedObject(tree); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	c := object.Commit{Author: *by.object(), Committer: *by.object(), Message: message, TreeHash: root}
	if last, err := r.head(); err != nil {
		return plumbing.ZeroHash, err
	} else if last != nil {
		c.ParentHashes = []plumbing.Hash{last.Hash}
	}
	o := r.repo.Storer.NewEncodedObject()
	if err := c.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	hash, err := r.repo.Storer.SetEncodedObject(o)
	if err != nil {
		return hash, err
	}
	return hash, r.advance(hash)
}

// advance moves the branch that is checked out to a commit.
func (r *Repository) advance(hash plumbing.Hash) error {
	ref, err := r.repo.Storer.Reference(plumbing.HEAD)
	if err != nil {
		return err
	}
	name := plumbing.HEAD
	if ref.Type() == plumbing.SymbolicReference {
		name = ref.Target()
	}
	return r.repo.Storer.SetReference(plumbing.NewHashReference(name, hash))
}

// trees are the trees of files, which are sorted by name, and the hash of the one
// at the root. It reads nothing.
func trees(entries []*index.Entry) (root plumbing.Hash, all map[plumbing.Hash]plumbing.EncodedObject, err error) {
	all = map[plumbing.Hash]plumbing.EncodedObject{}
	root, err = treeOf(entries, "", all)
	return root, all, err
}

// treeOf adds the tree of a directory, and those below it, to all. The names of
// its files begin with prefix.
func treeOf(entries []*index.Entry, prefix string, all map[plumbing.Hash]plumbing.EncodedObject) (plumbing.Hash, error) {
	var t object.Tree
	for len(entries) > 0 {
		e := entries[0]
		name, _, below := strings.Cut(e.Name[len(prefix):], "/")
		if !below {
			t.Entries = append(t.Entries, object.TreeEntry{Name: name, Mode: e.Mode, Hash: e.Hash})
			entries = entries[1:]
			continue
		}
		dir := prefix + name + "/"
		end := slices.IndexFunc(entries, func(e *index.Entry) bool { return !strings.HasPrefix(e.Name, dir) })
		if end < 0 {
			end = len(entries)
		}
		hash, err := treeOf(entries[:end], dir, all)
		if err != nil {
			return hash, err
		}
		t.Entries = append(t.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
		entries = entries[end:]
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	o := &plumbing.MemoryObject{}
	if err := t.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	all[o.Hash()] = o
	return o.Hash(), nil
}

// keep stores the content of a file.
func (r *Repository) keep(content []byte) error {
	o := r.repo.Storer.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err == nil {
		_, err = io.Copy(w, bytes.NewReader(content))
		err = errors.Join(err, w.Close())
	}
	if err == nil {
		_, err = r.repo.Storer.SetEncodedObject(o)
	}
	if err != nil {
		return fmt.Errorf("commit to %s: %w", r.dir, err)
	}
	return nil
}

// write brings files of the work tree to their content. No link leads out of it.
func (r *Repository) write(files []File) error {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return fmt.Errorf("commit to %s: %w", r.dir, err)
	}
	defer root.Close()
	// Deletions come first: a file may take the place of a directory.
	for _, deleted := range []bool{true, false} {
		for _, f := range files {
			if (f.Content == nil) != deleted {
				continue
			}
			if err := writeFile(root, f); err != nil {
				return fmt.Errorf("commit to %s: %w", r.dir, err)
			}
		}
	}
	return nil
}

// writeFile writes or deletes one file. A directory in its place, or a file in place
// of one of its directories, goes away.
func writeFile(root *os.Root, f File) error {
	if f.Content == nil {
		if err := root.RemoveAll(f.Path); err != nil && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if root.Remove(dir) != nil { // it has something else in it
				break
			}
		}
		return nil
	}
	err := put(root, f)
	if err == nil {
		return nil
	}
	for dir := f.Path; dir != "."; dir = path.Dir(dir) {
		if st, err := root.Lstat(dir); err == nil && st.IsDir() != (dir != f.Path) {
			if err := root.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return put(root, f)
}

func put(root *os.Root, f File) error {
	if err := root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return root.WriteFile(f.Path, f.Content, 0o600)
}

// Restore brings the work tree to the last commit, whatever happened to it.
func (r *Repository) Restore() error {
	tree, err := r.repo.Worktree()
	if err == nil {
		err = tree.Reset(&gogit.ResetOptions{Mode: gogit.HardReset})
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", r.dir, err)
	}
	return nil
}

// Clean reports whether the work tree is as the last commit has it, and names
// the first path that is not.
func (r *Repository) Clean() (clean bool, differs string, err error) {
	tree, err := r.repo.Worktree()
	if err != nil {
		return false, "", fmt.Errorf("look at %s: %w", r.dir, err)
	}
	status, err := tree.Status()
	if err != nil {
		return false, "", fmt.Errorf("look at %s: %w", r.dir, err)
	}
	for name, s := range status {
		if s.Worktree != gogit.Unmodified || s.Staging != gogit.Unmodified {
			if differs == "" || name < differs {
				differs = name
			}
		}
	}
	return differs == "", differs, nil
}

// Pack puts objects that are files of their own into one file, and reports how
// many. They are deleted when the file is on the disk. Nothing else should write
// the repository meanwhile; with dry nothing is changed.
func (r *Repository) Pack(dry bool) (int, error) {
	loose, ok := r.repo.Storer.(storer.LooseObjectStorer)
	packs, writes := r.repo.Storer.(storer.PackfileWriter)
	if !ok || !writes {
		return 0, nil
	}
	var all []plumbing.Hash
	err := loose.ForEachObjectHash(func(h plumbing.Hash) error {
		all = append(all, h)
		return nil
	})
	if err == nil && len(all) > 0 && !dry {
		err = r.pack(packs, all)
		for _, h := range all {
			if err == nil {
				err = loose.DeleteLooseObject(h)
			}
		}
	}
	if err != nil {
		return 0, fmt.Errorf("pack %s: %w", r.dir, err)
	}
	return len(all), nil
}

// pack writes a file with objects, and makes it durable.
func (r *Repository) pack(packs storer.PackfileWriter, all []plumbing.Hash) error {
	to, err := packs.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = packfile.NewEncoder(to, r.repo.Storer, false).Encode(all, packWindow)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Join(r.dir, ".git", "objects", "pack"))
}

// packWindow is among how many objects one is looked for that another is like.
const packWindow = 10

// syncDir makes a directory and the files in it durable.
func syncDir(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	paths := []string{dir}
	for _, f := range files {
		paths = append(paths, filepath.Join(dir, f.Name()))
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
