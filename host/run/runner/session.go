package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
)

// inSession reports whether a call goes on with a session. A name of a session
// given to a skill without any says only which grants hold.
func (a *run) inSession() bool {
	return a.call.Session != "" && a.manifest.Type == manifests.KindCodeSession
}

// hasSessions refuses sessions where there can be none.
func (r *Runner) hasSessions(a *run) error {
	switch {
	case !a.inSession():
		return nil
	case r.settings.Sessions == nil || a.call.Target.Origin == registry.OriginPath:
		return fault.Errorf(fault.KindUsage, "%s keeps no sessions: it is not installed", a.call.Target.Label).
			WithHint("install it, or leave out the session")
	case a.call.Tape != nil || a.call.Looks != nil:
		return fault.Errorf(fault.KindUsage, "a call in session %s cannot be recorded: what it goes on with is in no recording", a.call.Session).
			WithHint("record a call without a session")
	}
	return session.CheckName(a.call.Session)
}

// sessioned runs the call in its session, once it is its turn. A call that was made
// from within another one does not wait: others may be waiting for it.
func (r *Runner) sessioned(a *run, next work) work {
	if !a.inSession() {
		return next
	}
	return func(ctx context.Context) (err error) {
		bounds, _ := a.manifest.Sessions()
		wait := a.patience()
		if a.from != nil {
			wait = 0
		}
		start := time.Now()
		turn, err := r.settings.Sessions.Begin(ctx, a.sessionKey(), session.Terms{
			Version: a.manifest.Version, Digest: a.call.Target.Package.Digest(),
			Timeout: duration.OfSeconds(bounds.Seconds), Max: bounds.Max, Persist: bounds.Persist, Discard: bounds.Discard,
		}, wait)
		a.queued += time.Since(start)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, turn.Done()) }()
		a.turn = turn
		a.result.Session = &task.Session{Name: a.call.Session, Calls: turn.Calls(), After: turn.After(), ExpiresAt: turn.Ends().UTC()}
		return next(ctx)
	}
}

func (a *run) sessionKey() session.Key {
	return session.Key{Namespace: owner(a.call.Target), Owner: a.call.Caller, Name: a.call.Session}
}

// conversation is a session of a module that runs here, or in worker processes. Each can
// go on with what the other has saved.
type conversation interface {
	Call(context.Context, sandbox.Call) (sandbox.Result, error)
	Save() ([]byte, error)
	Bytes() int
}

// goOn makes a call that goes on with the session, and keeps what it left. A call
// that fails leaves nothing.
func (a *attempt) goOn(ctx context.Context, c sandbox.Call) (sandbox.Result, error) {
	s, err := a.resume()
	if err != nil {
		return sandbox.Result{}, a.cannotGoOn(err)
	}
	res, err := s.Call(ctx, c)
	if err != nil && !errors.Is(err, sandbox.ErrGuest) {
		return res, a.cannotGoOn(err)
	}
	if kept := a.keepSession(ctx, s); kept != nil {
		return res, kept
	}
	return res, err
}

// resume brings the session to where the last call left it.
func (a *attempt) resume() (conversation, error) {
	switch m := a.module.(type) {
	case *sandbox.Module:
		return resume(a.turn, m.OpenSession, m.RestoreSession)
	case *worker.Module:
		return resume(a.turn, m.OpenSession, m.RestoreSession)
	}
	return nil, fmt.Errorf("open session: %w", sandbox.ErrSession)
}

// resume goes on with the session that the last call left in memory, if it ran where this
// one does, or else with what was saved.
func resume[S conversation](t *session.Turn, open func() (S, error), restore func([]byte) (S, error)) (s S, err error) {
	saved := t.State()
	switch live := t.Live().(type) {
	case S:
		return live, nil
	case conversation: // a policy or a setting says otherwise since
		if saved, err = live.Save(); err != nil {
			return s, err
		}
	}
	if len(saved) > 0 {
		return restore(saved)
	}
	return open()
}

// keepSession keeps what a call left. When the session was closed meanwhile, that
// is what somebody wanted.
func (a *attempt) keepSession(ctx context.Context, s conversation) error {
	saved, err := s.Save()
	if err != nil {
		return err
	}
	err = a.turn.Keep(ctx, a.tool.Name, saved, s, s.Bytes())
	if errors.Is(err, session.ErrClosed) {
		a.result.Session.Closed = true
		return nil
	}
	if err == nil {
		a.result.Session.Calls, a.result.Session.ExpiresAt = a.turn.Calls(), a.turn.Ends().UTC()
	}
	return err
}

// cannotGoOn says how to get out when what is kept does not fit any more.
func (a *attempt) cannotGoOn(err error) error {
	k := a.sessionKey()
	switch {
	case errors.Is(err, sandbox.ErrSessionDamaged):
		return fault.Errorf(fault.KindVerification, "session %s: %w", k, err).
			WithHint("delete it with %s and start again", fault.CloseSession(k.String()))
	case errors.Is(err, sandbox.ErrSession):
		return fault.Errorf(fault.KindConflict, "session %s: %w", k, err).
			WithHint("call it with the directories that were granted when it began; or start again under another name, or after %s", fault.CloseSession(k.String()))
	}
	return err
}

// fitsSessions refuses a module whose state cannot be told apart from the instance
// that has it.
func fitsSessions(m *manifests.Manifest, info sandbox.Info) error {
	if _, ok := m.Sessions(); !ok || len(info.Pinned) == 0 {
		return nil
	}
	return fault.Errorf(fault.KindVerification, "%s is a %s skill, and the state of %s cannot be kept: %s", m.Name, m.Type, m.Command, info.Pinned[0]).
		WithHint("build it so that it does not do that, or make it a code_inline skill")
}
