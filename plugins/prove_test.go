//go:build unix

package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
)

// rounds are how often each misfortune happens to a plugin.
func rounds() int {
	if os.Getenv("SKILLET_PROVE") != "" {
		return 1000
	}
	return 2
}

// misfortunes are what happens to a plugin, and how the call fails that it happens
// in.
func misfortunes() map[string]struct {
	say     string
	classes []provider.Class
	lives   bool // the plugin goes on
} {
	return map[string]struct {
		say     string
		classes []provider.Class
		lives   bool
	}{
		"exits":      {"!die at once", []provider.Class{provider.ClassUnavailable}, false},
		"is killed":  {"!kill", []provider.Class{provider.ClassUnavailable}, false},
		"hangs":      {"!hang", []provider.Class{provider.ClassTimeout}, true},
		"panics":     {"!panic", []provider.Class{provider.ClassInternal}, true},
		"says 20 MB": {"!huge 20", []provider.Class{provider.ClassInternal}, true},
		"never ends": {"!stream", []provider.Class{provider.ClassInternal, provider.ClassTimeout}, true},
		"multiplies": {"!bomb " + bombed(), []provider.Class{provider.ClassUnavailable}, false},
	}
}

// Whatever happens to a plugin, its host goes on, the call fails as what it is,
// the next one is answered, and no process is left.
func TestMisfortunes(t *testing.T) {
	long(t)
	t.Parallel()
	for name, m := range misfortunes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := quick()
			s.Timeouts = providergrpc.Timeouts{Work: 10 * time.Second}
			s.Restart.Attempts = 1 << 30
			s.Restart.Longest = time.Millisecond
			v := newSupervisor(t, s)
			p := start(t, v, spec("parrot"))
			var slowest time.Duration
			for range rounds() {
				slowest = max(slowest, unlucky(t, p, m.say, m.classes))
			}
			starts := v.Status()[0].Starts
			if want := 1 + rounds(); !m.lives && starts != want || m.lives && starts != 1 {
				t.Errorf("started %d times", starts)
			}
			v.Close()
			if n := left(t); n > 0 && m.say == "!bomb "+bombed() {
				t.Errorf("%d processes are left", n)
			}
			t.Logf("proof: a plugin that %s: %d times, each a typed failure, no process left; answering again after %v at most", name, rounds(), slowest)
		})
	}
}

// unlucky has a plugin meet with a misfortune, and returns how long it took until it
// answered again.
func unlucky(t *testing.T, p provider.Provider, misfortune string, classes []provider.Class) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	if misfortune == "!hang" {
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	}
	defer cancel()
	_, err := say(ctx, p, misfortune)
	failed := time.Now()
	var e *provider.Error
	if !errors.As(err, &e) || !slices.Contains(classes, e.Class) {
		t.Fatalf("%v, want one of %v", err, classes)
	}
	if said, err := say(t.Context(), p, "alive"); said != "alive" {
		t.Fatalf("%q %v", said, err)
	}
	return time.Since(failed)
}

// bombed is how long the processes sleep that a plugin multiplies into, in
// seconds: nobody else's do.
func bombed() string { return fmt.Sprintf("4000.%d", os.Getpid()) }

// left counts the processes of a bomb that are there.
func left(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), bombed()) {
			n++
		}
	}
	return n
}
