package hostfn

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// HomeMarker is the name of a file that every home of skillet's has. No skill is let into a directory with
// such a file, whatever it was granted, nor may one make the file.
const HomeMarker = ".skillet-home"

// fence keeps files out of every skill's reach that policies cannot know by their names: other homes of
// skillet's, and files of its own that lie outside of one. It is safe for concurrent use.
type fence struct {
	own []string // absolute paths of files

	mu    sync.Mutex
	homes map[string]bool // directories that were looked at, and whether they are homes
	files []ownFile       // of own, when they were first looked for
}

// An ownFile is a file, and what the system says it is.
type ownFile struct {
	path string
	info os.FileInfo
}

func newFence(own []string) *fence { return &fence{own: own, homes: map[string]bool{}} }

// forbids says whether no skill may do r, and why.
func (f *fence) forbids(r capability.Request) (policies.Decision, bool) {
	if r.Action != capability.FSRead && r.Action != capability.FSWrite {
		return policies.Decision{}, false
	}
	writes := r.Action == capability.FSWrite
	switch p := r.Resource; {
	case f.inHome(p), writes && strings.EqualFold(path.Base(p), HomeMarker):
		return closed("no-skillet-home", "a home of Skillet's holds grants, policies and secrets"), true
	case f.isOwn(p, writes):
		return closed("no-skillet-key", "the key of Skillet's store is never opened to a skill"), true
	case writes && leadsGit(p):
		return closed("no-autorun", "git takes this directory for a repository, or would, and runs what this file says"), true
	}
	return policies.Decision{}, false
}

func closed(id, reason string) policies.Decision {
	return policies.Decision{Effect: policies.Deny, Policies: []string{id}, Reason: reason}
}

// inHome reports whether p is a home of skillet's, or in one.
func (f *fence) inHome(p string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for dir := p; ; dir = path.Dir(dir) {
		home, known := f.homes[dir]
		if !known {
			_, err := os.Lstat(filepath.Join(filepath.FromSlash(dir), HomeMarker))
			home = err == nil
			if len(f.homes) < maxAllowed {
				f.homes[dir] = home
			}
		}
		if home {
			return true
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}

// isOwn reports whether p is one of the files, under whatever name, or a directory that cannot be moved
// without moving one of them.
func (f *fence) isOwn(p string, writes bool) bool {
	if len(f.own) == 0 {
		return false
	}
	var info os.FileInfo // stays nil for what is not there
	for _, o := range f.found() {
		if p == o.path || writes && below(o.path, p) {
			return true
		}
		if info == nil {
			info, _ = os.Stat(filepath.FromSlash(p))
		}
		if o.info != nil && info != nil && os.SameFile(o.info, info) {
			return true
		}
	}
	return false
}

// found are the files by their paths, as they are written and without links.
func (f *fence) found() []ownFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files != nil {
		return f.files
	}
	for _, p := range f.own {
		info, err := os.Stat(p)
		if err != nil { // then there is nothing to read by another name
			info = nil
		}
		f.files = append(f.files, ownFile{filepath.ToSlash(filepath.Clean(p)), info})
		if real, err := filepath.EvalSymlinks(p); err == nil {
			f.files = append(f.files, ownFile{filepath.ToSlash(real), info})
		}
	}
	return f.files
}
