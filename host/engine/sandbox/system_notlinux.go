//go:build unix && !linux

package sandbox

// reserveFlags is nothing where a reservation does not count as memory in use anyway.
const reserveFlags = 0
