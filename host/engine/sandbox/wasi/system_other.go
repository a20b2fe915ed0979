//go:build !linux && !darwin

package wasi

import "io/fs"

// posix says that the system's error numbers are those of POSIX.
const posix = false

// statOf describes a file as far as Go does on every system.
func statOf(info fs.FileInfo) Stat { return portable(info) }
