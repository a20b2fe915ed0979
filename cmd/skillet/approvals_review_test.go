package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// propose has a model propose skills, and returns the ids by the names of the skills.
func (p *person) propose(names ...string) map[string]string {
	p.t.Helper()
	for _, name := range names {
		p.pack(name, name, "1.0.0", `"kv":{"reason":"to remember"}`)
		p.must(6, "install", "./"+name, "--generated-by", "some-model")
	}
	var all []struct{ ID, Skill string }
	if err := json.Unmarshal([]byte(p.must(0, "approvals", "list", "--json")), &all); err != nil {
		p.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, one := range all {
		ids[one.Skill] = one.ID
	}
	return ids
}

// A person walks through what waits, and each answer does what it says.
func TestReviewWalksThroughWhatWaits(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ids := p.propose("first", "second", "third")
	const question = "Approve, reject, skip, show all of it, or quit? [a/r/s/d/q/N] "

	s := p.sit("approvals", "list")
	if got := s.ends(0); !strings.Contains(got, "FINDINGS") || !strings.Contains(got, "not run") || !strings.Contains(got, " kv ") || !strings.Contains(got, "skillet approvals review") {
		t.Errorf("the list is\n%s", got)
	}

	// Ctrl-C decides nothing, at the question and at the one why.
	for _, first := range []string{"", "r\n"} {
		s := p.sit("approvals", "review")
		s.sees(question)
		s.types(first)
		if first != "" {
			s.sees("Why, to be kept with the decision?")
		}
		s.types(ctrlC)
		s.ends(interrupted)
	}
	if got := p.must(0, "approvals", "list", "--json"); strings.Count(got, `"status": "pending"`) != 3 {
		t.Errorf("interrupted, and there waits\n%s", got)
	}

	s = p.sit("approvals", "review")
	s.sees("1 of 3")
	s.sees(question)
	at := len(s.shown())
	s.types("what?\n")
	s.seesAfter(at, "answer a, r, s, d or q")
	s.seesAfter(at, question)
	at = len(s.shown())
	s.types("d\n")
	s.seesAfter(at, "limits:")
	s.seesAfter(at, question)
	at = len(s.shown())
	s.types("a\n")
	s.seesAfter(at, "installed first@1.0.0")
	s.seesAfter(at, "granted: keep data of its own")
	s.seesAfter(at, "2 of 3")
	s.seesAfter(at, question)
	at = len(s.shown())
	s.types("r\n")
	s.seesAfter(at, "Why, to be kept with the decision?")
	s.types("It has no Use\n")
	s.seesAfter(at, "rejected "+ids["second"])
	s.seesAfter(at, question)
	s.types("\n")
	if got := s.ends(0); !strings.Contains(got, "1 approved, 1 rejected, 1 left as they are") {
		t.Errorf("at the end it says\n%s", got)
	}
	if got := p.must(0, "approvals", "show", ids["second"]); !strings.Contains(got, "It has no Use") {
		t.Errorf("the reason is not kept:\n%s", got)
	}
	p.must(0, "run", "first", "--input", "x")
	p.must(5, "run", "second", "--input", "x")

	s = p.sit("approvals", "review")
	s.sees(question)
	s.types("q\n")
	s.ends(0)
	p.must(2, "approvals", "review") // nobody can be asked
	if got := p.pending(); got != ids["third"] {
		t.Errorf("there waits %s", got)
	}
}

// What the flags say of how often, and until when, holds for the calls of a script as it does
// with approve, and what it cannot be said of is refused in the same words.
func TestReviewApprovesALoop(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.withEngine()
	url, asked := p.web()
	p.write("home/policies/ask.cedar", []byte(asksAboutRequests))
	p.write("loop.js", []byte("let n = 0;\nfor (; n < 3; n++) await tools.web.fetch({ url: data });\nn\n"))
	loop := []string{"code", "loop.js", "--data", `"` + url + `/x"`}
	p.must(6, loop...)
	id := p.pending()

	const question = "[a/r/s/d/q/N] "
	review := func(code int, args ...string) string {
		t.Helper()
		s := p.sit(append([]string{"approvals", "review"}, args...)...)
		s.sees(question)
		s.types("a\n")
		return s.ends(code)
	}
	p.must(2, "approvals", "approve", id, "--scope", "run=x", "--yes")
	if got := review(2, "--scope", "run=x"); !strings.Contains(got, "bounded by how many they are and by a time") {
		t.Errorf("with a run, and shown is\n%s", got)
	}
	if got := review(0, "--times", "3", "--until", "1h"); !strings.Contains(got, "this script may call web@1.0.0:fetch at most 3 times") {
		t.Errorf("approved is\n%s", got)
	}
	if got := p.must(0, loop...); strings.TrimSpace(got) != "3" || asked.Load() != 3 {
		t.Errorf("it ended with %s, %d requests", got, asked.Load())
	}
	p.must(6, loop...) // three were made

	// A change of settings has no such terms.
	p.must(0, "approvals", "reject", p.pending(), "--yes")
	p.must(6, "config", "set", "log_level", "debug", "--generated-by", "some-model")
	p.must(2, "approvals", "approve", p.pending(), "--times", "3", "--yes")
	if got := review(2, "--times", "3"); !strings.Contains(got, "grants nothing") {
		t.Errorf("shown is\n%s", got)
	}
}

// Several are decided with one command, and by what they are about.
func TestSeveralAreDecidedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ids := p.propose("first", "second", "third", "fourth")
	if got := p.must(0, "approvals", "list", "--skill", "third", "--json"); strings.Count(got, `"id": `) != 1 || !strings.Contains(got, ids["third"]) {
		t.Errorf("about third there waits\n%s", got)
	}
	if got := p.must(0, "approvals", "list", "--kind", "call", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("of calls there waits\n%s", got)
	}
	p.must(2, "approvals", "list", "--kind", "coup")
	p.must(2, "approvals", "approve", "--yes")
	p.must(2, "approvals", "approve", ids["first"], "--skill", "first", "--yes")
	p.must(2, "approvals", "approve", ids["first"], ids["second"], "--digest", "sha256:00000000", "--yes")
	p.must(5, "approvals", "approve", "--skill", "other", "--yes")
	p.must(5, "approvals", "approve", ids["first"], "ffffffff", "--yes") // nothing is decided when one is not there
	if got := p.must(0, "approvals", "approve", ids["first"], ids["first"], ids["second"], "--yes", "--json"); strings.Count(got, `"ok": true`) != 2 {
		t.Errorf("approved is\n%s", got)
	}
	// One that cannot be decided does not keep the others waiting.
	if got := p.must(8, "approvals", "reject", ids["first"], ids["third"], "--yes", "--json"); strings.Count(got, `"ok": true`) != 1 || strings.Count(got, `"ok": false`) != 1 {
		t.Errorf("rejected is\n%s", got)
	}
	p.must(0, "approvals", "approve", "--skill", "fourth", "--yes")
	if got := p.must(0, "approvals", "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("there waits\n%s", got)
	}
}

// Who is told that something waits can look at it at once, and approve it.
func TestWhatWaitsIsOffered(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("gen", "gen", "1.0.0", `"kv":{"reason":"to remember"}`)
	s := p.sit("install", "./gen", "--generated-by", "some-model")
	s.sees("Look at it now? [y/N] ")
	s.types(ctrlC)
	s.ends(interrupted)
	for _, end := range []struct {
		word string
		code int
	}{{"s", 6}, {"a", 0}} {
		s = p.sit("install", "./gen", "--generated-by", "some-model")
		s.sees("Look at it now? [y/N] ")
		s.types("y\n")
		s.sees("[a/r/s/d/q/N] ")
		s.types(end.word + "\n")
		s.ends(end.code)
	}
	for range 2 { // it was granted for good
		p.must(0, "run", "gen", "--input", "x")
	}

	// A call that waits for a person is made when they approve it.
	p.installWants()
	p.must(0, "permission", "grant", "wants", "fs.read:"+p.work+"/**")
	p.write("home/policies/ask.cedar", []byte(`@id("look-first") @approval("required") forbid (principal, action == Action::"fs.read", resource) unless { context.approved };`))
	s = p.sit("run", "wants:echo")
	s.sees("Look at it now? [y/N] ")
	s.types("n\n")
	if got := s.ends(6); strings.Contains(got, "was read") || strings.Count(got, "Look at it now?") != 1 {
		t.Errorf("not looked at, and shown is\n%s", got)
	}
	s = p.sit("run", "wants:echo")
	s.sees("Look at it now? [y/N] ")
	s.types("y\n")
	s.sees("[a/r/s/d/q/N] ")
	s.types("a\n")
	if got := s.ends(0); !strings.HasSuffix(got, "was read\r\n") {
		t.Errorf("approved, and shown is\n%s", got)
	}

	s = p.sit("config", "set", "log_level", "debug", "--generated-by", "some-model")
	s.sees("Look at it now? [y/N] ")
	s.types("y\n")
	s.sees("log_level: warn (default) -> debug")
	s.sees("[a/r/s/d/q/N] ")
	s.types("a\n")
	s.ends(0)
}

// Who follows the audit log sees what others decide meanwhile, as far as it is asked for.
func TestAuditIsFollowed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("asks", "asks", "1.0.0", `"kv":{"reason":"to remember"}`)
	p.must(0, "install", "./asks", "--yes")
	s := p.sit("audit", "--follow", "--capability", "fs.write")
	p.must(0, "permission", "grant", "asks", "fs.read:/data/x")
	p.must(0, "permission", "grant", "asks", "fs.write:/data/y")
	s.sees("/data/y")
	s.types(ctrlC)
	if got := s.ends(0); strings.Contains(got, "/data/x") || strings.Contains(got, "keep data") {
		t.Errorf("shown is\n%s", got)
	}
}
