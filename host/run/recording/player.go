package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// ErrDiverged ends a guest that does something else than the recorded call did.
var ErrDiverged = errors.New("the guest does something else than the recorded call did")

// A Divergence is where a replay stops being the recorded call.
type Divergence struct {
	// Event is the number of the event, from 1; one more than there are when the
	// guest asks for more than the recorded call did, and 0 when what differs is
	// how it ended.
	Event int `json:"event"`
	// What is in words what differs; Expected and Got are the two sides.
	What     string `json:"what"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// A Player shows a guest what the recorded call saw: give it to a call as both
// its tapes. It has nothing real behind it. The first thing that the guest does
// differently ends it. It is safe for concurrent use, and good for one call.
type Player struct {
	r *Recording

	mu       sync.Mutex
	next     int // event
	diverged *Divergence
}

var (
	_ hostfn.Tape = (*Player)(nil)
	_ wasi.Tape   = (*Player)(nil)
)

// Play makes a Player.
func Play(r *Recording) *Player { return &Player{r: r} }

// Divergence returns the first thing the guest did differently, or, when the call
// is over, did not do; nil when there is none.
func (p *Player) Divergence() *Divergence {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.diverged == nil && p.next < len(p.r.Events) {
		return &Divergence{p.next + 1, "the guest ended before it asked for all that the recorded call did", p.r.Events[p.next].String(), "nothing"}
	}
	return p.diverged
}

// take returns the next event if it is what the guest asks for, which got says in
// words.
func (p *Player) take(got Event, same func(want Event) bool) (Event, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.diverged != nil:
		return Event{}, false
	case p.next >= len(p.r.Events):
		p.diverged = &Divergence{p.next + 1, "the guest asks for more than the recorded call did", "nothing", got.String()}
		return Event{}, false
	}
	want := p.r.Events[p.next]
	if !same(want) {
		expected, asked := contrast(want, got)
		p.diverged = &Divergence{p.next + 1, "the guest asks for something else than the recorded call did", expected, asked}
		return Event{}, false
	}
	p.next++
	return want, true
}

// HostCall answers as the recorded call was answered.
func (p *Player) HostCall(ctx context.Context, c hostfn.HostCall, act func(context.Context) hostfn.Answer) (hostfn.Answer, error) {
	if c.Own {
		return act(ctx), nil
	}
	got := Event{Call: &Call{Name: c.Name, Request: c.Meta, Body: c.Body}}
	e, ok := p.take(got, func(want Event) bool {
		w := want.Call
		return w != nil && w.Name == c.Name && bytes.Equal(w.Request, c.Meta) && bytes.Equal(w.Body, c.Body)
	})
	if !ok {
		return hostfn.Answer{}, ErrDiverged
	}
	return hostfn.Answer{Meta: []byte(e.Call.Answer), Body: e.Call.AnswerBody}, nil
}

// Clock returns the recorded reading of a clock.
func (p *Player) Clock(id uint32, _ func() int64) (int64, wasi.Errno) {
	got := Event{Clock: &Clock{ID: clockNames[id]}}
	e, ok := p.take(got, func(want Event) bool { return want.Clock != nil && want.Clock.ID == clockNames[id] })
	if !ok {
		return 0, wasi.NotRecorded
	}
	return e.Clock.Now, wasi.Success
}

// Random gives what was drawn.
func (p *Player) Random(b []byte, _ func([]byte)) wasi.Errno {
	asked := Bytes(b)
	e, ok := p.take(Event{Random: &asked}, func(want Event) bool { return want.Random != nil && len(*want.Random) == len(b) })
	if !ok {
		return wasi.NotRecorded
	}
	copy(b, *e.Random)
	return wasi.Success
}

// Waits reports false: nothing is waited for.
func (p *Player) Waits() bool { return false }

// Files shows the recorded file tree.
func (p *Player) Files(_ func(func(*jail.QuotaError)) wasi.FS, refused func(*jail.QuotaError)) wasi.FS {
	if p.r.Files == nil {
		return nil
	}
	return &tree{d: &filePlayer{p, refused}}
}

// filePlayer tells what came of what is asked.
type filePlayer struct {
	player  *Player
	refused func(*jail.QuotaError)
}

func (p *filePlayer) preopens() []wasi.Preopen { return p.player.r.preopens() }

func (r *Recording) preopens() (all []wasi.Preopen) {
	for _, p := range r.Files.Preopens {
		all = append(all, wasi.Preopen{Path: p.Path, Only: p.Only})
	}
	return all
}

func (p *filePlayer) do(ask FileAsk, _ func() (wasi.File, FileResult)) (wasi.File, FileResult) {
	if ask.Op == opClose && !p.player.closes(ask.Handle) {
		return nil, FileResult{} // closing was kept only where it went wrong
	}
	e, ok := p.player.take(Event{File: &File{FileAsk: ask}}, func(want Event) bool { return want.File != nil && want.File.same(ask) })
	if !ok {
		return nil, failedWith(wasi.NotRecorded)
	}
	tellQuotas(e.File.Result.Quotas, p.refused)
	return nil, e.File.Result
}

func tellQuotas(all []Quota, refused func(*jail.QuotaError)) {
	for _, q := range all {
		refused(&jail.QuotaError{What: q.What, Limit: q.Limit})
	}
}

// closes reports whether the next event is that a file did not close.
func (p *Player) closes(handle uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= len(p.r.Events) {
		return false
	}
	f := p.r.Events[p.next].File
	return f != nil && f.Op == opClose && f.Handle == handle
}

// same reports whether two operations ask for the same.
func (f FileAsk) same(other FileAsk) bool {
	return f.Op == other.Op && f.Path == other.Path && f.To == other.To && f.Handle == other.Handle &&
		slices.Equal(f.Flags, other.Flags) && f.Offset == other.Offset && f.Length == other.Length && bytes.Equal(f.Data, other.Data) &&
		sameTime(f.Accessed, other.Accessed) && sameTime(f.Modified, other.Modified)
}

func sameTime(a, b *int64) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// contrast says in words what two different events ask, and, where the words are
// the same, around which byte they differ.
func contrast(want, got Event) (a, b string) {
	if a, b = want.String(), got.String(); a != b {
		return a, b
	}
	for _, pair := range differing(want, got) {
		at := 0
		for at < min(len(pair[0]), len(pair[1])) && pair[0][at] == pair[1][at] {
			at++
		}
		if at < max(len(pair[0]), len(pair[1])) {
			return fmt.Sprintf("%s; at byte %d: %s", a, at, window(pair[0], at)), fmt.Sprintf("%s; at byte %d: %s", b, at, window(pair[1], at))
		}
	}
	return a, b
}

// differing are the parts of two events that may be too long to be told whole.
func differing(want, got Event) [][2]string {
	switch {
	case want.Call != nil && got.Call != nil:
		return [][2]string{{string(want.Call.Request), string(got.Call.Request)}, {string(want.Call.Body), string(got.Call.Body)}}
	case want.File != nil && got.File != nil:
		return [][2]string{{want.File.Path, got.File.Path}, {string(want.File.Data), string(got.File.Data)}}
	}
	return nil
}

// window is a part of a text.
func window(text string, at int) string {
	const before, behind = 20, 60
	return strings.ToValidUTF8(text[max(0, at-before):min(len(text), at+behind)], "\uFFFD")
}

// maxWords is how much of an event is told in words, in bytes.
const maxWords = 300

// String says in words what is asked.
func (e Event) String() string {
	switch {
	case e.Call != nil:
		return e.Call.String()
	case e.Clock != nil:
		return "read the " + e.Clock.ID + " clock"
	case e.Random != nil:
		return fmt.Sprintf("draw %d random bytes", len(*e.Random))
	case e.File != nil:
		return e.File.String()
	}
	return "nothing"
}

// String says in words what is asked.
func (c *Call) String() string {
	text := c.Name + " " + shorten(string(c.Request))
	if len(c.Body) == 0 {
		return text
	}
	return fmt.Sprintf("%s with %d bytes: %s", text, len(c.Body), shorten(string(c.Body)))
}

// String says in words what is asked.
func (f FileAsk) String() string {
	text := "file " + f.Op
	if f.Path != "" {
		text += " " + shorten(f.Path)
	}
	if f.To != "" {
		text += " to " + shorten(f.To)
	}
	if f.Handle > 0 {
		text += fmt.Sprintf(" of file %d", f.Handle)
	}
	if len(f.Flags) > 0 {
		text += " (" + strings.Join(f.Flags, ", ") + ")"
	}
	switch f.Op {
	case opRead:
		text += fmt.Sprintf(", %d bytes at %d", f.Length, f.Offset)
	case opWrite, opAppend:
		text += fmt.Sprintf(", %d bytes at %d: %s", len(f.Data), f.Offset, shorten(string(f.Data)))
	}
	return text
}

// shorten cuts a text.
func shorten(text string) string {
	if len(text) <= maxWords {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:maxWords], "\uFFFD") + "…"
}
