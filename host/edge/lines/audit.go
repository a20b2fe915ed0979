package lines

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
)

// Event is what is on record of a decision, a run or a refusal.
func Event(e govern.Event) []string { return written(Style{}, func(b *block) { b.event(e) }) }

// Run is all that is known of a run.
func Run(t work.CallDetails) []string { return written(Style{}, func(b *block) { b.run(t) }) }

// Verification is what is well and what is damaged in the audit log.
func Verification(v govern.Verification) []string {
	return written(Style{}, func(b *block) { b.verification(v) })
}

// AuditRepair is what can be kept of a damaged audit log, or was.
func AuditRepair(r upkeep.AuditRepair) []string {
	return written(Style{}, func(b *block) { b.repair(r) })
}

// RebuildReport shows what the store holds after it was rebuilt or restored; what says which.
func RebuildReport(what string, r upkeep.RebuildReport) []string {
	return written(Style{}, func(b *block) { b.rebuildReport(what, r) })
}

// Export is what an exported audit log has, and who signed it.
func Export(found govern.ExportReport) []string {
	return written(Style{}, func(b *block) {
		b.say("ok: %d entries of %s, each chained to the one before", found.Entries, found.Home)
		for _, p := range found.Logs {
			b.say("  %s", part(p))
		}
		b.say("signed by %s", found.Key)
	})
}

func (b *block) event(e govern.Event) {
	line := fmt.Sprintf("%s  %-8s %-28s %s", e.Time.Local().Format("2006-01-02 15:04:05 -0700"), e.Kind, plain(e.Subject), plain(e.Actor))
	if e.Decision != nil {
		b.say("%s  %s", line, e.Decision.Note)
		for _, g := range e.Granted {
			b.say("    + %s", Granted(g))
		}
		for _, g := range e.Revoked {
			b.say("    - %s", Granted(g))
		}
		return
	}
	if e.Refused != nil {
		more := ""
		if e.Refused.More > 0 {
			more = fmt.Sprintf(", and %d more before", e.Refused.More)
		}
		b.say("%s  %s: %s%s", line, e.Refused.Route, e.Refused.Reason, more)
		return
	}
	b.say("%s  %s  %s  %.1f ms, %d fuel  %s", line, e.Run.Tool, verdict(e), e.Run.DurationMS, e.Run.Fuel, e.Run.RunID)
	if e.Run.OnBehalfOf != "" {
		b.say("    %s for %s, as a part of run %s", e.Run.Part, e.Run.OnBehalfOf, e.Run.Of)
	}
	for _, d := range e.Run.Denials {
		b.say("    denied %s: %s", d.Request, d.Reason)
	}
}

// verdict is how a run ended.
func verdict(e govern.Event) string {
	if e.Run.OK {
		return "ok"
	}
	return string(e.Run.Error.Kind)
}

func (b *block) run(t work.CallDetails) {
	c := t.Call
	b.say("%s  %s:%s", c.RunID, plain(c.Skill), plain(c.Tool))
	if c.OK {
		b.say("  outcome:  ok")
	} else {
		b.say("  outcome:  %s: %s", c.Error.Kind, plain(c.Error.Message))
	}
	b.say("  when:     %s, by %s", c.Time.Local().Format("2006-01-02 15:04:05"), plain(c.Actor))
	models := ""
	if m := c.Models; m != nil {
		models = fmt.Sprintf("; %s of models, %d tokens in, %d out", count(m.Calls, "answer"), m.InputTokens, m.OutputTokens)
	}
	b.say("  cost:     %.1f ms, %d fuel, %d B of memory, %s of the host%s", c.DurationMS, c.Fuel, c.PeakMemoryBytes, count(c.HostCalls, "call"), models)
	if c.Of != "" {
		b.say("  part of:  the run %s, as its %s", c.Of, c.Part)
	}
	if c.Session != "" {
		b.say("  session:  %s", plain(c.Session))
	}
	if t.Task != nil {
		b.say("  for:      the task %s: %s, step %s", plain(t.Task.ID), plain(t.Task.Title), plain(c.Step))
		for _, d := range t.Task.Approvals {
			b.say("  decided:  %s", decided(d.Approved, plain(d.By), plain(d.Notes)))
		}
	}
	for _, u := range c.Used {
		b.say("  used:     %s, granted as %s, %s", plain(u.Request), plain(u.Capability), count(u.Count, "time"))
	}
	for _, d := range c.Denials {
		b.say("  denied:   %s: %s", plain(d.Request), plain(d.Reason))
	}
	for _, p := range t.Parts {
		b.say("  called:   %s:%s  %.1f ms, %d fuel  %s", plain(p.Skill), plain(p.Tool), p.DurationMS, p.Fuel, p.RunID)
	}
	if t.Kept != nil {
		b.kept(*t.Kept)
	}
}

func decided(yes bool, by, notes string) string {
	line := "refused by " + by
	if yes {
		line = "approved by " + by
	}
	if notes != "" {
		line += ": " + notes
	}
	return line
}

// maxPreview is how many characters of one text are shown in a line.
const maxPreview = 200

func (b *block) kept(k work.RecordedCall) {
	b.say("  input:    %s", plain(short(k.Input, maxPreview)))
	b.say("  answer:   %s", plain(short(k.Output, maxPreview)))
	for _, c := range k.HostCalls {
		b.say("  asked:    %s %s -> %s", plain(c.Name), plain(short(c.Request, maxPreview)), plain(short(c.Answer, maxPreview)))
	}
	for _, f := range k.Files {
		b.say("  did:      %s", plain(f.What))
		if f.Before != "" {
			b.say("    - %s", plain(short(f.Before, maxPreview)))
		}
		if f.Written != "" {
			b.say("    + %s", plain(short(f.Written, maxPreview)))
		}
	}
	for _, l := range k.Logs {
		b.say("  log:      %s: %s", plain(l.Level), plain(l.Message))
	}
}

func (b *block) repair(r upkeep.AuditRepair) {
	if r.Key != nil {
		b.keyRepair(r.Key)
	}
	if r.Whole() {
		b.say("the audit log is whole; there is nothing to repair")
	}
	for _, p := range r.Damaged() {
		lost := "and none are lost"
		if len(p.Lost) > 0 {
			lost = "and some are lost:"
		}
		b.say("%s: %d are whole, %s", p.Name, p.Kept, lost)
		for _, l := range p.Lost {
			b.say("  lost: %s", l.String())
		}
		if p.Backup != "" {
			b.say("  as they were: %s", p.Backup)
		}
	}
	for _, e := range r.Ended {
		b.say("  ends, as a lost decision may have ended it: %s", e)
	}
	for _, g := range r.Gone {
		b.say("  is gone with its decision: %s", g)
	}
	if r.Store != nil {
		what := "the store is rebuilt from"
		if r.Store.Backup != "" {
			what = "rebuilt the store from"
		}
		b.rebuildReport(what, *r.Store)
	}
}

func (b *block) keyRepair(k *upkeep.KeyRepair) {
	b.say("the key: %s", k.What)
	if k.Vouched {
		b.say("  the decisions are signed with the key this home is known by")
	} else {
		b.say("  nobody vouches for the decisions there are: what they gave ends")
	}
	if k.New == "" {
		b.say("  a new key will sign from now on")
		return
	}
	b.say("  a new key signs from now on: %s", k.New)
	for _, f := range k.Backups {
		b.say("  as it was: %s", f)
	}
}

// part is a log of an export in one line.
func part(p govern.ExportedLog) string {
	if p.Last < p.First {
		return fmt.Sprintf("%s: none", plain(p.Log))
	}
	line := fmt.Sprintf("%s: %d to %d, %s to %s", plain(p.Log), p.First, p.Last, when(p.From), when(p.To))
	for _, r := range p.Adopted {
		line += fmt.Sprintf("; %s were unsigned and adopted", r)
	}
	for _, r := range p.Carried {
		line += fmt.Sprintf("; %s were carried over by a repair", r)
	}
	for _, r := range p.Lost {
		line += fmt.Sprintf("; %s were lost before a repair", r)
	}
	return line
}

func (b *block) verification(v govern.Verification) {
	if v.OK {
		b.say("ok: %d decisions and %d runs, each chained to the one before", v.Decisions.Entries, v.Calls.Entries)
	}
	for _, j := range []struct {
		name   string
		report govern.Report
	}{{"decisions", v.Decisions}, {"runs", v.Calls}} {
		switch d := j.report.Damage; {
		case d != nil:
			b.say("damaged: the first %d %s are whole, up to %s: %s", j.report.Entries, j.name, d.File, d.What)
		case !v.OK:
			b.say("ok: %d %s", j.report.Entries, j.name)
		default:
			b.signed(j.name, j.report)
		}
		if n := j.report.Unacknowledged; n > 0 && j.report.Damage == nil {
			b.say("  %s: %s behind the last entry, of a command that was cut short: the next one keeps what is whole and deletes the rest", j.name, count(int(n), "byte"))
		}
	}
	if v.OK && len(v.KnownBy) > 0 {
		found := ""
		if v.Found {
			found = ", as the key was found"
		}
		b.say("  the home is known by it: %s%s", strings.Join(v.KnownBy, ", "), found)
	}
	if v.Against != nil {
		b.say("the log has everything that the export shows")
	}
}

// signed writes what of a log that is whole is signed.
func (b *block) signed(name string, r govern.Report) {
	s := r.Signed
	switch {
	case r.Entries == 0:
		return
	case s == nil:
		b.say("  %s: not signed yet, the next one signs for all", name)
		return
	case s.From > r.Entries:
		b.say("  %s: signed from the next one on, by %s", name, s.Key)
	default:
		b.say("  %s: signed from entry %d on, by %s", name, s.From, s.Key)
	}
	for _, a := range s.Adopted {
		b.say("    entries %s were found unsigned, and adopted on %s", a.Range, when(a.Time))
	}
	for _, a := range s.Carried {
		b.say("    entries %s were carried over by a repair on %s, with new numbers", a.Range, when(a.Time))
	}
	for _, at := range s.Repairs {
		b.say("    repaired on %s", when(at))
	}
	for _, l := range s.Lost {
		b.say("    entries %s were lost before the repair", l)
	}
}

func (b *block) rebuildReport(what string, r upkeep.RebuildReport) {
	b.say("%s %d decisions; in the store:", what, r.Decisions)
	for _, k := range r.Kinds {
		if k.Before == k.After {
			b.say("  %6d %s", k.After, k.Kind)
		} else {
			b.say("  %6d %s (there were %d)", k.After, k.Kind, k.Before)
		}
	}
	if r.Unreadable > 0 {
		b.say("  %6d entries cannot be read", r.Unreadable)
	}
	for _, l := range r.Lost {
		b.say("  damaged: %s", l)
	}
	if !r.Whole {
		b.say("  not all of the store can be read: something is lost")
	}
	if r.Backup != "" {
		b.say("  the store as it was is in %s; delete it when nothing is missing", r.Backup)
	}
}
