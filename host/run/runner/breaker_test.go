package runner

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/manifests"
)

// circuits are breakers of two processes over one store.
func circuits(t *testing.T, p manifests.CircuitBreaker) (one, two breaker) {
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	b := breaker{cell: cell[circuit]{s.KV(), "b"}, label: "tester@1.0.0", policy: p, lease: time.Minute}
	return b, b
}

var errBroken = errors.New("broken")

// pass enters and leaves with an outcome.
func pass(t *testing.T, b breaker, shown Condition) {
	t.Helper()
	ticket, err := b.enter(t.Context())
	if err != nil {
		t.Fatalf("not let through: %v", err)
	}
	if err := b.leave(t.Context(), ticket, shown, errBroken); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, b breaker) bool {
	t.Helper()
	c, _, err := b.cell.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.say(time.Now()).State == CircuitOpen
}

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, other := circuits(t, manifests.CircuitBreaker{FailureThreshold: 3, RecoveryTimeout: 30, HalfOpenProbes: 2})
		for _, shown := range []Condition{Failing, Failing, Working, Failing, Failing, Unknown} {
			pass(t, b, shown)
		}
		pass(t, other, Failing) // the third in a row, whoever made it
		_, err := b.enter(t.Context())
		e := fault.AsError(err)
		if !errors.Is(err, ErrOpen) || e.Kind != fault.KindLimit || e.RetryAfterMS != 30_000 ||
			!strings.Contains(e.Message, "3 times in a row") || !strings.Contains(e.Message, "broken") || !strings.Contains(e.Way().String(), "in 30s") {
			t.Fatalf("got %+v", e)
		}
		time.Sleep(29 * time.Second)
		if !open(t, b) {
			t.Error("closed too early")
		}
		time.Sleep(time.Second)
		pass(t, b, Working) // the first of two probes
		pass(t, other, Failing)
		if !open(t, b) {
			t.Fatal("a failed probe does not open the circuit again")
		}
		time.Sleep(30 * time.Second)
		pass(t, b, Working)
		pass(t, b, Unknown) // shows nothing
		pass(t, b, Working)
		if _, err := b.cell.kv.Get(t.Context(), "b"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a circuit that is closed leaves something behind: %v", err)
		}
		pass(t, b, Failing)
		pass(t, b, Failing)
		if open(t, b) {
			t.Error("old failures count on")
		}
	})
}

func TestBreakerProbesOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, other := circuits(t, manifests.CircuitBreaker{FailureThreshold: 1, RecoveryTimeout: 10, HalfOpenProbes: 1})
		late, err := b.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pass(t, b, Failing)
		time.Sleep(10 * time.Second)
		ticket, err := b.enter(t.Context())
		if err != nil || ticket != probing {
			t.Fatalf("got %v, %v", ticket, err)
		}
		if _, err := other.enter(t.Context()); !errors.Is(err, ErrOpen) {
			t.Errorf("a second probe: %v", err)
		}
		if err := b.leave(t.Context(), late, Working, nil); err != nil || !open(t, b) {
			t.Errorf("a call from before the circuit opened closes it: %v", err)
		}
		time.Sleep(time.Minute) // the one who probes has died
		pass(t, other, Working)
		if _, err := b.enter(t.Context()); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestCircuitSays(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000).UTC()
	for _, row := range []struct {
		circuit
		want Circuit
	}{
		{circuit{}, Circuit{State: CircuitClosed}},
		{circuit{Failures: 2, Last: "x"}, Circuit{State: CircuitClosed, Failures: 2, Last: "x"}},
		{circuit{Failures: 3, OpenUntil: 1_000_500}, Circuit{State: CircuitOpen, Failures: 3, RetryAt: now.Add(500 * time.Millisecond)}},
		{circuit{Failures: 3, OpenUntil: 999_999}, Circuit{State: CircuitHalfOpen, Failures: 3}},
		{circuit{Failures: 3, OpenUntil: 999_999, Probing: 1_001_000}, Circuit{State: CircuitOpen, Failures: 3, RetryAt: now.Add(time.Second)}},
	} {
		if got := row.say(now); got != row.want {
			t.Errorf("%+v: got %+v", row.circuit, got)
		}
	}
}
