package lines

import (
	"fmt"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
)

// What is shown in brief of a trial on recordings.
const (
	maxShownReplays = 5
	maxReplayWords  = 6
)

// maxShownWords is how many lines of differences are shown of one replay.
const maxShownWords = 60

// Replay is what came of a replay; with says that another version ran. It is nothing when the
// replay failed.
func Replay(style Style, r invoke.Replayed, with bool) []string {
	if r.Error != nil {
		return nil
	}
	return written(style, func(b *block) { b.replay(r, with) })
}

// Shadow is how a version did on recorded calls.
func Shadow(style Style, s *invoke.Shadow) []string {
	return written(style, func(b *block) { b.shadow(s) })
}

func (b *block) replay(r invoke.Replayed, with bool) {
	what := plain(r.Recorded + ":" + r.Tool)
	events := count(r.Events, "event")
	switch {
	case r.Equal && with:
		b.say("%s, recorded on %s: %s answers the same, and asks for the same (%s)", what, when(r.RecordedAt), r.Replayed, events)
	case r.Equal:
		b.say("%s, recorded on %s: replayed exactly (%s, %d fuel)", what, when(r.RecordedAt), events, r.Fuel.Replayed)
	case with:
		b.say("%s, recorded on %s: %s is different", what, when(r.RecordedAt), r.Replayed)
	default:
		b.say("%s, recorded on %s: the replay is different", what, when(r.RecordedAt))
	}
	b.differences(r.Words())
	if with {
		b.say("  fuel: %s", ratio(r.Fuel))
		b.say("  memory: %s", ratio(r.PeakMemoryBytes))
	}
	if r.Inexact != "" {
		b.say("  note: %s", visible(r.Inexact))
	}
}

// differences writes lines that may hold a guest's text.
func (b *block) differences(lines []string) {
	if n := len(lines) - maxShownWords; n > 0 {
		b.sayAll("  ", lines[:maxShownWords])
		b.say("  ... %s%s", count(n, "more line"), b.behind("; ", "%s shows all", fault.ShowCall()))
		return
	}
	b.sayAll("  ", lines)
}

func ratio(f invoke.ReplayFigures) string {
	if f.Recorded == 0 {
		return fmt.Sprint(f.Replayed)
	}
	return fmt.Sprintf("%d, %.2f times as much as before (%d)", f.Replayed, f.Ratio, f.Recorded)
}

// shadow writes how a version did on recorded calls. Some of those that are different are
// shown, in brief, if not all are.
func (b *block) shadow(s *invoke.Shadow) {
	if s == nil {
		return
	}
	b.say("  %s", s.Summary())
	shown := 0
	for _, r := range s.Results {
		words := r.Words()
		if r.Skipped != "" {
			words = []string{"not comparable: " + r.Skipped}
		}
		if len(words) == 0 {
			continue
		}
		if shown++; shown > maxShownReplays && !b.full() {
			b.cut("    ")
			break
		}
		b.say("    %s: %s", visible(r.Name), visible(r.Tool))
		if n := len(words) - maxReplayWords; n > 0 && !b.full() {
			b.sayAll("      ", words[:maxReplayWords])
			b.say("      ... %s", count(n, "more line"))
			continue
		}
		b.sayAll("      ", words)
	}
	if s.Note != "" {
		b.say("    %s", visible(s.Note))
	}
}
