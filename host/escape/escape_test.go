package escape

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/guestapi"
)

var update = flag.Bool("update", false, "rewrite golden files and docs/escape.md")

// TestContained makes every attempt.
func TestContained(t *testing.T) {
	t.Parallel()
	begun := 0
	found, err := Run(t.Context(), hclog.NewNullLogger(), Options{Begin: func(n, of int, a Attempt) {
		if n != begun || of != len(List()) {
			t.Errorf("%s is number %d of %d, want %d of %d", a.ID, n, of, begun, len(List()))
		}
		begun++
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Logf("%-22s %8.1f ms  %s", f.ID, f.DurationMS, f.Stopped)
		if !f.Contained || f.Stopped == "" || f.Breach != "" {
			t.Errorf("%s: %q, %s", f.ID, f.Stopped, f.Breach)
		}
	}
	if !Contained(found) || len(found) != begun {
		t.Errorf("%d of %d attempts were made", len(found), begun)
	}
}

// TestList keeps the table of attempts.
func TestList(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	names := map[string]bool{}
	for _, a := range List() {
		fmt.Fprintf(&b, "%-13s %-21s %s\n", a.Group, a.ID, a.Tries)
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(a.ID) || names[a.ID] || len(a.Tries) > 90 {
			t.Errorf("attempt %q: %s", a.ID, a.Tries)
		}
		names[a.ID] = true
	}
	if len(names) < 50 {
		t.Errorf("%d attempts", len(names))
	}
	golden(t, "testdata/attempts.golden", b.String())
}

// TestEveryFunctionIsAttempted: an attempt goes through each function that takes a
// grant, or there is nothing behind it in the lab.
func TestEveryFunctionIsAttempted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			text.Write(b)
		}
	}
	nothingBehind := map[string]string{
		"skill_call": "the lab has no second skill; the runner bounds such calls",
		"model_call": "the lab has no provider of models",
	}
	for _, f := range guestapi.Functions() {
		attempted := strings.Contains(text.String(), strconv.Quote(f.Name))
		excused := nothingBehind[f.Name] != ""
		if f.Action != "" && !attempted && !excused {
			t.Errorf("no attempt goes through %s: add one, or say here why there is none", f.Name)
		}
		if attempted && excused {
			t.Errorf("an attempt goes through %s: take it out of the list here", f.Name)
		}
	}
}

// golden compares a text with a file, or rewrites the file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s differs; run the test with -update and look at what changes", name)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	dir := mustRealPath(t)
	o := Options{Dir: dir, Only: []string{"endless-loop", "redirect-out"}}
	found, err := Run(t.Context(), hclog.NewNullLogger(), o)
	if err != nil || len(found) != 2 || found[0].ID != "redirect-out" || !Contained(found) {
		t.Errorf("%+v, %v", found, err)
	}
	for _, id := range o.Only {
		if _, err := os.Stat(filepath.Join(dir, id)); err == nil {
			t.Errorf("%s left its directory", id)
		}
	}
	o.Only = []string{"redirect-out", "nothing"}
	if _, err := Run(t.Context(), hclog.NewNullLogger(), o); err == nil || Unknown(o.Only) != "nothing" {
		t.Errorf("an unknown attempt: %v", err)
	}
	if Contained([]Finding{{Contained: true}, {}}) {
		t.Error("one that is not contained is missed")
	}
}
