//go:build !linux

package sandbox

// expectLarge is for systems that can be asked for large pages.
func expectLarge([]byte) {}
