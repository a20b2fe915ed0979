package hostfn

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/policies"
)

// leadsGit reports whether git would take commands from what is at the path p once it is written, because it takes
// one of the directories above for a repository, whatever its name. Such a directory has a file HEAD, which policies
// keep skills from making; so it is enough to look for one that is there.
func leadsGit(p string) bool {
	commands, folded := policies.GitCommands(), strings.Split(policies.Fold(p), "/")
	if folded[len(folded)-1] == "head" && isAnyThere(path.Dir(p), append(commands, "objects", "refs")...) {
		return true // where case does not count it is HEAD
	}
	dir := path.Dir(p)
	for _, name := range slices.Backward(folded[1:]) {
		if slices.Contains(commands, name) && isAnyThere(dir, "HEAD") {
			return true
		}
		dir = path.Dir(dir)
	}
	return false
}

// isAnyThere reports whether a directory has one of the names.
func isAnyThere(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(filepath.FromSlash(dir), name))
		return err == nil
	})
}
