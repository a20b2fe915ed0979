package trust

import (
	"path"
	"strings"
)

// archive is how the name of a package file ends.
const archive = ".skill"

// LocationOf is a source without what says which version it is: without the tag and
// the digest of an artifact, the revision of a repository, or the name of a file.
// What is such a place already stays as it is.
func LocationOf(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		return localPlace(source)
	}
	at, fragment, marked := strings.Cut(rest, "#")
	switch {
	case strings.HasPrefix(scheme, "git+"):
		if _, dir, ok := strings.Cut(fragment, ":"); ok && dir != "" {
			at += "#:" + dir
		}
	case scheme == "oci":
		at, _, _ = strings.Cut(at, "@")
		if strings.Contains(at, "/") {
			at = untagged(at)
		}
	case marked || path.Ext(at) == archive:
		if host, file, ok := strings.Cut(at, "/"); ok {
			file, _, _ = strings.Cut(file, "?")
			at = host + path.Dir("/"+file)
		}
	}
	return scheme + "://" + at
}

// localPlace is [LocationOf] for what is on this machine.
func localPlace(source string) string {
	if dir, ok := strings.CutPrefix(source, "oci-layout:"); ok {
		dir, _, _ = strings.Cut(dir, "@")
		return "oci-layout:" + untagged(dir)
	}
	for _, kind := range []string{"builtin:", "engine:"} {
		if strings.HasPrefix(source, kind) {
			source, _, _ = strings.Cut(source, "@")
			return source
		}
	}
	if path.Ext(source) == archive {
		return path.Dir(source)
	}
	return source
}

// untagged is a name without the tag behind its last part.
func untagged(name string) string {
	slash := strings.LastIndex(name, "/") + 1
	last, _, _ := strings.Cut(name[slash:], ":")
	return name[:slash] + last
}
