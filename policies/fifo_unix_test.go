//go:build linux || darwin || freebsd

package policies

import "syscall"

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }
