package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	events "github.com/skillet-run/skillet/host/agents/event"
)

// A refusal that a call and then its step tell of is shown once; others are shown.
func TestRefusalIsShownOnce(t *testing.T) {
	var b bytes.Buffer
	w := watcher{t: &terminal{out: &answers{w: &b}, err: &screen{w: &b}}}
	for _, e := range []events.Event{
		{Type: events.StepDenied, Text: "not granted", Data: []byte(`{"agent":"general","tool":"files__read"}`)},
		{Type: events.StepDenied, Text: "not granted", Data: []byte(`{"tool":"files__read"}`)},
		{Type: events.StepDenied, Data: []byte(`{"tool":"a","error":{"message":"never"}}`)},
		{Type: events.StepDenied, Data: []byte(`{"tool":"b","error":{"message":"not here"}}`)},
	} {
		if err := w.show(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); strings.Count(got, "denied: ") != 3 || strings.Count(got, "not granted") != 1 || !strings.Contains(got, "never") || !strings.Contains(got, "not here") {
		t.Errorf("it shows\n%s", got)
	}
}

// A spinner turns while what is waited for stays the same.
func TestSpinnerTurns(t *testing.T) {
	var b bytes.Buffer
	s := &screen{w: &b}
	for range 6 {
		s.move("checking pdf-0.1.0.skill", 0, 0)
		time.Sleep(10 * time.Millisecond)
	}
	s.erase()
	frames := map[string]bool{}
	for _, m := range regexp.MustCompile(`(\S+) checking pdf`).FindAllStringSubmatch(b.String(), -1) {
		frames[m[1]] = true
	}
	if len(frames) < 4 {
		t.Errorf("it shows only %v in %q", frames, b.String())
	}
}

// A bar is made anew when it is known what it goes to.
func TestBarGetsItsLength(t *testing.T) {
	var b bytes.Buffer
	s := &screen{w: &b}
	s.move("fetching wc", 0, 0)
	s.move("fetching wc", 1, 100)
	first := s.bar
	s.move("fetching wc", 50, 100)
	if s.bar != first || s.bar.GetMax64() != 100 || !strings.Contains(b.String(), "50%") {
		t.Errorf("%d of %d: %q", s.bar.State().CurrentNum, s.bar.GetMax64(), b.String())
	}
	s.erase()
}
