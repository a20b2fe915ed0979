package runner

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

func TestPausesGrowAsTheyShould(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[manifests.Backoff][]float64{
		manifests.BackoffConstant:    {2, 2, 2, 2, 2},
		manifests.BackoffLinear:      {2, 4, 6, 8, 10},
		manifests.BackoffExponential: {2, 4, 8, 10, 10},
	} {
		most := func(n int64) int64 { return n - 1 }
		p := &pauses{policy: manifests.RetryConfig{BackoffStrategy: strategy, BaseDelay: 2, MaxDelay: 10}, draw: most}
		for range 2 { // the second time after Reset
			var got []float64
			for range want {
				got = append(got, p.NextBackOff().Seconds())
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %v, want %v", strategy, got, want)
			}
			p.Reset()
		}
		if d := p.longest(1000); d > 10*time.Second || d <= 0 {
			t.Errorf("%s: the thousandth pause is %s", strategy, d)
		}
	}
}

// TestPausesAreRandom: full jitter is anything from nothing to the longest.
func TestPausesAreRandom(t *testing.T) {
	t.Parallel()
	for _, part := range []int64{0, 1, 3} {
		p := &pauses{policy: manifests.RetryConfig{BaseDelay: 3, MaxDelay: 3}, draw: func(n int64) int64 { return n / 3 * part }}
		if got, want := p.NextBackOff(), time.Duration(part)*time.Second; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

var errAgain = errors.New("again")

// trial is a retry with pauses of a second whose attempts end with errors in order.
func trial(attempts int, left time.Duration, ends ...error) (retry, work, *int) {
	made := 0
	waits := &pauses{policy: manifests.RetryConfig{BackoffStrategy: manifests.BackoffConstant, BaseDelay: 1, MaxDelay: 1}, draw: func(n int64) int64 { return n - 1 }}
	r := retry{attempts: attempts, pauses: waits, left: left, again: func(err error) bool { return errors.Is(err, errAgain) }, waits: func(time.Duration) {}}
	return r, func(context.Context) error {
		made++
		return ends[made-1]
	}, &made
}

func TestRetry(t *testing.T) {
	t.Parallel()
	forGood := errors.New("for good")
	for _, row := range []struct {
		name     string
		attempts int
		left     time.Duration
		ends     []error
		want     error
		made     int
		took     time.Duration
	}{
		{"success", 3, 0, []error{nil}, nil, 1, 0},
		{"success after failures", 3, 0, []error{errAgain, errAgain, nil}, nil, 3, 2 * time.Second},
		{"failures only", 3, 0, []error{errAgain, errAgain, errAgain}, errAgain, 3, 2 * time.Second},
		{"a failure for good", 3, 0, []error{errAgain, forGood}, forGood, 2, time.Second},
		{"for good at once", 3, 0, []error{forGood}, forGood, 1, 0},
		{"for good at last", 2, 0, []error{errAgain, forGood}, forGood, 2, time.Second},
		{"no time for another pause", 9, 1500 * time.Millisecond, []error{errAgain, errAgain}, errAgain, 2, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w, made := trial(row.attempts, row.left, row.ends...)
			start := time.Now()
			if err := r.do(t.Context(), w); err != row.want {
				t.Errorf("%s: got %v, want %v", row.name, err, row.want)
			}
			if *made != row.made || time.Since(start) != row.took {
				t.Errorf("%s: %d attempts in %s", row.name, *made, time.Since(start))
			}
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w, made := trial(3, 0, errAgain, errAgain, errAgain)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := r.do(ctx, w); !errors.Is(err, context.DeadlineExceeded) || *made != 2 || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("%v after %d attempts in %s", err, *made, time.Since(start))
		}
	})
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for grants, want := range map[string]bool{
		"": true, "fs.read:/data/**": true, "clock": true, "random": true, "secret:token": true,
		"http:GET https://a.example/*": true, "http:GET,HEAD,OPTIONS https://a.example/*": true,
		"http:GET,POST https://a.example/*": false, "http:* https://a.example/*": false, "http:DELETE https://a.example/*": false,
		"fs.write:/data/**": false, "kv": false, "notify": false, "skill:other": false, "model:fast": false,
	} {
		a := &run{manifest: &manifests.Manifest{Type: manifests.KindCodeInline}}
		if grants != "" {
			a.granted = capability.NewSet(capability.MustParse("fs.read:/etc/hosts"), capability.MustParse(grants))
		}
		if got := a.repeatable(); got != want {
			t.Errorf("%q: %v", grants, got)
		}
		for _, promise := range []manifests.Tool{{Idempotent: true}, {ReadOnly: true}} {
			a.tool = promise
			if !a.repeatable() {
				t.Errorf("%q: not repeatable with %+v", grants, promise)
			}
		}
	}
	if (&run{manifest: &manifests.Manifest{Type: manifests.KindCodeSession}}).repeatable() {
		t.Error("a session remembers what it did")
	}
}
