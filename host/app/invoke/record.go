package invoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
)

// secretValues are the values of all secrets, which must not be in a recording.
// One that cannot be read could not be struck out.
func (s *Service) secretValues(ctx context.Context) ([]recording.Secret, error) {
	infos, err := s.parts.Secrets.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the secrets that are to be struck out: %w", err)
	}
	var all []recording.Secret
	for _, i := range infos {
		texts, err := s.parts.Secrets.Texts(ctx, i.Name)
		if err != nil {
			return nil, fmt.Errorf("read the secret %s, to strike it out: %w", i.Name, err)
		}
		for _, t := range texts {
			all = append(all, recording.Secret{Name: i.Name, Value: []byte(t)})
		}
	}
	return all, nil
}

// record makes a call, and records it. Where values of secrets were taken out of what
// the guest saw, the recording is replayed at once, to say whether that makes a
// difference.
func (s *Service) record(ctx context.Context, in Invocation, c runner.Call, a *Answer) error {
	secrets, err := s.secretValues(ctx)
	if err != nil {
		return fault.Errorf(fault.KindInternal, "record the call: %w", err).
			WithHint("nothing was run; %s shows the secrets", fault.List(fault.Secrets))
	}
	c.Recorder, c.NoCache = recording.NewRecorder(), true
	a.Result = s.call(ctx, in, c)
	r, err := c.Recorder.Recording()
	if err != nil {
		return unrecorded(a.Result, err)
	}
	a.Recording, a.TooShort = r, r.Strike(secrets)
	s.compareStruck(ctx, r, c.Target)
	if in.RecordTo == "" {
		return nil
	}
	return r.Write(in.RecordTo)
}

// recordable refuses to record to where something else is than a recording.
func (in Invocation) recordable() error {
	path := in.RecordTo
	if path == "" {
		return nil
	}
	if dir := filepath.Dir(path); !exists(dir) {
		return fault.Errorf(fault.KindNotFound, "record the call: directory %s not found", dir).WithHint("nothing was run; make it, or name another file")
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("record the call: %w", err)
	case st.Mode().IsRegular() && (st.Size() == 0 || isRecording(path)):
		return nil
	}
	return fault.Errorf(fault.KindConflict, "record the call: %s exists and is not a recording", path).WithHint("nothing was run; name another file, or remove this one")
}

// isRecording reports whether a file begins as recordings do.
func isRecording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 64))
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(head, "{ \n"), []byte(`"skillet_recording"`))
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
	rep := s.parts.Replays.Exact(ctx, r, t, replay.Usual)
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
		err = s.parts.Recordings.Keep(r)
	}
	if err != nil {
		s.log.Warn("the call is not kept as a recording", "err", err)
	}
}
