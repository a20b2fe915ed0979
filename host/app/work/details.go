package work

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
)

type (
	// A CallRecord is what the audit log has of a call.
	CallRecord = runner.Record
	// A Refusal is something that a call was refused.
	Refusal = task.Denial
)

// A TaskDetails is all that is known of a task: how it is, what happened, and the calls that were
// made for it. Secrets are struck out; texts are those of models and skills, which an edge
// makes safe to show.
type TaskDetails struct {
	TaskView
	Events []Event      `json:"events" nullable:"false"`
	Calls  []CallRecord `json:"calls" nullable:"false"`
}

// Details returns all that is known of a task.
func (t *Tasks) Details(ctx context.Context, by approval.Principal, id string) (TaskDetails, error) {
	view, err := t.Show(ctx, by, id)
	if err != nil {
		return TaskDetails{}, err
	}
	all, made := TaskDetails{TaskView: view, Events: []Event{}, Calls: []CallRecord{}}, map[task.RunID]bool{}
	err = t.Logs(ctx, by, LogsRequest{ID: view.Task.ID, Each: func(e Event) error {
		if e.Type == TaskPartial { // a piece of what comes whole
			return nil
		}
		all.Events = append(all.Events, e)
		if run := e.Step().RunID; run != "" {
			made[run] = true
		}
		return nil
	}})
	if err == nil && len(made) > 0 {
		all.Calls, err = t.calls(ctx, made)
	}
	if err != nil {
		return TaskDetails{}, err
	}
	return redacted(all, t.s.parts.Redact)
}

// calls are the records of some runs, and of their parts.
func (t *Tasks) calls(ctx context.Context, made map[task.RunID]bool) (all []CallRecord, err error) {
	all = []CallRecord{}
	parts := map[task.RunID][]CallRecord{} // recorded before what they are parts of
	err = t.s.parts.Calls.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Kind != runner.KindRun {
			return nil
		}
		var r CallRecord
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return fmt.Errorf("read run %d of the audit log: %w", e.Seq, err)
		}
		switch {
		case made[r.RunID]:
			all = append(append(all, r), parts[r.RunID]...)
		case made[r.Of]:
			parts[r.Of] = append(parts[r.Of], r)
		}
		return nil
	})
	return all, err
}

// redacted is v with every text as strike leaves it.
func redacted[T any](v T, strike func(string) string) (T, error) {
	var out T
	b, err := json.Marshal(v)
	if err != nil {
		return out, err
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return out, err
	}
	if b, err = json.Marshal(struck(tree, strike)); err != nil {
		return out, err
	}
	return out, json.Unmarshal(b, &out)
}

func struck(v any, strike func(string) string) any {
	switch v := v.(type) {
	case string:
		return strike(v)
	case []any:
		for i := range v {
			v[i] = struck(v[i], strike)
		}
	case map[string]any:
		for name := range v {
			v[name] = struck(v[name], strike)
		}
	}
	return v
}

// A PageFile is a file that a page is written to.
type PageFile struct {
	Path string
	// Over writes over a file that is there; without it that is a conflict.
	Over bool
}

// SavePage writes a page to a file that only its owner reads.
func (t *Tasks) SavePage(_ context.Context, by approval.Human, f PageFile, write func(io.Writer) error) error {
	if err := approval.CheckPrincipal(by); err != nil {
		return err
	}
	_, err := outfile.Write(f.Path, outfile.Options{Mode: 0o600, Over: f.Over}, write)
	return err
}
