package author

import (
	"context"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// A BenchRequest says which call is measured.
type BenchRequest struct {
	// Call is what is called, by who asks.
	Call invoke.Invocation
	// Calls is how many calls are made with an instance that was used before; a tenth of
	// it, and one at least, are made with one made anew. With Time, calls are made for
	// that time instead.
	Calls int
	Time  time.Duration
}

// A Spread is the distribution of a time in milliseconds.
type Spread struct {
	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
	Least  float64 `json:"least_ms"`
}

func spreadOf(ms []float64) Spread {
	if len(ms) == 0 {
		return Spread{}
	}
	ms = slices.Sorted(slices.Values(ms))
	return Spread{ms[len(ms)/2], ms[min(len(ms)*95/100, len(ms)-1)], ms[0]}
}

// A Series is what calls of one sort took.
type Series struct {
	Calls int `json:"calls"`
	// Call is the time of a whole call, of which Instantiate is until the tool began
	// to run, and Reset until the instance was back at its snapshot.
	Call        Spread `json:"call"`
	Instantiate Spread `json:"instantiate"`
	Reset       Spread `json:"reset"`

	call, instantiate, reset []float64
}

func (s *Series) add(r task.Result) {
	s.Calls++
	s.call = append(s.call, r.DurationMS)
	s.instantiate = append(s.instantiate, float64(r.Figures.InstantiateNS)/1e6)
	s.reset = append(s.reset, float64(r.Figures.ResetNS)/1e6)
}

func (s *Series) conclude() {
	s.Call, s.Instantiate, s.Reset = spreadOf(s.call), spreadOf(s.instantiate), spreadOf(s.reset)
}

// Benched is what calls of a tool take.
type Benched struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// LoadMS is what compiling the module, or reading what was compiled before,
	// took, and FirstMS the first call with it.
	LoadMS  float64 `json:"load_ms"`
	FirstMS float64 `json:"first_ms"`
	// SnapshotMS is what taking the snapshot took; 0 when none was.
	SnapshotMS float64 `json:"snapshot_ms"`
	// Fresh are calls with an instance made anew, Warm those with one that was used
	// before. Where each call has to get a new instance, Warm has no calls.
	Fresh Series `json:"fresh"`
	Warm  Series `json:"warm"`
	// Fuel is that of a call, the least and the most, and PeakMemoryBytes the most.
	FuelLeast       uint64 `json:"fuel_least"`
	FuelMost        uint64 `json:"fuel_most"`
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	DirtyPages      uint64 `json:"dirty_pages"`
	HostCalls       int    `json:"host_calls"`
	OutputBytes     int    `json:"output_bytes"`
	Strategy        string `json:"reset_strategy,omitempty"`
}

// Bench makes a call again and again, and says what that takes. They are calls like any
// other, with their grants and effects. The first that fails ends it, with its error.
func (s *Service) Bench(ctx context.Context, by approval.Principal, r BenchRequest) (Benched, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Benched{}, err
	}
	h, err := s.parts.Home(ctx)
	if err != nil {
		return Benched{}, err
	}
	b := bencher{invoke: h.Invoke, request: r}
	b.request.Call.By, b.request.Call.NoCache = by, true
	err = b.run(ctx)
	b.out.Fresh.conclude()
	b.out.Warm.conclude()
	return b.out, err
}

// A bencher makes calls.
type bencher struct {
	invoke  *invoke.Service
	request BenchRequest
	out     Benched
}

// run makes the first call, those with an instance made anew, and those with one
// that was used.
func (b *bencher) run(ctx context.Context) error {
	first, err := b.once(ctx, false)
	if err != nil {
		return err
	}
	b.out.Skill, b.out.Tool = first.Skill, first.Tool
	b.out.LoadMS, b.out.FirstMS = float64(first.Figures.CompileNS)/1e6, first.DurationMS
	if err := b.repeat(ctx, max(b.request.Calls/10, 1), b.request.Time/10, true); err != nil {
		return err
	}
	return b.repeat(ctx, b.request.Calls, b.request.Time, false)
}

// repeat makes calls, until there are so many or the time is over.
func (b *bencher) repeat(ctx context.Context, calls int, limit time.Duration, fresh bool) error {
	end := time.Now().Add(limit)
	for n := 0; limit > 0 && (n == 0 || time.Now().Before(end)) || limit == 0 && n < calls; n++ {
		r, err := b.once(ctx, fresh)
		if err != nil {
			return err
		}
		b.out.SnapshotMS = max(b.out.SnapshotMS, float64(r.Figures.SnapshotNS)/1e6)
		switch {
		case fresh:
			b.out.Fresh.add(r)
		case r.Figures.Pooled:
			b.out.Warm.add(r)
			b.out.Strategy = r.Figures.ResetStrategy
		}
	}
	return nil
}

// once makes one call. Grants that are good for a number of calls count each.
func (b *bencher) once(ctx context.Context, fresh bool) (task.Result, error) {
	call := b.request.Call
	call.Fresh = fresh
	a, err := b.invoke.Invoke(ctx, call)
	r := a.Result
	if err != nil {
		return r, err
	}
	if !r.OK {
		return r, r.Error
	}
	f := r.Figures
	b.out.FuelMost, b.out.PeakMemoryBytes = max(b.out.FuelMost, r.Fuel), max(b.out.PeakMemoryBytes, r.PeakMemoryBytes)
	if b.out.FuelLeast == 0 || r.Fuel < b.out.FuelLeast {
		b.out.FuelLeast = r.Fuel
	}
	b.out.DirtyPages, b.out.HostCalls, b.out.OutputBytes = max(b.out.DirtyPages, f.DirtyPages), f.HostCalls, len(r.Raw)
	return r, ctx.Err()
}
