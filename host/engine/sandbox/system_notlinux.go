//go:build unix && !linux

package sandbox

const reserveFlags = 0
