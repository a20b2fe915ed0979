package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

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
	err = t.judged(rep, err, rep.Equal || rep.Error != nil, fault.KindSkill, func() { t.showReplay(rep, c.IsSet("with")) })
	if err == nil && rep.Error != nil {
		return rep.Error
	}
	return err
}

// maxShownWords is how many lines of differences are shown of one replay.
const maxShownWords = 60

func (t *terminal) showReplay(r invoke.Replayed, with bool) {
	if r.Error != nil {
		return
	}
	what := plain(r.Recorded + ":" + r.Tool)
	events := count(r.Events, "event")
	switch {
	case r.Equal && with:
		t.say("%s, recorded on %s: %s answers the same, and asks for the same (%s)", what, when(r.RecordedAt), plain(r.Replayed), events)
	case r.Equal:
		t.say("%s, recorded on %s: replayed exactly (%s, %d fuel)", what, when(r.RecordedAt), events, r.Fuel.Replayed)
	case with:
		t.say("%s, recorded on %s: %s is different", what, when(r.RecordedAt), plain(r.Replayed))
	default:
		t.say("%s, recorded on %s: the replay is different", what, when(r.RecordedAt))
	}
	t.sayWords(r.Words(), "  ")
	if with {
		t.say("  fuel: %s", ratio(r.Fuel))
		t.say("  memory: %s", ratio(r.PeakMemoryBytes))
	}
	if r.Inexact != "" {
		t.say("  note: %s", visible(r.Inexact))
	}
}

// sayWords prints lines that may hold a guest's text.
func (t *terminal) sayWords(lines []string, indent string) {
	for i, line := range lines {
		if i == maxShownWords {
			t.say("%s... %s; --json shows all", indent, count(len(lines)-i, "more line"))
			return
		}
		t.say("%s%s", indent, visible(line))
	}
}

func ratio(f invoke.ReplayFigures) string {
	if f.Recorded == 0 {
		return fmt.Sprint(f.Replayed)
	}
	return fmt.Sprintf("%d, %.2f times as much as before (%d)", f.Replayed, f.Ratio, f.Recorded)
}

// What is shown of a trial on recordings without --full.
const (
	maxShownReplays = 5
	maxReplayWords  = 6
)

// showShadow says how a version did on recorded calls. Without full, only some of
// those that are different are shown, in brief.
func showShadow(say func(string, ...any), s *invoke.Shadow, full bool) {
	if s == nil {
		return
	}
	say("  %s", s.Summary())
	shown := 0
	for _, r := range s.Results {
		words := r.Words()
		if r.Skipped != "" {
			words = []string{"not comparable: " + r.Skipped}
		}
		if len(words) == 0 {
			continue
		}
		if shown++; shown > maxShownReplays && !full {
			say("    ... --full shows all of them")
			break
		}
		say("    %s: %s", visible(r.Name), visible(r.Tool))
		for i, line := range words {
			if i == maxReplayWords && !full {
				say("      ... %s", count(len(words)-i, "more line"))
				break
			}
			say("      %s", visible(line))
		}
	}
	if s.Note != "" {
		say("    %s", visible(s.Note))
	}
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
