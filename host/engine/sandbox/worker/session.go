package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// A Session is a [sandbox.Session] whose calls are made in worker processes. Between
// calls no process has it: it is here, and each call brings it along.
//
// It is safe for concurrent use; calls wait for each other.
type Session struct {
	module *Module
	turn   chan struct{} // holds one token while nobody calls
	packed []byte        // nil before the first call
}

// OpenSession is [sandbox.Module.OpenSession].
func (m *Module) OpenSession() (*Session, error) {
	if err := m.prepared.HasSessions(); err != nil {
		return nil, err
	}
	s := &Session{module: m, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s, nil
}

// RestoreSession is [sandbox.Module.RestoreSession], but that a session which does not go
// on is found out by its next call.
func (m *Module) RestoreSession(saved []byte) (*Session, error) {
	s, err := m.OpenSession()
	if err == nil {
		s.packed, err = m.prepared.UnsealSession(saved)
	}
	return s, err
}

// Call is [sandbox.Session.Call].
func (s *Session) Call(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	if c.Restart {
		return sandbox.Result{}, fmt.Errorf("call %s: %w: a session does not start anew", c.Export, sandbox.ErrSession)
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return sandbox.Result{}, fmt.Errorf("call %s: wait for the session's last call: %w", c.Export, context.Cause(ctx))
	}
	defer func() { s.turn <- struct{}{} }()
	return s.module.call(ctx, c, s)
}

// keep keeps what a call left, unless it failed.
func (s *Session) keep(packed []byte, err error) {
	if len(packed) > 0 && (err == nil || errors.Is(err, sandbox.ErrGuest)) {
		s.packed = packed
	}
}

// Save is [sandbox.Session.Save]: either kind of runtime can go on with what it returns.
func (s *Session) Save() ([]byte, error) {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	return s.module.prepared.SealSession(s.packed), nil
}

// Bytes is how much the session holds.
func (s *Session) Bytes() int {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	return len(s.packed)
}

// going is how a call of a session is made in the worker: it goes on with what is packed,
// and packs what it left.
func (c *child) going(ctx context.Context, m *call) (got sandbox.Result, packed []byte, err error) {
	var s *sandbox.Session
	if len(m.State) == 0 {
		s, err = c.module.OpenSession()
	} else {
		s, err = c.module.UnpackSession(m.State)
	}
	if err != nil {
		return got, nil, fmt.Errorf("call: %w", err) // as a call's own error
	}
	if got, err = s.Call(ctx, m.Call); err != nil && !errors.Is(err, sandbox.ErrGuest) {
		return got, nil, err
	}
	packed, failed := s.Pack()
	if failed != nil {
		return got, nil, fmt.Errorf("call: %w", failed)
	}
	return got, packed, err
}
