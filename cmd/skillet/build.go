package main

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) buildCommand() *cli.Command {
	return command("build", append(buildFlags(),
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "also write the module to this `FILE`.wasm, or the package, not signed, to FILE.skill"}), t.withAuthor(t.build))
}

// buildFlags are those of every command that builds.
func buildFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Value: author.DefaultTimeout, Usage: "end the compiler after this `TIME`"},
	}
}

// withAuthor is a command for authors, which opens the home only when it needs it.
func (t *terminal) withAuthor(do func(context.Context, *cli.Context, *author.Service) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		later := host.OpenLater(t.options(c, ""), func() (string, error) { return t.home(c) })
		return errors.Join(do(c.Context, c, later.Author()), later.Close(c.Context))
	}
}

// progress shows what takes a while.
func (t *terminal) progress(what string) (done func()) { return t.waiting("%s", what) }

func (t *terminal) build(ctx context.Context, c *cli.Context, s *author.Service) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	out, err := s.Build(ctx, t.person(), author.BuildRequest{
		Path: at, Output: c.String("output"), Timeout: c.Duration("timeout"), Progress: t.progress,
	})
	t.noteBuilt(out)
	if err == nil {
		return printLines(t, out, nil, lines.Built)
	}
	if !t.json {
		return err
	}
	out.Error = explain(err)
	if err := t.printJSON(out); err != nil {
		return err
	}
	return reported{out.Error.Kind}
}

// noteBuilt says what the compiler said, and what is worth knowing of a package.
func (t *terminal) noteBuilt(b author.Built) {
	if t.json {
		return
	}
	if b.Compiler != "" {
		t.note("%s", plainLines(b.Compiler))
	}
	t.noteProblems(b.Problems)
}

// noteProblems says what is worth knowing of a package. What keeps it from being
// installed is an error.
func (t *terminal) noteProblems(all []author.Problem) {
	for _, found := range all {
		if !found.Refused {
			t.note("  note: %s", plain(found.Words))
		}
	}
}

// oneDir is the argument of a command that works on a directory, the current one
// when there is none.
func oneDir(c *cli.Context) (string, error) {
	switch c.NArg() {
	case 0:
		return ".", nil
	case 1:
		return c.Args().First(), nil
	}
	return "", fault.Errorf(fault.KindUsage, "%s takes one directory; %q is too many", c.Command.Name, c.Args().Get(1))
}
