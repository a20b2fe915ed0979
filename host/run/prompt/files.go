package prompt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// A Reader reads files by their absolute paths. An error that is
// [fs.ErrPermission] is a refusal, and one that is [jail.ErrQuota] says that the
// file has more than max bytes. A [jail.FS] is one.
type Reader interface {
	ReadFile(name string, max int64) ([]byte, error)
}

const (
	// MaxEntries is how many files and directories of a workspace are looked at.
	MaxEntries = 100_000
	// MaxNamed is how many of the files that are left out are named.
	MaxNamed = 100
)

// A Context says which files a prompt holds, and which it does not although the
// patterns take them.
type Context struct {
	// Files are in the prompt, by path.
	Files []File `json:"files"`
	// Estimate is of their contents.
	Estimate Estimate `json:"estimate"`
	// LeftOut names the files that were left out, the first [MaxNamed] by path, and
	// Counts says how many there are for each reason.
	LeftOut []LeftOut      `json:"left_out,omitempty"`
	Counts  map[Reason]int `json:"left_out_counts,omitempty"`
}

// A File is a context file.
type File struct {
	// Path is relative to the workspace, with slashes.
	Path string `json:"path"`
	Estimate
	text string
}

// A LeftOut is a file that is not in the prompt.
type LeftOut struct {
	Path   string `json:"path"`
	Reason Reason `json:"reason"`
}

// A Reason says why a file is not in the prompt.
type Reason string

// The reasons.
const (
	Denied     Reason = "denied"     // no grant, a policy, or a link that leads out
	TooLarge   Reason = "too_large"  // larger than max_file_size_kb
	Binary     Reason = "binary"     // no UTF-8, or with a NUL byte
	TooMany    Reason = "too_many"   // max_files were taken before; it was not read
	Unreadable Reason = "unreadable" // it went away, or the system refuses
)

// reasons say each reason in words, in the order in which they are listed.
var reasons = []struct {
	reason Reason
	words  string
}{
	{Denied, "may not be read"},
	{TooLarge, "larger than max_file_size_kb"},
	{Binary, "no text"},
	{TooMany, "beyond max_files"},
	{Unreadable, "could not be read"},
}

// Missing says which files are not in the prompt, a line for each reason, with at most most
// names in it.
func (c *Context) Missing(most int) []string {
	var lines []string
	for _, why := range reasons {
		n := c.Counts[why.reason]
		if n == 0 {
			continue
		}
		var names []string
		for _, f := range c.LeftOut {
			if f.Reason == why.reason && len(names) < most {
				names = append(names, f.Path)
			}
		}
		if len(names) < n {
			names = append(names, "...")
		}
		lines = append(lines, fmt.Sprintf("left out %s (%s): %s", text.Count(n, "file"), why.words, strings.Join(names, ", ")))
	}
	return lines
}

func (c *Context) leaveOut(p string, why Reason) {
	if c.Counts == nil {
		c.Counts = map[Reason]int{}
	}
	c.Counts[why]++
	if len(c.LeftOut) < MaxNamed {
		c.LeftOut = append(c.LeftOut, LeftOut{p, why})
	}
}

// gather reads the context files, in the order of their paths.
func gather(ctx context.Context, r Request, want manifests.ContextFiles) (*Context, error) {
	c := &Context{Files: []File{}}
	paths, err := find(ctx, r.Workspace, want, c)
	if err != nil {
		return nil, fault.AsError(fmt.Errorf("find the context files of %s: %w", r.Package.Manifest().Name, err))
	}
	total := 0
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(c.Files) == want.Files() {
			c.leaveOut(p, TooMany)
			continue
		}
		text, why := r.read(path.Join(r.Workspace, p), want.FileBytes())
		if why != "" {
			c.leaveOut(p, why)
			continue
		}
		if total += len(text); total > MaxBytes {
			return nil, fault.Errorf(fault.KindLimit, "the context files have more than %d bytes", MaxBytes).
				WithHint("take fewer or smaller files: context_files in the manifest says which")
		}
		c.Files = append(c.Files, File{p, estimated(len(text)), string(text)})
	}
	c.Estimate = estimated(total)
	return c, nil
}

// find lists the files that the patterns take, without opening any or following a
// link. What is found is known to the host alone: a file that may not be read is
// not named in the prompt.
func find(ctx context.Context, workspace string, want manifests.ContextFiles, c *Context) ([]string, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []string
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if seen++; seen > MaxEntries {
			return fault.Errorf(fault.KindLimit, "the workspace has more than %d files and directories", MaxEntries).
				WithHint("name another with %s, or exclude directories in the manifest, such as node_modules/", fault.SetField(fault.FieldWorkspace))
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p == ".":
			return err
		case err != nil: // a directory that cannot be listed, or that went away
			c.leaveOut(p, Unreadable)
			return fs.SkipDir
		case e.IsDir() && !want.Enters(p):
			return fs.SkipDir
		case (e.Type().IsRegular() || e.Type() == fs.ModeSymlink) && want.Takes(p):
			found = append(found, p)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// read reads one file, or says why it is left out.
func (r Request) read(name string, max int64) ([]byte, Reason) {
	if r.Files == nil {
		return nil, Denied
	}
	text, err := r.Files.ReadFile(name, max)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, Denied
	case errors.Is(err, jail.ErrQuota):
		return nil, TooLarge
	case err != nil:
		return nil, Unreadable
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return nil, Binary
	}
	return text, ""
}
