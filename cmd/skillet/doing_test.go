package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
	"github.com/skillet-run/skillet/host/app/admit"
)

// A shared buffer may be written to while it is read.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A person is shown which part of an installation they wait for, and how many of its test
// cases are over; nothing of it stays.
func TestDoingIsShown(t *testing.T) {
	var b shared
	term := &terminal{err: screen.New(&b), errTTY: true}
	tell := term.doing()
	for _, step := range []struct {
		doing admit.Doing
		shows string
	}{
		{admit.Doing{Stage: admit.StageCheck, Skill: "wc"}, "checking wc"},
		{admit.Doing{Stage: admit.StageCompile, Skill: "wc"}, "compiling wc"},
		{admit.Doing{Stage: admit.StageTest, Skill: "wc", Done: 3, Of: 24}, "testing wc: 3 of 24 cases"},
	} {
		tell(step.doing)
		for range 3000 {
			if strings.Contains(b.String(), step.shows) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(b.String(), step.shows) {
			t.Fatalf("it shows %q, and not %q", b.String(), step.shows)
		}
	}
	tell(admit.Doing{})
	before := b.String()
	tell(admit.Doing{})
	if b.String() != before || !strings.HasSuffix(before, "\r") {
		t.Errorf("what stays is %q", before[max(0, len(before)-100):])
	}
}
