package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/host/recording"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/replay"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
)

func (t *terminal) replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "make a recorded call again, with nothing real behind it",
		ArgsUsage: "FILE",
		Description: "Runs the call that `skillet run --record FILE` recorded against the same package: the\n" +
			"installed one with its digest, or the one at the path that was run. The guest sees what\n" +
			"it saw then: answers of the host, the time, randomness and files come from the\n" +
			"recording, and nothing is done for real. The answer, the log and the fuel must come out\n" +
			"the same; the first thing that does not is shown, and the exit code is 1.\n\n" +
			"With --with, another version runs: what it answers differently is shown, which calls of\n" +
			"the host it adds, leaves out or changes, and its fuel and memory beside the recorded\n" +
			"ones. What was not recorded is answered with an error of its own, and shown. The exit\n" +
			"code is 1 when the answer or the calls are different.\n\n" +
			"Examples:\n" +
			"  skillet run csv:stats --input @numbers.json --record stats.recording.json\n" +
			"  skillet replay stats.recording.json\n" +
			"  skillet replay stats.recording.json --with ./csv\n" +
			"  skillet replay stats.recording.json --with csv@1.3.0 --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "with", Usage: "run this `DIR`, file or installed SKILL[@VERSION] instead, and compare"},
			&cli.DurationFlag{Name: "timeout", Usage: "end the replay after this `TIME`", Value: replay.Usual},
		},
		Action: t.withState(t.replay),
	}
}

func (t *terminal) replay(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one recording")
	if err != nil {
		return err
	}
	rec, err := readRecording(ctx, args[0])
	if err != nil {
		return err
	}
	rep, err := t.replayed(ctx, c, h, rec, args[0])
	if err != nil {
		return err
	}
	if err := t.answer(rep, func() { t.showReplay(rep, rec, c.IsSet("with")) }); err != nil {
		return err
	}
	switch {
	case rep.Error != nil:
		return rep.Error
	case !rep.Equal:
		return reported{fault.KindSkill}
	}
	return nil
}

func readRecording(ctx context.Context, path string) (*recording.Recording, error) {
	rec, err := recording.Read(ctx, path)
	if err != nil {
		e := explain(err)
		if e.Kind == fault.KindInternal {
			e = fault.Wrap(fault.KindVerification, err)
		}
		return nil, e.WithHint("`skillet run ... --record FILE` makes a recording")
	}
	return rec, nil
}

// replayed runs a recording, exactly or with another version.
func (t *terminal) replayed(ctx context.Context, c *cli.Context, h *host.Host, rec *recording.Recording, file string) (replay.Report, error) {
	if !c.IsSet("with") {
		target, err := t.recordedTarget(ctx, h, rec, file)
		if err != nil {
			return replay.Report{}, err
		}
		defer t.waiting("replaying %s", rec.Ref())()
		return h.Replays.Exact(ctx, rec, target, c.Duration("timeout")), ctx.Err()
	}
	target, err := t.otherTarget(ctx, h, c.String("with"))
	if err != nil {
		return replay.Report{}, fmt.Errorf("--with: %w", err)
	}
	defer t.waiting("replaying %s", rec.Ref())()
	return h.Replays.Try(ctx, rec, target, c.Duration("timeout")), ctx.Err()
}

// otherTarget is what --with names.
func (t *terminal) otherTarget(ctx context.Context, h *host.Host, arg string) (runner.Target, error) {
	g, err := t.target(ctx, h, arg)
	if err == nil && g.Tool() != "" {
		err = fault.Errorf(fault.KindUsage, "%s names a tool", arg).WithHint("leave it out: the recording says which tool")
	}
	return g.Bare(), err
}

// recordedTarget finds the package that a recording was made of: the installed
// one, or the one at the path that was run, from here or from beside the
// recording. Whether it is that one is found out when it runs.
func (t *terminal) recordedTarget(ctx context.Context, h *host.Host, rec *recording.Recording, file string) (runner.Target, error) {
	target, ok, err := h.Recorded(ctx, rec)
	if ok || err != nil {
		return target, err
	}
	if rec.Path != "" {
		for _, path := range []string{rec.Path, filepath.Join(filepath.Dir(file), rec.Path)} {
			if p, err := h.Invoke().Look(ctx, t.person(), path); err == nil && p.Digest() == rec.Digest {
				return runner.Target{Label: path, Package: p, Origin: registry.OriginPath}, nil
			}
		}
	}
	where := "it is not installed"
	if rec.Path != "" {
		where += ", nor at " + plain(rec.Path)
	}
	return runner.Target{}, fault.Errorf(fault.KindNotFound, "replay %s: the package that was recorded (sha256:%s) is not there: %s", plain(rec.Ref()), rec.Digest.Short(), where).
		WithHint("compare with another version: `skillet replay %s --with DIR|SKILL`", file)
}

// maxShownWords is how many lines of differences are shown of one replay.
const maxShownWords = 60

func (t *terminal) showReplay(r replay.Report, rec *recording.Recording, with bool) {
	if r.Error != nil {
		return
	}
	what := plain(r.Recorded + ":" + r.Tool)
	events := count(len(rec.Events), "event")
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

func ratio(f replay.Figures) string {
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
func showShadow(say func(string, ...any), s *replay.Shadow, full bool) {
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

// runRecorded makes a call and writes its recording. With an error there is no
// recording; the result has no run then when no call was made either.
func (t *terminal) runRecorded(ctx context.Context, h *host.Host, in invoke.Invocation, path string) (task.Result, error) {
	if path == "" {
		return task.Result{}, fault.Errorf(fault.KindUsage, "--record is empty").WithHint("name a file: --record call%s", recording.Extension)
	}
	if dir := filepath.Dir(path); !exists(dir) {
		return task.Result{}, fault.Errorf(fault.KindNotFound, "--record: there is no directory %s", dir).WithHint("nothing was run; make it, or name another file")
	}
	if err := replaceable(path); err != nil {
		return task.Result{}, err
	}
	in.Record = true
	a, err := h.Invoke().Invoke(ctx, in)
	rec := a.Recording
	if err == nil && rec != nil {
		if err = rec.Write(path); err == nil {
			t.noteRecording(rec, path, a.TooShort)
		}
	}
	if err == nil && rec == nil && !t.json {
		t.note("skillet: nothing ran, so there is no recording")
	}
	return a.Result, err
}

// replaceable refuses to write a recording over anything but a recording.
func replaceable(path string) error {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	if st.Mode().IsRegular() && (st.Size() == 0 || isRecording(path)) {
		return nil
	}
	return fault.Errorf(fault.KindConflict, "--record: %s exists, and is no recording", path).WithHint("nothing was run; name another file, or remove this one")
}

// isRecording reports whether a file begins as recordings do.
func isRecording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 64))
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(head, "{ \n"), []byte(`"skillet_recording"`))
}

// noteRecording says what was written, and what was taken out of it.
func (t *terminal) noteRecording(r *recording.Recording, path string, tooShort []string) {
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
