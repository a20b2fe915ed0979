package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/plugins/provider"
)

const gib = 1 << 30

// machine is a provider with models of this machine, of 2 GiB and more: "talk" is for
// conversation.
func machine(sizes map[string]uint64) *script {
	p := local("p")
	p.models = nil
	for _, name := range []string{"talk", "a", "b", "c", "huge"} {
		m := text(name, "balanced")
		if name == "talk" {
			m.Tiers = []string{"conversation"}
		}
		if m.MemoryBytes = sizes[name]; m.MemoryBytes > 0 {
			p.models = append(p.models, m)
		}
	}
	return p
}

func generate(t testing.TB, h host, model string) error {
	t.Helper()
	a := ask("")
	a.Model = model
	_, err := h.Generate(t.Context(), a)
	return err
}

// TestPoolUnloadsTheOldest: within the bound, and never the conversation model.
func TestPoolUnloadsTheOldest(t *testing.T) {
	t.Parallel()
	p := machine(map[string]uint64{"talk": 2 * gib, "a": 2 * gib, "b": 2 * gib, "c": 3 * gib, "huge": 7 * gib})
	h := newHost(t, llm.Settings{MemoryBytes: 7 * gib}, budget.Settings{}, p)
	if err := h.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"a", "b", "a", "c", "talk", "a"} {
		if err := generate(t, h, m); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(p.moved(), " "), "+talk +a +b -b +c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := generate(t, h, "b"); err != nil { // c is the oldest: talk stays
		t.Fatal(err)
	}
	d := must[llm.Diagnosis](t)(h.Diagnose(t.Context(), ask(llm.Balanced)))
	if got := fmt.Sprint(d.Loaded); got != fmt.Sprint([]llm.Resident{{"p", "a", 2 * gib, 0, false}, {"p", "b", 2 * gib, 0, false}, {"p", "talk", 2 * gib, 0, true}}) || d.MemoryBytes != 7*gib {
		t.Errorf("loaded: %s", got)
	}
	memory := map[string]float64{}
	for _, c := range d.Candidates {
		memory[c.Model] = c.Scores.Memory
		if (c.Excluded != "") != (c.Model == "huge") {
			t.Errorf("%s: %q", c.Model, c.Excluded)
		}
	}
	if want := map[string]float64{"a": 1, "b": 1, "c": 0.25, "talk": 1, "huge": 0}; fmt.Sprint(memory) != fmt.Sprint(want) {
		t.Errorf("memory scores %v", memory)
	}
	if err := generate(t, h, "huge"); !errors.Is(err, llm.ErrNoModel) {
		t.Errorf("got %v", err)
	}
	want := []string{"model.loaded: model p/talk is loaded", "model.loaded: model p/a is loaded", "model.loaded: model p/b is loaded", "model.unloaded: model p/b is unloaded"}
	if got := events(t, h, "model.*"); !slices.Equal(got[:4], want) {
		t.Errorf("events %q", got)
	}
}

// TestPoolWaits: a model in use is not unloaded; who needs its memory waits, and
// whoever comes later waits behind.
func TestPoolWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := machine(map[string]uint64{"a": 4 * gib, "b": 4 * gib, "talk": 2 * gib})
		gate := make(chan struct{})
		p.answers = []answer{{text: "slow", wait: gate}, says("ok")}
		h := newHost(t, llm.Settings{MemoryBytes: 6 * gib}, budget.Settings{}, p)
		ends := make(chan string, 4)
		start := func(model string) {
			go func() {
				if err := generate(t, h, model); err != nil {
					t.Errorf("%s: %v", model, err)
				}
				ends <- model
			}()
			synctest.Wait()
		}
		start("a")
		start("b")
		start("a") // loaded, but b came first
		start("talk")
		if got := strings.Join(p.moved(), " "); got != "+a" || len(p.asked()) != 1 {
			t.Errorf("moved %s, asked %v", got, p.asked())
		}
		close(gate)
		synctest.Wait()
		if got := strings.Join(p.asked(), " "); got != "a b a talk" {
			t.Errorf("asked %s", got)
		}
		if got := strings.Join(p.moved(), " "); got != "+a -a +b -b +a +talk" {
			t.Errorf("moved %s", got)
		}
		for range 4 {
			<-ends
		}
	})
}

// TestPoolKeptIsAlwaysThere: while somebody waits for memory, the conversation goes on.
func TestPoolKeptIsAlwaysThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := machine(map[string]uint64{"a": 4 * gib, "b": 4 * gib, "talk": 2 * gib})
		gate := make(chan struct{})
		h := newHost(t, llm.Settings{MemoryBytes: 6 * gib}, budget.Settings{}, p)
		if err := h.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.answers = []answer{{text: "slow", wait: gate}, says("ok")}
		ends := make(chan error, 2)
		go func() { ends <- generate(t, h, "a") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			a := ask("")
			a.Model = "b"
			_, err := h.Generate(ctx, a)
			ends <- err
		}()
		synctest.Wait()
		if err := generate(t, h, "talk"); err != nil {
			t.Error(err)
		}
		if err := <-ends; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited for memory: %v", err)
		}
		close(gate)
		if err := <-ends; err != nil {
			t.Error(err)
		}
		if err := generate(t, h, "a"); err != nil { // he who gave up holds nobody up
			t.Error(err)
		}
		if got := strings.Join(p.moved(), " "); got != "+talk +a" {
			t.Errorf("moved %s", got)
		}
	})
}

// TestPoolFailures: what cannot be loaded, or is gone, takes no memory.
func TestPoolFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := machine(map[string]uint64{"a": 4 * gib, "b": 4 * gib})
		broken := map[string]error{"+a": errors.New("no such file"), "-b": errors.New("busy")}
		p.load = func(_ context.Context, what string) error { return broken[what] }
		h := newHost(t, llm.Settings{MemoryBytes: 6 * gib}, budget.Settings{}, p)
		if err := generate(t, h, "a"); classOf(err) != provider.ClassUnavailable || !strings.Contains(err.Error(), "load model p/a: no such file") {
			t.Errorf("got %v", err)
		}
		if err := generate(t, h, "b"); err != nil {
			t.Errorf("the memory of what was not loaded is gone: %v", err)
		}
		delete(broken, "+a")
		if err := generate(t, h, "a"); err == nil || !strings.Contains(err.Error(), "unload model p/b: busy") {
			t.Errorf("got %v", err)
		}
		delete(broken, "-b")
		if err := generate(t, h, "a"); err != nil {
			t.Error(err)
		}
		p.loads = nil
		p.answers = []answer{fails(provider.ClassUnavailable), says("ok")} // the server was started anew
		if err := generate(t, h, "a"); err != nil {
			t.Error(err)
		}
		if got := strings.Join(p.moved(), " "); got != "+a" {
			t.Errorf("moved %s", got)
		}
	})
}

// TestPoolBelievesProviders: what is loaded already need not be loaded.
func TestPoolBelievesProviders(t *testing.T) {
	t.Parallel()
	p := machine(map[string]uint64{"a": 4 * gib, "b": 4 * gib})
	p.models[0].Loaded = true
	h := newHost(t, llm.Settings{MemoryBytes: 6 * gib}, budget.Settings{}, p)
	for _, m := range []string{"a", "b"} {
		if err := generate(t, h, m); err != nil {
			t.Fatal(err)
		}
	}
	p.models[0].Loaded = false // and b went away by itself
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := generate(t, h, "a"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.moved(), " "); got != "-a +b +a" {
		t.Errorf("moved %s", got)
	}
}

// TestPoolBound: many at the same time, never more memory than there is.
func TestPoolBound(t *testing.T) {
	t.Parallel()
	sizes := map[string]uint64{"talk": 1 * gib, "a": 2 * gib, "b": 3 * gib, "c": 4 * gib}
	p := machine(sizes)
	var mu sync.Mutex
	var loaded, most uint64
	p.load = func(_ context.Context, what string) error {
		mu.Lock()
		defer mu.Unlock()
		if loaded += sizes[what[1:]]; what[0] == '-' {
			loaded -= 2 * sizes[what[1:]]
		}
		most = max(most, loaded)
		p.says(what[1:], what[0] == '+')
		return nil
	}
	h := newHost(t, llm.Settings{MemoryBytes: 6 * gib, Limits: map[string]llm.Limit{"p": {Concurrent: 16}}}, budget.Settings{}, p)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 10 {
				if err := generate(t, h, []string{"a", "b", "c", "talk"}[(i+n*n)%4]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most > 6*gib || len(p.asked()) != 160 {
		t.Errorf("%d GiB at most, %d calls", most/gib, len(p.asked()))
	}
}
