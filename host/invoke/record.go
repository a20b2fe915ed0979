package invoke

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/recording"
	"github.com/skillet-run/skillet/host/replay"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
)

// secretValues are the values of all secrets, which must not be in a recording.
// One that cannot be read could not be struck out.
func (s *Service) secretValues(ctx context.Context) ([]recording.Secret, error) {
	infos, err := s.Secrets.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the secrets that are to be struck out: %w", err)
	}
	var all []recording.Secret
	for _, i := range infos {
		v, err := s.Secrets.Get(ctx, i.Name)
		if err != nil {
			return nil, fmt.Errorf("read the secret %s, to strike it out: %w", i.Name, err)
		}
		all = append(all, recording.Secret{Name: i.Name, Value: v})
	}
	return all, nil
}

// record makes a call, and records it. Where values of secrets were taken out of what
// the guest saw, the recording is replayed at once, to say whether that makes a
// difference.
func (s *Service) record(ctx context.Context, t Target, c runner.Call) (Answer, error) {
	secrets, err := s.secretValues(ctx)
	if err != nil {
		return Answer{}, fault.Errorf(fault.KindInternal, "record the call: %w", err).
			WithHint("nothing was run; %s shows the secrets", fault.List(fault.Secrets))
	}
	c.Recorder, c.NoCache = recording.NewRecorder(), true
	a := Answer{Result: s.call(ctx, t, c)}
	r, err := c.Recorder.Recording()
	if err != nil {
		return a, unrecorded(a.Result, err)
	}
	a.Recording, a.TooShort = r, r.Strike(secrets)
	s.compareStruck(ctx, r, c.Target)
	return a, nil
}

// unrecorded says why there is no recording of a call that was made.
func unrecorded(res task.Result, err error) error {
	if res.Error != nil && errors.Is(err, recording.ErrNothing) {
		return nil // the call's own error says why nothing ran
	}
	return fault.Errorf(fault.KindLimit, "record the call: %w", err).WithHint("the call itself was made; record one that does less")
}

// compareStruck finds out whether it makes a difference that the guest saw the
// values of secrets and a replay shows it something else.
func (s *Service) compareStruck(ctx context.Context, r *recording.Recording, t runner.Target) {
	seen := false
	for _, struck := range r.Struck {
		seen = seen || struck.Seen
	}
	if !seen || r.Outcome.Ending.Clock {
		return
	}
	rep := s.Replays.Exact(ctx, r, t, replay.Usual)
	if rep.Equal {
		r.Inexact = ""
		return
	}
	if words := rep.Words(); len(words) > 0 {
		r.Inexact += "; a replay differs: " + strings.Join(words[:1], "")
	}
}

// keep keeps the recording of a call of an installed skill. Whatever goes wrong
// with that is not the caller's.
func (s *Service) keep(ctx context.Context, rec *recording.Recorder) {
	ctx = context.WithoutCancel(ctx)
	r, err := rec.Recording()
	if errors.Is(err, recording.ErrNothing) || err == nil && r.Inexact != "" {
		return // it would be of no use
	}
	var secrets []recording.Secret
	if err == nil {
		secrets, err = s.secretValues(ctx)
	}
	if err == nil {
		r.Strike(secrets)
		err = s.Recordings.Keep(r)
	}
	if err != nil {
		s.log.Warn("the call is not kept as a recording", "err", err)
	}
}
