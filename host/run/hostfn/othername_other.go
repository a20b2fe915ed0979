//go:build !linux

package hostfn

import "os"

// look says what the system tells of what is at p, links followed. That a file has other names is not known, so
// each is compared.
func look(p string) (seen, bool) {
	info, err := os.Stat(p)
	return seen{otherNames: err == nil && info.Mode().IsRegular()}, err == nil
}

// isKernels reports whether what is at p is the machine itself and no file of it. There is no such file system
// that could be mounted elsewhere.
func isKernels(string) bool { return false }
