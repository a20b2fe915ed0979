package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/demo"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) demoCommand() *cli.Command {
	return command("demo", nil, t.withoutHome(t.demo))
}

// demo shows this program at work in a home of its own.
func (t *terminal) demo(ctx context.Context, c *cli.Context) error {
	if c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "demo takes no arguments; it got %q", c.Args().First())
	}
	for _, name := range demo.Needs() {
		p, ok := builtinCatalog().Find(name)
		if !ok {
			return fault.Errorf(fault.KindNotFound, "demo: the skills that it shows do not come with this program: %s", strings.Join(demo.Needs(), ", ")).
				WithHint("releases have them; in a clone `make skills` builds a program that does, and `make demo` is all of it")
		}
		if _, err := builtinCatalog().Path(p); err != nil {
			return fault.Wrap(fault.KindNotFound, err).WithHint("unpack the release of this program again, with the folder skills beside the program; in a clone run `make skills`")
		}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	show := demo.Show{Program: program, Environ: withoutSettings(t.environ), Out: t.out}
	if t.json {
		show.Out = io.Discard
	}
	played, err := show.Run(ctx)
	return t.answered(played, err, func() {})
}

// withoutSettings is an environment without the settings of a home: the demo has one of
// its own.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "SKILLET_") })
}
