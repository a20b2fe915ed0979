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

// pathGuard keeps files out of every skill's reach that policies cannot know by their names: other homes of
// skillet's, and files of its own that lie outside of one. It is safe for concurrent use.
type pathGuard struct {
	own   []string // absolute paths of files
	other otherNames

	mu    sync.Mutex
	above map[string]belonging // of directories and all above them
	last  string               // path that was asked for last, and
	lasts belonging            // whose it is
	files []ownFile            // of own, when they were first looked for
}

// An ownFile is a file, and what the system says it is.
type ownFile struct {
	path string
	info os.FileInfo
}

// forbids says whether no skill may do r, and why.
func (g *pathGuard) forbids(r capability.Request) (policies.Decision, bool) {
	if r.Action.Shape() != capability.ShapePath {
		return policies.Decision{}, false
	}
	writes := r.Action != capability.FSRead
	switch p := r.Resource; {
	case writes && strings.EqualFold(path.Base(p), HomeMarker):
		return ofHome.refusal()
	case g.isOwn(p, writes):
		return closed("no-skillet-key", "the key of Skillet's store is never opened to a skill"), true
	case writes && leadsGit(p):
		return closed("no-autorun", "git takes this directory for a repository, or would, and runs what this file says"), true
	}
	return g.around(r.Resource).refusal()
}

// belonging says whose a file or directory is that no skill may have.
type belonging int

const (
	ofNobody belonging = iota
	ofHome
	ofHomeElsewhere // by another name
	ofKernel
)

func (b belonging) refusal() (policies.Decision, bool) {
	switch b {
	case ofHome:
		return closed("no-skillet-home", "a home of Skillet's holds grants, policies and secrets"), true
	case ofHomeElsewhere:
		return closed("no-skillet-home", "it is a file of Skillet's home under another name"), true
	case ofKernel:
		return closed("no-kernel-files", "it is the machine itself, mounted there, and not a file of it"), true
	}
	return policies.Decision{}, false
}

func closed(id, reason string) policies.Decision {
	return policies.Decision{Effect: policies.Deny, Policies: []string{id}, Reason: reason}
}

// look says whose p itself is.
func (g *pathGuard) look(p string) belonging {
	if _, err := os.Lstat(filepath.Join(filepath.FromSlash(p), HomeMarker)); err == nil {
		return ofHome
	}
	return g.other.look(p)
}

// around says whose p is, or the nearest directory above it that belongs to anybody. It remembers that of
// directories, and of the last path.
func (g *pathGuard) around(p string) belonging {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p == g.last {
		return g.lasts
	}
	b := ofNobody
	if p != path.Dir(p) {
		b = g.directory(path.Dir(p))
	}
	if b == ofNobody {
		b = g.look(p)
	}
	g.last, g.lasts = p, b
	return b
}

// directory is around for a directory.
func (g *pathGuard) directory(dir string) belonging {
	var passed []string
	b, known := g.above[dir]
	for !known {
		passed = append(passed, dir)
		if dir == g.last {
			b = g.lasts
		} else {
			b = g.look(dir)
		}
		if b != ofNobody || dir == path.Dir(dir) {
			break
		}
		dir = path.Dir(dir)
		b, known = g.above[dir]
	}
	if g.above == nil {
		g.above = map[string]belonging{}
	}
	for _, p := range passed {
		if len(g.above) < maxAllowed {
			g.above[p] = b
		}
	}
	return b
}

// isOwn reports whether p is one of the files, under whatever name, or a directory that cannot be moved
// without moving one of them.
func (g *pathGuard) isOwn(p string, writes bool) bool {
	if len(g.own) == 0 {
		return false
	}
	var info os.FileInfo // stays nil for what is not there
	for _, o := range g.found() {
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
func (g *pathGuard) found() []ownFile {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files != nil {
		return g.files
	}
	for _, p := range g.own {
		info, err := os.Stat(p)
		if err != nil { // then there is nothing to read by another name
			info = nil
		}
		g.files = append(g.files, ownFile{filepath.ToSlash(filepath.Clean(p)), info})
		if real, err := filepath.EvalSymlinks(p); err == nil {
			g.files = append(g.files, ownFile{filepath.ToSlash(real), info})
		}
	}
	return g.files
}
