package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/host/toolchain"
)

// buildScript makes a package of a script that has no manifest.
func (t *terminal) buildScript(_ context.Context, _ *cli.Context, path string) (built, error) {
	return built{Problems: []toolchain.Problem{}}, task.Errorf(task.KindNotFound, "build %s: there is no interpreter for it here", path)
}
