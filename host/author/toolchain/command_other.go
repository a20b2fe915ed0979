//go:build !unix

package toolchain

import (
	"context"
	"os/exec"
	"time"
)

// command is a program that ends with ctx.
func command(ctx context.Context, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.WaitDelay = time.Second
	return cmd
}
