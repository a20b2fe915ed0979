package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/policies/limit"
)

// Each action has a command or words, whose flags and arguments this program has.
func TestEveryRemedyIsSaid(t *testing.T) {
	t.Parallel()
	app, term := newApp(&terminal{}), &terminal{}
	known := map[fault.Action]bool{}
	for _, row := range fault.Actions() {
		known[row.Action] = true
		command, words := term.commandOf(row.Sample()), remedyWords[row.Action]
		if (command == "") == (words == nil) {
			t.Errorf("%s: the command %q, and words: %v; want one of both", row.Action, command, words != nil)
		}
		if wrong := wrongWith(app, command); wrong != "" {
			t.Errorf("%s: %s: %s", row.Action, command, wrong)
		}
		for _, p := range row.Params {
			if !strings.Contains(command, strings.ToUpper(string(p))) {
				t.Errorf("%s: %s does not have the parameter %s", row.Action, command, p)
			}
		}
		if bare := term.commandOf(fault.Remedy{Action: row.Action}); strings.Contains(bare, "{") || wrongWith(app, bare) != "" {
			t.Errorf("%s: without parameters: %s: %s", row.Action, bare, wrongWith(app, bare))
		}
	}
	for a := range maps.Keys(remedyCommands) {
		if !known[a] {
			t.Errorf("there is no action %s", a)
		}
	}
	for a := range maps.Keys(remedyWords) {
		if !known[a] {
			t.Errorf("there is no action %s", a)
		}
	}
}

// Each field is a flag of some command.
func TestEveryFieldIsAFlag(t *testing.T) {
	t.Parallel()
	app := newApp(&terminal{})
	ours := cmdline.FlagsBelow(app.Flags, app.Commands)
	fields := fault.Fields()
	for _, l := range limit.All() {
		if l.Request() != "" {
			fields = append(fields, fault.Field(l.Request()))
		}
	}
	for _, f := range fields {
		if cmdline.LookFor(ours, remedyFlag(f)) == nil {
			t.Errorf("%s: no command has the flag --%s", f, remedyFlag(f))
		}
	}
}

func TestWay(t *testing.T) {
	t.Parallel()
	grant := fault.Grant("text@1.0.0", "http:GET https://a.example/*")
	for want, h := range map[string]fault.Hint{
		"nothing to do": fault.Hintf("nothing to do"),
		"skillet permission grant text@1.0.0 'http:GET https://a.example/*'":                                                          fault.Hintf("%s", grant),
		"to allow it: skillet permission grant text@1.0.0 'http:GET https://a.example/*'":                                             fault.Hintf("to allow it: %s", grant),
		"`skillet approvals show p1` shows where; to approve it all the same: `skillet approvals approve p1 --despite a --despite b`": fault.Hintf("%s shows where; to approve it all the same: %s", fault.ShowProposal("p1"), fault.Approve("p1").With(fault.FieldDespite, "a", "b")),
		"run it again with --allow 'kv', by that name":                                                                                fault.Hintf("run it again with %s, by that name", fault.SetField(fault.FieldAllow, "kv")),
		"add --trust-signer --allow-unsigned":                                                                                         fault.Hintf("add %s", fault.SetField(fault.FieldTrustSigner).With(fault.FieldAllowUnsigned)),
		"did you mean csv?":                                                                                                           fault.Hintf("did you mean %s?", fault.Choose("csv")),
		"`skillet permission show SKILL` shows it":                                                                                    fault.Hintf("%s shows it", fault.ShowGrants("")),
		"`skillet tree` shows it":                                                                                                     fault.Hintf("%s shows it", fault.ShowNeeds("")),
		"build it: skillet build 'a b/$c'":                                                                                            fault.Hintf("build it: %s", fault.Build("a b/$c")),
	} {
		if got := (&terminal{}).way(h.Text, h.Remedies); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	away := &terminal{elsewhere: "--home /h"}
	if got := away.way("{0} or {1}, not `skillet list`", []fault.Remedy{grant, fault.CheckHome()}); !strings.HasPrefix(got, "`skillet --home /h permission grant") || !strings.Contains(got, "`skillet --home /h doctor`") {
		t.Errorf("with another home: %s", got)
	}
}

// What is printed has its hints filled wherever they are, and what it was made of stays as it was.
func TestFilled(t *testing.T) {
	t.Parallel()
	term := &terminal{}
	e := fault.Errorf(fault.KindDenied, "no").WithHint("%s", fault.CheckHome())
	type inner struct{ Failed *fault.Error }
	type outer struct {
		inner
		Any  any
		List []*fault.Error
		Map  map[string]fault.Error
		Den  []task.Denial
		Text string
	}
	o := outer{
		inner{e}, any(e), []*fault.Error{e, nil}, map[string]fault.Error{"a": *e},
		[]task.Denial{{Hint: "{0}", Remedies: e.Remedies}}, "{0}",
	}
	got := term.filled(&o).(*outer)
	for _, hint := range []string{got.Failed.Hint, got.Any.(*fault.Error).Hint, got.List[0].Hint, got.Map["a"].Hint, got.Den[0].Hint} {
		if hint != "skillet doctor" {
			t.Errorf("got %q", hint)
		}
	}
	if got.Text != "{0}" || got.List[1] != nil || len(got.Den[0].Remedies) != 1 {
		t.Errorf("got %+v", got)
	}
	if e.Hint != "{0}" || o.List[0] != e || o.Map["a"].Hint != "{0}" || o.Den[0].Hint != "{0}" || o.Any != any(e) {
		t.Errorf("changed: %+v", o)
	}
	if again := term.filled(got).(*outer); again.Failed.Hint != "skillet doctor" {
		t.Errorf("filled twice: %+v", again)
	}
}
