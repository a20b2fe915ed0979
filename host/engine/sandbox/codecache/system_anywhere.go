//go:build !linux

package codecache

// expectLarge is for systems that can be asked for large pages.
func expectLarge([]byte) {}
