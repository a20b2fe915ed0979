package jail

import (
	"path"
	"strings"
)

// Longest path and longest name in it that the jail looks up, in bytes: Linux's PATH_MAX and NAME_MAX.
const (
	MaxPath = 4096
	MaxName = 255
)

// Clean returns the path that is looked up for p: absolute, without ".", "..", doubled or trailing
// slashes. Errors are ErrName: p is empty, relative, too long, or holds a NUL byte.
func Clean(p string) (string, error) {
	if p == "" || p[0] != '/' || len(p) > MaxPath || strings.IndexByte(p, 0) >= 0 {
		return "", ErrName
	}
	c := path.Clean(p)
	for name := range strings.SplitSeq(c, "/") {
		if len(name) > MaxName {
			return "", ErrName
		}
	}
	return c, nil
}

// needsDir reports whether the text of p can only mean a directory: it ends in a slash, "/." or "/..".
func needsDir(p string) bool {
	return strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")
}
