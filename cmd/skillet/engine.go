package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/author"
)

func (t *terminal) engineCommand() *cli.Command {
	// It was made here, of what this program has pinned, and it is what was asked for.
	yes := &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Value: true, Hidden: true}
	return group("engine",
		command("list", nil, t.withAuthor(t.engineList)),
		command("add", []cli.Flag{despiteFlag(), yes}, t.withState(t.engineAdd)),
		command("build", []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "write the files to `DIR`"}}, t.withAuthor(t.engineBuild)),
	)
}

func (t *terminal) engineList(ctx context.Context, _ *cli.Context, s *author.Service) error {
	all, err := s.Engines(ctx, t.person())
	if err != nil {
		return err
	}
	var rows [][]string
	for i, e := range all {
		if e.Error != nil {
			all[i].Error = explain(e.Error)
		}
		rows = append(rows, []string{e.Name, strings.Join(e.Files, " "), e.Source, cmp.Or(e.Installed, "-")})
	}
	return t.answer(all, func() {
		t.table("NAME\tRUNS\tENGINE\tINSTALLED", rows)
		for _, e := range all {
			if e.Error != nil {
				t.note("%s is not run: %s", e.Name, plain(e.Error.Message))
			}
		}
	})
}

func (t *terminal) engineAdd(ctx context.Context, c *cli.Context, h *host.Host) error {
	from, err := author.EngineAddresses(c.Args().Slice())
	if err != nil {
		return err
	}
	return t.installEach(ctx, c, h, from, false)
}

func (t *terminal) engineBuild(ctx context.Context, c *cli.Context, s *author.Service) error {
	if err := notPiped(c); err != nil {
		return err
	}
	made, err := s.BuildEngines(ctx, t.person(), author.BuildEnginesRequest{Names: c.Args().Slice(), Dir: c.String("output"), Progress: t.progress})
	return t.answered(made, err, func() {
		for _, m := range made {
			t.say("%s  %s@%s  %s", m.Path, m.Name, m.Version, m.Digest)
		}
	})
}

// engineNames are the interpreters there are.
func engineNames(question) ([]candidate, error) {
	var found []candidate
	for _, e := range author.KnownEngines() {
		found = append(found, candidate{Word: e.Name, About: "runs " + strings.Join(e.Files, " ")})
	}
	return found, nil
}
