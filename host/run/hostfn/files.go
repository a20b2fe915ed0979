package hostfn

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies/capability"
)

const (
	// MaxRead is the most bytes one fs_read returns; the rest is read with an offset.
	MaxRead = 4 << 20
	// MaxList is the most entries one fs_list returns.
	MaxList = 10_000
	// defaultList is how many it returns when the guest does not say.
	defaultList = 1000
)

func fileFunctions() []function {
	return []function{
		{name: "fs_read", example: `{"path":"/etc/hostname"}`, run: fsRead},
		{name: "fs_write", example: `{"path":"/tmp/x"}`, run: fsWrite},
		{name: "fs_list", example: `{"path":"/etc"}`, run: fsList},
		{name: "fs_stat", example: `{"path":"/etc/hostname"}`, run: fsStat},
	}
}

// open resolves and checks a path, and returns the tree to act on.
func (e *Env) open(p string, a capability.Action, bytes int64) (*jail.FS, string, error) {
	p, err := e.path(p)
	if err != nil {
		return nil, "", err
	}
	clean, _ := jail.Clean(p)
	if _, err := e.permit(fileRequest(a, clean), bytes); err != nil {
		return nil, "", err
	}
	tree, err := e.FS()
	return tree, p, err
}

// fsRead returns a part of a file.
func fsRead(_ context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
		Length int64  `json:"length"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if ask.Offset < 0 || ask.Length < 0 {
		return nil, nil, failf(KindInvalid, "offset and length cannot be negative")
	}
	tree, p, err := e.open(ask.Path, capability.FSRead, 0)
	if err != nil {
		return nil, nil, err
	}
	if ask.Length == 0 || ask.Length > MaxRead {
		ask.Length = MaxRead
	}
	size, b, err := readPart(tree, p, ask.Offset, ask.Length)
	var answer struct {
		Size      int64 `json:"size"`
		Truncated bool  `json:"truncated"`
	}
	answer.Size, answer.Truncated = size, ask.Offset+int64(len(b)) < size
	return answer, b, err
}

// readPart reads up to length bytes at an offset, and returns the file's size too.
func readPart(tree *jail.FS, p string, offset, length int64) (size int64, b []byte, err error) {
	h, err := tree.OpenFile(p, os.O_RDONLY, 0)
	if err != nil {
		return 0, nil, err
	}
	defer h.Close()
	if h.IsDir() {
		return 0, nil, jail.ErrIsDir
	}
	info, err := h.Stat()
	if err != nil {
		return 0, nil, err
	}
	b, err = io.ReadAll(io.NewSectionReader(h, offset, length))
	return max(info.Size(), 0), b, err
}

// fsWrite replaces, extends or creates a file.
func fsWrite(_ context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask struct {
		Path       string `json:"path"`
		Append     bool   `json:"append"`
		CreateOnly bool   `json:"create_only"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if ask.Append && ask.CreateOnly {
		return nil, nil, failf(KindInvalid, "append and create_only exclude each other")
	}
	tree, p, err := e.open(ask.Path, capability.FSWrite, int64(len(body)))
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Size int64 `json:"size"`
	}
	switch {
	case ask.Append:
		answer.Size, err = writeOpen(tree, p, os.O_APPEND, body)
	case ask.CreateOnly:
		answer.Size, err = writeOpen(tree, p, os.O_EXCL, body)
	default:
		answer.Size, err = int64(len(body)), tree.WriteFile(p, body, 0o644)
	}
	return answer, nil, err
}

// writeOpen opens a file with a flag, writes to it and returns its size. A file it made and could not
// write is taken away again.
func writeOpen(tree *jail.FS, p string, flag int, body []byte) (int64, error) {
	h, err := tree.OpenFile(p, os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		return 0, err
	}
	_, err = h.Write(body)
	info, serr := h.Stat()
	err = errors.Join(err, serr, h.Close())
	if err != nil {
		if flag == os.O_EXCL {
			err = errors.Join(err, tree.Remove(p))
		}
		return 0, err
	}
	return info.Size(), nil
}

// entry describes a file or directory.
type entry struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Dir      bool      `json:"dir"`
	Modified time.Time `json:"modified"`
}

// newEntry describes what is at p. Directories have size 0.
func newEntry(p string, info fs.FileInfo) entry {
	x := entry{Name: path.Base(p), Path: p, Dir: info.IsDir(), Modified: info.ModTime().UTC()}
	if info.Mode().IsRegular() {
		x.Size = info.Size()
	}
	return x
}

// fsList lists a directory, or all below it.
func fsList(ctx context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Path      string `json:"path"`
		Recursive bool   `json:"recursive"`
		Limit     int    `json:"limit"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if ask.Limit < 0 {
		return nil, nil, failf(KindInvalid, "limit cannot be negative")
	}
	tree, p, err := e.open(ask.Path, capability.FSRead, 0)
	if err != nil {
		return nil, nil, err
	}
	fill(&ask.Limit, defaultList)
	l := lister{env: e, tree: tree, recursive: ask.Recursive, left: min(ask.Limit, MaxList)}
	l.answer.Entries = []entry{}
	d, err := tree.OpenDir(p)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	clean, _ := jail.Clean(p)
	if err := l.list(ctx, d, clean); err != nil {
		return nil, nil, err
	}
	return l.answer, nil, nil
}

// lister collects entries, each directory before what is in it, sorted by name.
type lister struct {
	env       *Env
	tree      *jail.FS
	recursive bool
	left      int
	answer    struct {
		Entries   []entry `json:"entries"`
		Truncated bool    `json:"truncated"`
	}
}

// list adds what is in a directory, which the guest calls dir.
func (l *lister) list(ctx context.Context, d *jail.Dir, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.left == 0 {
		l.answer.Truncated = true
		return nil
	}
	found, more, err := d.Read(MaxList) // all, so that those kept are the first by name
	if err != nil {
		return err
	}
	l.answer.Truncated = l.answer.Truncated || more
	for _, x := range found {
		if err := l.add(ctx, d, path.Join(dir, x.Name()), x); err != nil {
			return err
		}
	}
	return nil
}

// add adds one entry and, when asked, what is below it. A directory below that may not be listed is left
// unlisted. Links are shown as what they lead to, when that may be known.
func (l *lister) add(ctx context.Context, in *jail.Dir, p string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return nil // it went away
	}
	if d.Type() == fs.ModeSymlink {
		if to, err := l.tree.Stat(p); err == nil {
			info = to
		}
	}
	if l.left == 0 {
		l.answer.Truncated = true
		return nil
	}
	l.left--
	l.answer.Entries = append(l.answer.Entries, newEntry(p, info))
	if !l.recursive || !d.IsDir() || !l.env.Allows(fileRequest(capability.FSRead, p)) {
		return nil
	}
	sub, err := in.Sub(d.Name())
	if err != nil {
		return err
	}
	defer sub.Close()
	return l.list(ctx, sub, p)
}

// fsStat describes one file or directory.
func fsStat(_ context.Context, e *Env, meta, _ []byte) (any, []byte, error) {
	var ask struct {
		Path string `json:"path"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	tree, p, err := e.open(ask.Path, capability.FSRead, 0)
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Size     int64     `json:"size"`
		Dir      bool      `json:"dir"`
		Modified time.Time `json:"modified,omitzero"`
		Exists   bool      `json:"exists"`
	}
	info, err := tree.Stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return answer, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	x := newEntry(p, info)
	answer.Size, answer.Dir, answer.Modified, answer.Exists = x.Size, x.Dir, x.Modified, true
	return answer, nil, nil
}
