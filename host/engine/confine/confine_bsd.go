//go:build unix && !linux

package confine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(*syscall.SysProcAttr) {}

func dup2(from, to int) error { return unix.Dup2(from, to) }
