package screen

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// While somebody waits, lines are written in one piece and the bar is gone
// before each of them.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	s := New(&b)
	done := s.Waiting("working")
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 50 {
				fmt.Fprintf(s, "line of %d\n", i)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	writers.Wait()
	done()
	done()
	if !strings.Contains(b.String(), "working") {
		t.Errorf("no bar in %q", b.String())
	}
	for l := range strings.Lines(b.String()) {
		if i := strings.LastIndex(l, "\r"); strings.HasSuffix(l, "\n") && !strings.HasPrefix(l[i+1:], "line of ") {
			t.Errorf("%q is not a line of its own", l)
		}
	}
	if left := lastRow(b.String()); left != "" {
		t.Errorf("%q stays on the screen, after %q", left, b.String()[b.Len()-60:])
	}
}

// lastRow is what the last row of a terminal shows after a text.
func lastRow(text string) string {
	var row []rune
	at := 0
	for _, r := range text[strings.LastIndexByte(text, '\n')+1:] {
		switch {
		case r == '\r':
			at = 0
			continue
		case at == len(row):
			row = append(row, r)
		default:
			row[at] = r
		}
		at++
	}
	return strings.TrimSpace(string(row))
}

// A spinner turns while what is waited for stays the same.
func TestSpinnerTurns(t *testing.T) {
	var b bytes.Buffer
	s := New(&b)
	for range 6 {
		s.move("checking pdf-0.1.0.skill", 0, 0)
		time.Sleep(10 * time.Millisecond)
	}
	s.Erase()
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
	s := New(&b)
	s.move("fetching wc", 0, 0)
	s.move("fetching wc", 1, 100)
	first := s.bar
	s.move("fetching wc", 50, 100)
	if s.bar != first || s.bar.GetMax64() != 100 || !strings.Contains(b.String(), "50%") {
		t.Errorf("%d of %d: %q", s.bar.State().CurrentNum, s.bar.GetMax64(), b.String())
	}
	s.Erase()
}
