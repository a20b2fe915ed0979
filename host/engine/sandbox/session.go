package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
)

// MaxSessionBytes is how much memory a session may change.
const MaxSessionBytes = 256 << 20

// A Session is what calls of one module leave to the next: memory and globals,
// as they differ from the module's snapshot. Everything else is new for each
// call, as ever: budgets, files that are open, Extism blocks. Between calls it
// holds no instance.
//
// A call that fails leaves nothing: the session stays as it was before. A guest
// that reports an error of its own has not failed in this sense.
//
// It is safe for concurrent use; calls wait for each other.
type Session struct {
	module *Module
	turn   chan struct{} // holds one token while nobody calls
	state  *sessionState // nil before the first call
}

// sessionState is the difference to a snapshot.
type sessionState struct {
	base    digest // of the snapshot
	size    uint64 // of memory, in bytes
	mark    wasi.Mark
	globals []uint64
	pages   []uint32 // numbers of the pages that differ, ascending
	data    []byte   // their contents, hostPage bytes each
}

// OpenSession begins a session with no calls so far. The error is [ErrSession]
// for modules whose state cannot be told apart from an instance.
func (m *Module) OpenSession() (*Session, error) {
	if why := m.info.Pinned; len(why) > 0 {
		return nil, fmt.Errorf("open session: %w: the module has state that cannot be kept: %s", ErrSession, why[0])
	}
	if m.runtime.strategy == StrategyNone {
		return nil, fmt.Errorf("open session: %w: the runtime takes no snapshots", ErrSession)
	}
	s := &Session{module: m, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s, nil
}

// Call is [Module.Call], going on from where the last call left memory and
// globals. Call.Restart is refused with [ErrSession], and so are files in other
// directories than those the session began with.
func (s *Session) Call(ctx context.Context, c Call) (Result, error) {
	if c.Restart {
		return Result{}, fmt.Errorf("call %s: %w: a session does not start anew", c.Export, ErrSession)
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return Result{}, fmt.Errorf("call %s: wait for the session's last call: %w", c.Export, context.Cause(ctx))
	}
	defer func() { s.turn <- struct{}{} }()
	c.session = s
	return s.module.Call(ctx, c)
}

// enter brings an instance from its snapshot to where the session is.
func (s *Session) enter(in *instance) error {
	if in.at == nil {
		return fmt.Errorf("%w: the module has no snapshot to go on from: its initialisation calls the host, or its memory is above the limit", ErrSession)
	}
	if s.state == nil {
		return nil
	}
	if s.state.base != in.at.digest() {
		return fmt.Errorf("%w: it began in other surroundings: another version of the module or engine, or other directories", ErrSession)
	}
	return in.apply(s.state)
}

// apply writes a state over an instance that is at its snapshot.
func (in *instance) apply(s *sessionState) error {
	m := &in.linear.memory
	if s.size < m.size {
		return ErrSessionDamaged
	}
	if !in.growTo(s.size) {
		e := in.memoryError()
		e.cause = fmt.Errorf("the session has %s", byteCount(s.size))
		return e
	}
	memory := m.bytes(m.size)
	for i, page := range s.pages {
		copy(memory[int(page)*hostPage:], s.data[i*hostPage:][:hostPage])
	}
	in.setGlobals(s.globals)
	if in.module.wasi {
		in.wasi.Resume(s.mark)
	}
	return nil
}

// leave takes the state a call has left, unless it failed.
func (s *Session) leave(in *instance, err error) error {
	if err != nil && !errors.Is(err, ErrGuest) || in.exited {
		return err
	}
	next, failed := in.difference()
	if failed != nil {
		return fmt.Errorf("keep the session: %w", failed)
	}
	s.state = next
	return err
}

// difference compares an instance with its snapshot.
func (in *instance) difference() (*sessionState, error) {
	m := &in.linear.memory
	s := &sessionState{base: in.at.digest(), size: m.size, mark: in.wasi.Mark(), globals: in.globalValues()}
	spans, err := in.at.image.written(m, in.module.runtime.strategy)
	if err != nil {
		return nil, err
	}
	memory, first := m.bytes(m.size), in.at.image.bytes
	for _, span := range spans {
		for at := span.from; at < span.to; at += hostPage {
			page := memory[at : at+hostPage]
			if at < len(first) && bytes.Equal(page, first[at:at+hostPage]) || at >= len(first) && isZero(page) {
				continue
			}
			if len(s.data) >= MaxSessionBytes {
				return nil, fmt.Errorf("%w: it differs from the snapshot in more than %s", ErrSession, byteCount(MaxSessionBytes))
			}
			s.pages = append(s.pages, uint32(at/hostPage))
			s.data = append(s.data, page...)
		}
	}
	return s, nil
}

// span is a part of a memory.
type span struct{ from, to int }

// written returns the parts of a memory that may differ from the image.
func (i *image) written(m *linearMemory, s Strategy) ([]span, error) {
	if m.mapped && s != StrategyMadvise {
		return writtenSpans(m.reserved[:m.size])
	}
	return []span{{0, int(m.size)}}, nil
}

// Bytes is how much the session holds.
func (s *Session) Bytes() int {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	if s.state == nil {
		return 0
	}
	return len(s.state.data) + 4*len(s.state.pages) + 8*len(s.state.globals)
}
