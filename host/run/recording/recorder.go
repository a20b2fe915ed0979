package recording

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// A Recorder keeps what a guest sees of the world: give it to a call as both its
// tapes. It keeps the last attempt at the call. It is safe for concurrent use.
type Recorder struct {
	mu      sync.Mutex
	r       *Recording // nil before the first attempt
	ended   bool
	content int
	over    bool
}

var (
	_ hostfn.Tape = (*Recorder)(nil)
	_ wasi.Tape   = (*Recorder)(nil)
)

// ErrNothing means that no guest ran: the call was refused, or answered from what
// was kept.
var ErrNothing = errors.New("nothing ran that could be recorded")

// NewRecorder makes a Recorder that has nothing yet.
func NewRecorder() *Recorder { return &Recorder{} }

// Begin starts to record an attempt, and forgets the one before. head is what is
// known before the guest runs.
func (r *Recorder) Begin(head Recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	attempt := 1
	if r.r != nil {
		attempt = r.r.Attempt + 1
	}
	head.Format, head.Attempt, head.Events = Format, attempt, []Event{}
	head.RecordedAt = time.Now().UTC().Truncate(time.Millisecond)
	head.Input = bytes.Clone(head.Input)
	r.r, r.ended, r.content, r.over = &head, false, 0, false
}

// End says how the attempt ended.
func (r *Recorder) End(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.r == nil {
		return
	}
	o.Output, o.Stderr = bytes.Clone(o.Output), bytes.Clone(o.Stderr)
	r.r.Outcome, r.ended = o, true
	if o.Ending.Clock && r.r.Inexact == "" {
		r.r.Inexact = "the clock ended the call, or whoever made it: where exactly does not follow from the recording"
	}
}

// Recording returns what was recorded. Errors: [ErrNothing], [ErrTooLarge].
func (r *Recorder) Recording() (*Recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.r == nil || !r.ended:
		return nil, ErrNothing
	case r.over:
		return nil, ErrTooLarge
	}
	c := *r.r
	c.Events = slices.Clone(c.Events)
	return &c, nil
}

// reserve keeps a place for an event that is about to happen, so that what
// happens meanwhile comes behind it. It returns -1 when there is no more room.
func (r *Recorder) reserve() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.r == nil || r.over || len(r.r.Events) >= MaxEvents {
		r.over = true
		return -1
	}
	r.r.Events = append(r.r.Events, Event{})
	return len(r.r.Events) - 1
}

// keep fills a place.
func (r *Recorder) keep(at int, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at < 0 || r.over {
		return
	}
	if r.content += e.size(); r.content > MaxContent {
		r.over, r.r.Events = true, nil
		return
	}
	r.r.Events[at] = e
}

// HostCall lets a call act and keeps it, unless its answer follows from the rest.
func (r *Recorder) HostCall(ctx context.Context, c hostfn.HostCall, act func(context.Context) hostfn.Answer) (hostfn.Answer, error) {
	if c.Own {
		return act(ctx), nil
	}
	at := r.reserve()
	kept := Call{Name: c.Name, Request: bytes.Clone(c.Meta), Body: bytes.Clone(c.Body)}
	a := act(ctx)
	kept.Answer, kept.AnswerBody = bytes.Clone(a.Meta), bytes.Clone(a.Body)
	r.keep(at, Event{Call: &kept})
	return a, nil
}

// Clock reads a clock and keeps what it showed.
func (r *Recorder) Clock(id uint32, read func() int64) (int64, wasi.Errno) {
	now := read()
	r.keep(r.reserve(), Event{Clock: &Clock{clockNames[id], now}})
	return now, wasi.Success
}

// Random draws and keeps what was drawn.
func (r *Recorder) Random(b []byte, draw func([]byte)) wasi.Errno {
	draw(b)
	kept := Bytes(bytes.Clone(b))
	r.keep(r.reserve(), Event{Random: &kept})
	return wasi.Success
}

// Waits reports true: while recording, a guest sleeps as ever.
func (r *Recorder) Waits() bool { return true }

// Files keeps what is done to files.
func (r *Recorder) Files(open func(func(*jail.QuotaError)) wasi.FS, refused func(*jail.QuotaError)) wasi.FS {
	if open == nil {
		return nil
	}
	k := &fileKeeper{recorder: r}
	real := open(func(q *jail.QuotaError) {
		k.quotas = append(k.quotas, quotaOf(q))
		refused(q)
	})
	if real == nil {
		return nil
	}
	k.found = real.Preopens()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.r == nil { // no attempt has begun: there is nothing to keep it in
		return real
	}
	r.r.Files = &Tree{Preopens: []Preopen{}}
	for _, p := range k.found {
		r.r.Files.Preopens = append(r.r.Files.Preopens, Preopen{p.Path, p.Only})
	}
	return &tree{d: k, real: real}
}

// fileKeeper keeps what is done to the files of one call.
type fileKeeper struct {
	recorder *Recorder
	found    []wasi.Preopen
	quotas   []Quota // that stood in the way of what is being done
}

func (k *fileKeeper) preopens() []wasi.Preopen { return k.found }

func (k *fileKeeper) do(ask FileAsk, act func() (wasi.File, FileResult)) (wasi.File, FileResult) {
	k.quotas = nil
	at := -1
	if ask.Op != opClose {
		at = k.recorder.reserve()
	}
	ask.Data = bytes.Clone(ask.Data)
	f, told := act()
	if ask.Op == opClose {
		if told.Errno == "" {
			return f, told
		}
		at = k.recorder.reserve()
	}
	kept := told
	kept.Data, kept.Quotas = bytes.Clone(told.Data), k.quotas
	k.recorder.keep(at, Event{File: &File{ask, kept}})
	return f, told
}
