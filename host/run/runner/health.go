package runner

import (
	"context"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/base/task"
)

// A Health is what is known of whether a skill works.
type Health struct {
	// Skill and Digest are what was checked.
	Skill  string `json:"skill"`
	Digest string `json:"digest"`
	// OK is true when nothing is wrong.
	OK bool `json:"ok"`
	// Error says what is wrong; nil when OK.
	Error *fault.Error `json:"error,omitempty"`
	// Tool is the tool that was called; empty when the manifest names none, and
	// the module was only loaded.
	Tool string `json:"tool,omitempty"`
	// RunID names the call of the tool.
	RunID task.RunID `json:"run_id,omitempty"`
	// CheckedAt is when, in UTC. It is earlier than now when the outcome of an
	// earlier check still stands.
	CheckedAt time.Time `json:"checked_at"`
	// Circuit is the state of the skill's circuit breaker.
	Circuit Circuit `json:"circuit"`
}

// Caller of the calls that the host makes by itself, for the audit log.
const hostCaller = "host"

// Health checks whether a skill works, as its manifest says: it calls the tool of
// health_check, or only loads the module. Within health_check's interval the
// outcome of the check before stands. An error is the store's; what is wrong with
// the skill is in the Health.
func (r *Runner) Health(ctx context.Context, t Target) (Health, error) {
	h, stands, err := r.lastHealth(ctx, t)
	if err != nil {
		return h, err
	}
	if !stands {
		h = r.examine(ctx, t)
	}
	h.Circuit, err = r.circuit(ctx, t)
	return h, err
}

// A checkup is the outcome of a health check, as it is kept.
type checkup struct {
	At      int64      `json:"at"` // Unix milliseconds
	RunID   task.RunID `json:"run_id,omitempty"`
	Kind    fault.Kind `json:"kind,omitempty"` // empty: nothing was wrong
	Message string     `json:"message,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	// Remedies are those of Hint; nil for none.
	Remedies *[]fault.Remedy `json:"remedies,omitempty"`
}

func (r *Runner) checkup(t Target) cell[checkup] { return cell[checkup]{r.kv, healthKey(t)} }

// lastHealth is the outcome of the last check, and whether it still stands.
func (r *Runner) lastHealth(ctx context.Context, t Target) (h Health, stands bool, err error) {
	tool, _, ok := t.Package.Manifest().HealthTool()
	if !ok {
		return h, false, nil
	}
	c, _, err := r.checkup(t).read(ctx)
	at := time.UnixMilli(c.At)
	if err != nil || time.Since(at) >= duration.OfSeconds(t.Package.Manifest().Resilience.HealthCheck.Interval) {
		return h, false, err
	}
	h = Health{Skill: t.Label, Digest: string(t.Package.Digest()), OK: c.Kind == "", Tool: tool.Name, RunID: c.RunID, CheckedAt: at.UTC()}
	if !h.OK {
		h.Error = &fault.Error{Kind: c.Kind, Message: c.Message, Hint: c.Hint}
		if c.Remedies != nil {
			h.Error.Remedies = *c.Remedies
		}
	}
	return h, true, nil
}

// examine makes a check, and keeps its outcome.
func (r *Runner) examine(ctx context.Context, t Target) Health {
	h := Health{Skill: t.Label, Digest: string(t.Package.Digest()), CheckedAt: time.Now().UTC()}
	tool, input, ok := t.Package.Manifest().HealthTool()
	if !ok {
		h.Error = fault.AsError(r.Check(ctx, t.Package))
		h.OK = h.Error == nil
		return h
	}
	res := r.serve(ctx, Call{Target: t, Tool: tool.Name, Input: input, Caller: hostCaller}, asHealthCheck, nil)
	h.Tool, h.RunID, h.OK, h.Error = tool.Name, res.RunID, res.OK, res.Error
	if ctx.Err() != nil { // whoever asked did not wait for the outcome
		return h
	}
	c := checkup{At: h.CheckedAt.UnixMilli(), RunID: h.RunID}
	if h.Error != nil {
		c.Kind, c.Message, c.Hint, c.Remedies = h.Error.Kind, h.Error.Message, h.Error.Hint, &h.Error.Remedies
	}
	if err := r.checkup(t).update(context.WithoutCancel(ctx), func(checkup) checkup { return c }); err != nil {
		r.log.Warn("keep the outcome of a health check", "skill", t.Label, "err", err)
	}
	return h
}
