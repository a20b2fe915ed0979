package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

const (
	modelKey = "llm/model/"

	// openAfter failures in a row a model is left alone for openFor, and is then
	// tried once; a trial that has not ended after probeFor counts as given up.
	openAfter = 5
	openFor   = 30 * time.Second
	probeFor  = 5 * time.Minute

	// latest is how much the latest call weighs in the moving averages.
	latest = 0.2
)

// A record is how a model did. The zero value is a model that was never asked.
type record struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Calls counts the attempts, and Failures those of them that failed and showed
	// that the model does not work.
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
	// Success and LatencyMS are exponentially weighted moving averages: of 1 for an
	// attempt that succeeded and 0 for one that failed, and of how long those that
	// succeeded took.
	Success   float64 `json:"success"`
	LatencyMS float64 `json:"latency_ms"`
	// Ratio is how many tokens a question really has for each that is estimated
	// from its bytes, a moving average; 0 when it is not known.
	Ratio float64 `json:"ratio,omitempty"`
	// Row counts the failures since the last success. From openAfter on, OpenUntil
	// is until when the model is left alone, and Probing until when somebody tries
	// it. RestUntil is how long its provider wants to be left alone. All are Unix
	// milliseconds; 0 is never.
	Row       int   `json:"row,omitempty"`
	OpenUntil int64 `json:"open_until,omitempty"`
	Probing   int64 `json:"probing,omitempty"`
	RestUntil int64 `json:"rest_until,omitempty"`
	// Last is the last failure.
	Last string `json:"last,omitempty"`
}

// ratio is Ratio, or 1.
func (r record) ratio() float64 {
	if r.Ratio == 0 {
		return 1
	}
	return r.Ratio
}

// ailing reports whether a class of failure shows that the model does not work.
func ailing(c provider.Class) bool {
	return c == provider.ClassUnavailable || c == provider.ClassTimeout || c == provider.ClassInternal
}

// open is how long the model is still left alone; 0 when it can be asked.
func (r record) open(now time.Time) time.Duration {
	until := max(r.OpenUntil, r.Probing)
	if r.OpenUntil == 0 || until <= now.UnixMilli() {
		return 0
	}
	return time.Duration(until-now.UnixMilli()) * time.Millisecond
}

// rest is how long its provider still wants to be left alone.
func (r record) rest(now time.Time) time.Duration {
	return time.Duration(max(r.RestUntil-now.UnixMilli(), 0)) * time.Millisecond
}

// An outcome is how an attempt ended.
type outcome struct {
	class      provider.Class // empty for success
	message    string
	took       time.Duration
	retryAfter time.Duration
	estimated  int // tokens of the question, without the ratio
	real       int // tokens of the question; 0 when the provider did not tell
}

// after is the record after another attempt.
func (r record) after(o outcome, now time.Time) record {
	first := r.Calls == 0
	r.Calls++
	r.Probing = 0
	if o.retryAfter > 0 {
		r.RestUntil = now.Add(o.retryAfter).UnixMilli()
	}
	switch {
	case o.class == "":
		r.Row, r.OpenUntil = 0, 0
		r.Success = average(r.Success, 1, first)
		r.LatencyMS = average(r.LatencyMS, float64(o.took.Microseconds())/1000, r.LatencyMS == 0)
		r.Ratio = ratioAfter(r.Ratio, o)
	case ailing(o.class):
		r.Failures++
		r.Row++
		r.Last = string(o.class) + ": " + line(o.message)
		r.Success = average(r.Success, 0, first)
		if r.Row >= openAfter {
			r.OpenUntil = now.Add(openFor).UnixMilli()
		}
	}
	return r
}

// average is a moving average after another value.
func average(old, value float64, first bool) float64 {
	if first {
		return value
	}
	return old + latest*(value-old)
}

// ratioAfter is kept between a quarter and four, so that one odd count does not
// spoil the estimates.
func ratioAfter(old float64, o outcome) float64 {
	if o.real <= 0 || o.estimated <= 0 {
		return old
	}
	seen := min(max(float64(o.real)/float64(o.estimated), 0.25), 4)
	return average(old, seen, old == 0)
}

// history keeps the records: those of this process in memory, written by save.
type history struct {
	kv store.KV

	mu     sync.Mutex
	loaded bool
	known  map[Ref]record
	since  map[Ref]record // what Calls and Failures count since the last save
}

// get is the record of a model.
func (h *history) get(ctx context.Context, ref Ref) record {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load(ctx)
	return h.known[ref]
}

// load reads what is in the store, once. What cannot be read is learnt again.
func (h *history) load(ctx context.Context) {
	if h.loaded {
		return
	}
	h.loaded, h.known, h.since = true, map[Ref]record{}, map[Ref]record{}
	entries, err := h.kv.List(context.WithoutCancel(ctx), modelKey)
	if err != nil {
		return
	}
	for _, e := range entries {
		var r record
		if json.Unmarshal(e.Value, &r) == nil {
			h.known[Ref{r.Provider, r.Model}] = r
		}
	}
}

// enter lets an attempt through to a model, or says how long it is still left alone.
func (h *history) enter(ctx context.Context, ref Ref) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load(ctx)
	now, r := time.Now(), h.known[ref]
	if wait := r.open(now); wait > 0 {
		return wait
	}
	if r.OpenUntil != 0 {
		r.Probing = now.Add(probeFor).UnixMilli()
		h.known[ref] = r
	}
	return 0
}

// leave counts how an attempt ended.
func (h *history) leave(ctx context.Context, ref Ref, o outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load(ctx)
	before := h.known[ref]
	r := before.after(o, time.Now())
	r.Provider, r.Model = ref.Provider, ref.Model
	h.known[ref] = r
	s := h.since[ref]
	s.Calls += r.Calls - before.Calls
	s.Failures += r.Failures - before.Failures
	h.since[ref] = s
}

// save writes what changed. What other processes counted is added to.
func (h *history) save(ctx context.Context) error {
	h.mu.Lock()
	changed := h.since
	h.since = map[Ref]record{}
	h.mu.Unlock()
	var errs []error
	for ref, s := range changed {
		errs = append(errs, change(ctx, h.kv, modelKey+digest(ref.String()), func(r *record) {
			now := h.get(ctx, ref)
			now.Calls, now.Failures = r.Calls+s.Calls, r.Failures+s.Failures
			now.OpenUntil = max(now.OpenUntil, 0)
			*r = now
		}))
	}
	return errors.Join(errs...)
}

// digest is a key for any text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// change changes a JSON value in the store by compare-and-set. A value that cannot
// be read counts as none.
func change[T any](ctx context.Context, kv store.KV, key string, fn func(*T)) error {
	for range 50 {
		var v T
		e, err := kv.Get(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			e.Revision = store.MustNotExist
		case err != nil:
			return err
		default:
			if json.Unmarshal(e.Value, &v) != nil {
				var zero T
				v = zero
			}
		}
		fn(&v)
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if _, err = kv.Put(ctx, key, b, e.Revision); err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("change %s: %w", key, store.ErrConflict)
}

// saveAfter is how long what was learnt waits to be written, together with what is
// learnt meanwhile. A crash forgets it; budgets do not wait.
const saveAfter = time.Second

// A saver calls save some time after it was wanted.
type saver struct {
	save func(context.Context) error

	mu    sync.Mutex
	timer *time.Timer
	ended bool
	busy  sync.WaitGroup
}

// want has save called soon.
func (s *saver) want() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil || s.ended {
		return
	}
	s.busy.Add(1)
	s.timer = time.AfterFunc(saveAfter, func() {
		defer s.busy.Done()
		s.mu.Lock()
		s.timer = nil
		s.mu.Unlock()
		s.save(context.Background()) // save writes its errors to the log
	})
}

// end saves what is there, and waits.
func (s *saver) end() error {
	s.mu.Lock()
	s.ended = true
	if s.timer != nil && s.timer.Stop() {
		s.busy.Done()
	}
	s.timer = nil
	s.mu.Unlock()
	s.busy.Wait()
	return s.save(context.Background())
}

// save writes what was learnt and used.
func (r *Router) save(ctx context.Context) error {
	err := errors.Join(r.history.save(ctx), r.usage.save(ctx))
	if err != nil {
		r.log.Warn("what models did is not kept", "err", err)
		return fmt.Errorf("keep what models did: %w", err)
	}
	return nil
}
