package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/recording"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/replay"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// recordings is the directory of the home with the recordings of recent calls.
const recordings = "recordings"

func (h *Host) wireRecordings(s config.Settings) {
	h.Recordings = recording.NewShelf(h.path(recordings), recording.Bounds{
		Calls: s.RecordCalls, Bytes: int64(s.RecordCallsMB) << 20, Age: days(s.RecordCallsDays),
	})
	h.Replays = replay.New(h.Runner)
}

// secretValues are the values of all secrets, which must not be in a recording.
// One that cannot be read could not be struck out.
func (h *Host) secretValues(ctx context.Context) ([]recording.Secret, error) {
	infos, err := h.Secrets.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the secrets that are to be struck out: %w", err)
	}
	var all []recording.Secret
	for _, s := range infos {
		v, err := h.Secrets.Get(ctx, s.Name)
		if err != nil {
			return nil, fmt.Errorf("read the secret %s, to strike it out: %w", s.Name, err)
		}
		all = append(all, recording.Secret{Name: s.Name, Value: v})
	}
	return all, nil
}

// Record makes a call as [Host.Call] does, and records it. tooShort are secrets
// that are too short to be struck out. Where values of secrets were taken out of
// what the guest saw, the recording is replayed at once, to say whether that
// makes a difference. The error is one of recording, and the result that of the
// call; without a recording because of an error before the call, the call was not
// made.
func (h *Host) Record(ctx context.Context, installed *registry.Skill, c runner.Call) (res task.Result, r *recording.Recording, tooShort []string, err error) {
	secrets, err := h.secretValues(ctx)
	if err != nil {
		return res, nil, nil, task.Errorf(task.KindInternal, "record the call: %w", err).
			WithHint("nothing was run; `skillet secret list` shows the secrets")
	}
	c.Recorder, c.NoCache = recording.NewRecorder(), true
	res = h.Call(ctx, installed, c)
	if r, err = c.Recorder.Recording(); err != nil {
		return res, nil, nil, unrecorded(res, err)
	}
	tooShort = r.Strike(secrets)
	h.compareStruck(ctx, r, c.Target)
	return res, r, tooShort, nil
}

// unrecorded says why there is no recording of a call that was made.
func unrecorded(res task.Result, err error) error {
	if res.Error != nil && errors.Is(err, recording.ErrNothing) {
		return nil // the call's own error says why nothing ran
	}
	return task.Errorf(task.KindLimit, "record the call: %w", err).WithHint("the call itself was made; record one that does less")
}

// compareStruck finds out whether it makes a difference that the guest saw the
// values of secrets and a replay shows it something else.
func (h *Host) compareStruck(ctx context.Context, r *recording.Recording, t runner.Target) {
	seen := false
	for _, s := range r.Struck {
		seen = seen || s.Seen
	}
	if !seen || r.Outcome.Ending.Clock {
		return
	}
	rep := h.Replays.Exact(ctx, r, t, replay.Usual)
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
func (h *Host) keep(ctx context.Context, rec *recording.Recorder) {
	ctx = context.WithoutCancel(ctx)
	r, err := rec.Recording()
	if errors.Is(err, recording.ErrNothing) || err == nil && r.Inexact != "" {
		return // it would be of no use
	}
	var secrets []recording.Secret
	if err == nil {
		secrets, err = h.secretValues(ctx)
	}
	if err == nil {
		r.Strike(secrets)
		err = h.Recordings.Keep(r)
	}
	if err != nil {
		h.Log.Warn("the call is not kept as a recording", "err", err)
	}
}

// Recorded finds the installed package that a recording was made of, by its
// digest; false when it is not installed.
func (h *Host) Recorded(ctx context.Context, r *recording.Recording) (runner.Target, bool, error) {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return runner.Target{}, false, err
	}
	for _, s := range all {
		if s.Digest == r.Digest {
			t, err := h.version(ctx, s)
			return t, true, err
		}
	}
	return runner.Target{}, false, nil
}

// Samples are the recordings that a package can be tried on: those of recent calls
// of the skill, those that its active version brings, and those it brings itself.
func (h *Host) Samples(ctx context.Context, p *bundle.Package) ([]replay.Sample, error) {
	m := p.Manifest()
	samples, err := replay.FromShelf(h.Recordings, m.Name)
	if err != nil {
		return nil, err
	}
	active, err := h.Registry.Lookup(ctx, manifests.Ref{Name: m.Name})
	if err == nil && active.Name == m.Name && active.Digest != p.Digest() {
		before, err := h.Registry.Package(ctx, active.Digest)
		if err != nil {
			return nil, err
		}
		for _, s := range replay.FromPackage(before) {
			s.Name += " of " + active.Version
			samples = append(samples, s)
		}
	}
	for _, s := range replay.FromPackage(p) {
		s.Own = true
		samples = append(samples, s)
	}
	return samples, nil
}

// Shadow tries a package on recordings of calls, with nothing done for real. It is
// nil when there are none.
func (h *Host) Shadow(ctx context.Context, p *bundle.Package) (*replay.Shadow, error) {
	if !p.Manifest().Type.IsCode() {
		return nil, nil
	}
	samples, err := h.Samples(ctx, p)
	if err != nil || len(samples) == 0 {
		return nil, err
	}
	m := p.Manifest()
	s := h.Replays.Shadow(ctx, runner.Target{Label: m.Name + "@" + m.Version, Package: p, Origin: registry.OriginPath}, samples)
	return &s, nil
}
