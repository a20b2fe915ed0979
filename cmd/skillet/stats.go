package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) statsCommand() *cli.Command {
	return command("stats", []cli.Flag{&cli.StringFlag{Name: "since", Usage: "leave out what was before this `TIME`"}}, t.withState(t.stats))
}

func (t *terminal) stats(ctx context.Context, c *cli.Context, h *host.Host) error {
	since, err := moment(c, "since", time.Now())
	if err != nil {
		return err
	}
	done := t.waiting("reading the figures")
	f, err := h.Work().Usage().Figures(ctx, t.person(), work.FiguresRequest{Since: since, Sections: c.Args().Slice()})
	done()
	return printLines(t, f, err, func(f work.Figures) []string { return lines.Figures(t.fitting(), f) })
}

// statSections are the sections, for completion.
func statSections(question) ([]candidate, error) {
	var found []candidate
	for _, name := range work.Sections() {
		found = append(found, candidate{Word: name, About: "a section"})
	}
	return found, nil
}
