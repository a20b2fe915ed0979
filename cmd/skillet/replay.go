package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
)

func (t *terminal) replayCommand() *cli.Command {
	return command("replay", []cli.Flag{
		&cli.StringFlag{Name: "with", Usage: "run this `DIR`, file or installed SKILL[@VERSION] instead, and compare"},
		&cli.DurationFlag{Name: "timeout", Usage: "end the replay after this `TIME`", Value: invoke.ReplayTimeout},
	}, t.withHost(t.replay))
}

func (t *terminal) replay(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one recording")
	if err != nil {
		return err
	}
	r := invoke.ReplayRequest{File: args[0], Timeout: c.Duration("timeout")}
	shown := t.waiting("replaying %s", args[0])
	if c.IsSet("with") {
		if r.With, err = invoke.ParseAddress(c.String("with")); err != nil {
			return fmt.Errorf("--with: %w", err)
		}
		progress := t.downloading([]string{c.String("with")})
		r.Fetched, shown = progress.of(0), progress.show(0)
	}
	rep, err := h.Invoke().Replay(ctx, t.person(), r)
	shown()
	t.noteAll(rep.Notes)
	err = t.judged(rep, err, rep.Equal || rep.Error != nil, fault.KindSkill, func() {
		printAll(t.say, lines.Replay(t.style(c, ""), rep, c.IsSet("with")))
	})
	if err == nil && rep.Error != nil {
		return rep.Error
	}
	return err
}

// noteRecording says what was written, and what was taken out of it.
func (t *terminal) noteRecording(r *invoke.Recording, path string, tooShort []string) {
	if t.json {
		return
	}
	t.note("skillet: recorded %s in %s (%s)", plain(r.Ref()+":"+r.Tool), path, count(len(r.Events), "event"))
	for _, s := range r.Struck {
		t.note("  the value of the secret %s was struck out of it: %s", plain(s.Secret), plain(s.Where))
	}
	if len(tooShort) > 0 {
		t.note("  too short to be looked for, and maybe in it: %s", strings.Join(tooShort, ", "))
	}
	if r.Inexact != "" {
		t.note("  a replay may differ: %s", plain(r.Inexact))
	}
}
