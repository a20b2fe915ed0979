package invoke

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
)

// A ReplayRequest says which recorded call is made again.
type ReplayRequest struct {
	// File is that of the recording.
	File string
	// With is another version to run instead, to compare; the zero value is the package
	// that was recorded.
	With Address
	// Timeout bounds the replay; 0 means [ReplayTimeout].
	Timeout time.Duration
	// Fetched is told how much of a source came; nil for nobody.
	Fetched func(done, total int64)
}

// ReplayTimeout bounds a replay that has no other bound.
const ReplayTimeout = replay.Usual

// ReplayFigures are a figure of the recorded call and of the replay, and a Shadow is how a
// version did on recorded calls.
type (
	ReplayFigures = replay.Figures
	Shadow        = replay.Shadow
)

// Replayed is what came of a replay.
type Replayed struct {
	replay.Report
	// Events is how many events the recording has.
	Events int `json:"-"`
	// Notes say what a person should know of a package that was made of something else.
	Notes []string `json:"-"`
}

// Replay makes a recorded call again, with nothing real behind it: the guest sees what it
// saw then. That it does otherwise is not an error. Errors are [fault.Error]s: of
// [fault.KindVerification] for what is not a recording, of [fault.KindNotFound] when the
// package that was recorded is not there.
func (s *Service) Replay(ctx context.Context, by approval.Principal, r ReplayRequest) (Replayed, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Replayed{}, err
	}
	rec, err := readRecording(ctx, r.File)
	if err != nil {
		return Replayed{}, err
	}
	if r.Timeout == 0 {
		r.Timeout = ReplayTimeout
	}
	out := Replayed{Events: len(rec.Events)}
	if r.With == (Address{}) {
		target, err := s.recordedTarget(ctx, by, rec, r.File)
		if err != nil {
			return out, err
		}
		out.Report = s.parts.Replays.Exact(ctx, rec, target, r.Timeout)
		return out, ctx.Err()
	}
	other, err := s.Find(ctx, by, r.With, r.Fetched)
	if err == nil && other.tool != "" {
		err = fault.Errorf(fault.KindUsage, "%s names a tool", r.With).WithHint("leave it out: the recording says which tool")
	}
	if out.Notes = other.notes; err != nil {
		return out, fmt.Errorf("compare with %s: %w", r.With, err)
	}
	out.Report = s.parts.Replays.Try(ctx, rec, other.run, r.Timeout)
	return out, ctx.Err()
}

// readRecording reads a recording. What is wrong with the file itself is left to whoever
// knows such errors.
func readRecording(ctx context.Context, path string) (*recording.Recording, error) {
	rec, err := recording.Read(ctx, path)
	known, file := (*fault.Error)(nil), (*fs.PathError)(nil)
	if err == nil || errors.As(err, &known) {
		return rec, err
	}
	kind := fault.KindVerification
	if errors.Is(err, fs.ErrNotExist) {
		kind = fault.KindNotFound
	} else if errors.As(err, &file) {
		kind = fault.KindUsage
	}
	return nil, fault.Wrap(kind, err).WithHint("%s makes a recording", fault.Run("").With(fault.FieldRecord, "FILE"))
}

// recordedTarget finds the package that a recording was made of: the installed
// one, or the one at the path that was run, from here or from beside the
// recording. Whether it is that one is found out when it runs.
func (s *Service) recordedTarget(ctx context.Context, by approval.Principal, rec *recording.Recording, file string) (runner.Target, error) {
	if err := s.parts.Skills.parts.CatchUp(ctx); err != nil {
		return runner.Target{}, err
	}
	all, err := s.parts.Skills.parts.Registry.List(ctx)
	if err != nil {
		return runner.Target{}, err
	}
	for _, i := range all {
		if i.Digest == rec.Digest {
			return s.parts.Skills.Version(ctx, i)
		}
	}
	where := "it is not installed"
	if rec.Path != "" {
		where += ", nor at " + rec.Path
		for _, path := range []string{rec.Path, filepath.Join(filepath.Dir(file), rec.Path)} {
			if p, err := s.Look(ctx, by, path); err == nil && p.Digest() == rec.Digest {
				return runner.Target{Label: path, Package: p, Origin: registry.OriginPath}, nil
			}
		}
	}
	return runner.Target{}, fault.Errorf(fault.KindNotFound, "replay %s: the package that was recorded (sha256:%s) is not there: %s", rec.Ref(), rec.Digest.Short(), where).
		WithHint("compare with another version: %s", fault.SetField(fault.FieldCompare, "DIR|SKILL"))
}
