//go:build !linux

package main

import (
	"os"
	"syscall"
	"testing"
)

func openPTY(t *testing.T) (person, program *os.File) {
	t.Helper()
	t.Skip("pseudo-terminals are opened on Linux only")
	return nil, nil
}

func controlling() *syscall.SysProcAttr { return nil }

func echoes(*testing.T, *os.File) bool { return false }
