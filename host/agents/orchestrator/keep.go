package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
)

const (
	envelopeKey = "task/envelope/"
	runKey      = "task/run/"
	docKey      = "task/doc/"
	outputKey   = "task/output/"
	exchangeKey = "task/kept/"
	historyKey  = "task/history"
)

// lockName is the name of the lock of a task.
func lockName(id string) string { return "task/" + id }

// read decodes what a key holds; found is false when the key does not exist.
func read[T any](ctx context.Context, kv store.KV, key string) (v T, revision uint64, found bool, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return v, store.MustNotExist, false, nil
	}
	if err == nil {
		if err = json.Unmarshal(e.Value, &v); err != nil {
			err = fmt.Errorf("read %s: %w: %w", key, store.ErrDamaged, err)
		}
	}
	return v, e.Revision, err == nil, err
}

// write encodes a value into a key.
func write(ctx context.Context, kv store.KV, key string, v any, prev uint64) error {
	text, err := encode(v)
	if err == nil {
		_, err = kv.Put(ctx, key, text, prev)
	}
	return err
}

// encode is a value as JSON, without escapes that only pages need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// missing is the error for a task that is not there.
func missing(id string) error {
	return fault.Errorf(fault.KindNotFound, "task %s not found", id).WithHint("%s shows those there are", fault.List(fault.Tasks))
}

// envelope is the task of a run as it was submitted.
func (o *Orchestrator) envelope(ctx context.Context, r task.Run) (task.Task, error) {
	t, _, found, err := read[task.Task](ctx, o.kv, envelopeOf(r))
	if err == nil && !found {
		err = missing(r.TaskID)
	}
	return t, err
}

func envelopeOf(r task.Run) string { return envelopeKey + r.TaskID + "/" + r.Envelope }

// Task is the envelope of a task: a [fault.KindNotFound] error when there is none.
func (o *Orchestrator) Task(ctx context.Context, id string) (task.Task, error) {
	r, err := o.Get(ctx, id)
	if err != nil {
		return task.Task{}, err
	}
	return o.envelope(ctx, r)
}

// Get is what is known of the work on a task: a [fault.KindNotFound] error when
// there is no such task.
func (o *Orchestrator) Get(ctx context.Context, id string) (task.Run, error) {
	r, _, found, err := read[task.Run](ctx, o.kv, runKey+id)
	if err == nil && !found {
		err = missing(id)
	}
	return r, err
}

// changeTries is how often a change is tried that others get in the way of.
const changeTries = 100

// change reads the run of a task, has fn change it, and writes it unless fn fails.
// fn may be called several times.
func (o *Orchestrator) change(ctx context.Context, id string, fn func(*task.Run) error) (task.Run, error) {
	ctx = context.WithoutCancel(ctx)
	for try := range changeTries {
		r, revision, found, err := read[task.Run](ctx, o.kv, runKey+id)
		if err == nil && !found {
			err = missing(id)
		}
		if err == nil {
			err = fn(&r)
		}
		if err != nil {
			return r, err
		}
		r.UpdatedAt = time.Now().UTC()
		err = write(ctx, o.kv, runKey+id, r, revision)
		if errors.Is(err, store.ErrTooLarge) {
			err = write(ctx, o.kv, runKey+id, shrunk(r), revision)
		}
		if !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		time.Sleep(rand.N(time.Duration(try+1) * 200 * time.Microsecond)) // others are at it, too
	}
	return task.Run{}, fmt.Errorf("change task %s: %w", id, store.ErrConflict)
}

// shrunk is a run with less of what is only shown: texts that escapes make too long for
// an entry. What steps answered is kept elsewhere.
func shrunk(r task.Run) task.Run {
	const shown, answer = 100, 16 << 10
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Output, s.Title = cut(s.Output, shown), cut(s.Title, shown)
		if s.Error != nil {
			s.Error = s.Error.Hinted(shortHint(s.Error.Way(), 2*shown))
			s.Error.Message = cut(s.Error.Message, 2*shown)
		}
	}
	if r.Report != nil {
		rep := *r.Report
		rep.Answer = bounded(rep.Answer, answer)
		rep.Decisions, rep.NextSteps = rep.Decisions[:min(len(rep.Decisions), 10)], rep.NextSteps[:min(len(rep.NextSteps), 10)]
		rep.Steps = slices.Clone(rep.Steps)
		for i := range rep.Steps {
			rep.Steps[i].Error = cut(rep.Steps[i].Error, shown)
		}
		r.Report = &rep
	}
	return r
}
