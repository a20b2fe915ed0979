package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/author"
)

func (t *terminal) packCommand() *cli.Command {
	return command("pack", append(buildFlags(),
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "the `DIR` or FILE.skill to write"},
		&cli.BoolFlag{Name: "no-build", Usage: "pack the module that is there, whatever became of its source"},
		&cli.BoolFlag{Name: "no-sign", Usage: "make no signature, and use no home: whoever installs the package has to accept that"},
	), t.withAuthor(t.pack))
}

func (t *terminal) pack(ctx context.Context, c *cli.Context, s *author.Service) error {
	if err := notPiped(c); err != nil {
		return err
	}
	dir, err := oneDir(c)
	if err != nil {
		return err
	}
	out, err := s.Pack(ctx, t.person(), author.PackRequest{
		Dir: dir, Output: c.String("output"), Build: !c.Bool("no-build"), Stale: c.Bool("no-build"), Unsigned: c.Bool("no-sign"),
		Timeout: c.Duration("timeout"), Progress: t.progress,
	})
	if text := author.CompilerOutput(err); text != "" && !t.json {
		t.note("%s", plainLines(text))
	}
	return answered(t, out, err, t.showPacked)
}

func (t *terminal) showPacked(p author.Packed) {
	if p.Rebuilt != "" {
		t.note("skillet: built %s, whose source was changed", plain(p.Rebuilt))
	}
	if p.NewKey {
		t.note("skillet: made the key that signs packages: %s", p.Signer)
	}
	t.say("%s", p.Path)
	signed := "not signed"
	if p.Signer != "" {
		signed = "signed by " + p.Signer
	}
	t.note("%s@%s sha256:%s, %d files, %s", plain(p.Name), plain(p.Version), p.Digest.Short(), len(p.Files), signed)
}

// withoutHome is a command that needs no home.
func (t *terminal) withoutHome(do func(context.Context, *cli.Context) error) cli.ActionFunc {
	return func(c *cli.Context) error { return do(c.Context, c) }
}
