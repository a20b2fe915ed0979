package manifests

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/skillet-run/skillet/policies/capability"
)

// The bounds on the context files of a prompt whose manifest does not say
// otherwise.
const (
	DefaultContextFiles  = 10
	DefaultContextFileKB = 100 // KiB a file
)

// Files is how many files are taken at most.
func (c *ContextFiles) Files() int { return cmp.Or(c.MaxFiles, DefaultContextFiles) }

// FileBytes is how large a file may be.
func (c *ContextFiles) FileBytes() int64 {
	return int64(cmp.Or(c.MaxFileSizeKB, DefaultContextFileKB)) * kib
}

// Takes reports whether the patterns take the file at p, a clean path with
// slashes relative to the workspace. A pattern without a slash, such as *.go,
// is about names in any directory; one with a slash is about paths. ** stands for
// any number of directories. Names that begin with a dot, and what is in such
// directories, are taken only by patterns that name such a dot. What has a
// backslash in its name is not taken: no capability allows it.
func (c *ContextFiles) Takes(p string) bool {
	taken := slices.ContainsFunc(c.Patterns, func(g string) bool {
		return matches(g, p) && (!hidden(p) || hidden(g))
	})
	return taken && !strings.Contains(p, `\`) && !c.excludes(p)
}

// Enters reports whether files in the directory dir can be among those that the
// patterns take: it is not excluded, and not hidden.
func (c *ContextFiles) Enters(dir string) bool {
	if hidden(dir) && !slices.ContainsFunc(c.Patterns, hidden) {
		return false
	}
	return !c.excludes(dir + "/")
}

// excludes reports whether an exclude pattern fits p, or a directory around it.
// p ends in a slash when it is a directory.
func (c *ContextFiles) excludes(p string) bool {
	for i, r := range p {
		if r == '/' && c.excluded(p[:i], true) {
			return true
		}
	}
	return !strings.HasSuffix(p, "/") && c.excluded(p, false)
}

// excluded reports whether an exclude pattern fits p itself. Patterns that end in
// a slash, such as target/, are about directories alone.
func (c *ContextFiles) excluded(p string, isDir bool) bool {
	return slices.ContainsFunc(c.ExcludePatterns, func(g string) bool {
		name, dirs := strings.CutSuffix(g, "/")
		return (isDir || !dirs) && matches(name, p)
	})
}

func matches(glob, p string) bool {
	if anywhere(glob) {
		p = path.Base(p)
	}
	ok, err := doublestar.Match(inWorkspace(glob), p)
	return ok && err == nil
}

// anywhere reports whether a glob is about names in any directory.
func anywhere(glob string) bool { return !strings.Contains(glob, "/") }

// inWorkspace is a glob as it fits paths: without ./ at its beginning, and with **
// after a slash at its end, which means all in that directory.
func inWorkspace(glob string) string {
	glob = strings.TrimPrefix(glob, "./")
	if strings.HasSuffix(glob, "/") {
		return glob + "**"
	}
	return glob
}

// hidden reports whether a segment of p begins with a dot.
func hidden(p string) bool {
	p = strings.TrimPrefix(p, "./")
	return strings.HasPrefix(p, ".") || strings.Contains(p, "/.")
}

// Bounds on a glob: alternatives multiply the work of matching it.
const (
	maxAlternatives = 2  // lists in braces
	maxStars        = 16 // wildcards
)

// isGlob reports whether g is a glob of files in the workspace.
func isGlob(g string) bool {
	return strings.Count(g, "{") <= maxAlternatives && strings.Count(g, "*") <= maxStars && doublestar.ValidatePattern(g) && g != "" && !path.IsAbs(g) && !strings.Contains(g, `\`) && !slices.Contains(strings.Split(g, "/"), "..")
}

// contextPermissions are what a conversation asks for because of its context files:
// to read what its patterns take.
func (m *Manifest) contextPermissions() []requestedPermission {
	if m.ContextFiles == nil || m.Type != KindConversation {
		return nil
	}
	var all []requestedPermission
	for i, g := range m.ContextFiles.Patterns {
		all = append(all, requestedPermission{
			action: capability.FSRead, resource: widened(g), reason: "puts " + g + " into its prompt",
			field: "context_files.patterns" + indexStep(i), implied: true,
		})
	}
	return all
}

// widened is a glob in the smaller language of capabilities, which know * and **:
// it takes no less.
func widened(g string) string {
	if at := strings.IndexByte(g, '{'); at >= 0 && strings.Contains(g[at:], "/") { // alternatives may hold slashes
		dir := path.Dir(g[:at] + "x")
		return path.Join(dir, "**")
	}
	names := strings.Split(path.Clean(inWorkspace(g)), "/")
	for i, name := range names {
		switch {
		case name == "**":
		case strings.ContainsAny(name, "?[]{}"):
			names[i] = "*"
		default:
			for strings.Contains(names[i], "**") {
				names[i] = strings.ReplaceAll(names[i], "**", "*")
			}
		}
	}
	if anywhere(g) && names[0] != "**" {
		names = []string{"**", names[0]}
	}
	return strings.Join(names, "/")
}
