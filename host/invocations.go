package host

import (
	"context"
	"encoding/json"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/rules"
)

// Invoke makes calls of skills.
func (h *Host) Invoke() *invoke.Service { return h.invoke }

// wireSkills makes what finds skills. The runner is made of it, and asked by it.
func (h *Host) wireSkills() {
	h.skills = invoke.NewSkills(invoke.SkillsParts{
		Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, CatchUp: h.CatchUp, Epoch: h.watch.Epoch, Now: h.watch.Now,
		Route: func(ctx context.Context, skill string, c registry.Canary) (bool, error) {
			return h.Runner.Route(ctx, skill, c)
		},
	})
}

func (h *Host) wireInvoke() {
	h.invoke = invoke.New(h.Log, invoke.Parts{
		Skills: h.skills, Sources: h.sources, Runner: h.Runner, Desk: h.Desk, Secrets: h.Secrets,
		Recordings: h.Recordings, Replays: h.Replays, Sessions: h.sessions, Ceilings: h.ceilings(), Warm: h.expectRecord,
	})
}

// expectRecord opens the key that signs the record of the first call, while that call is
// made. What is wrong with it is found when the record is signed.
func (h *Host) expectRecord(ctx context.Context) {
	h.keyed.Do(func() {
		h.aside.Go(func() { _, _ = h.AuditKeys.Ring(context.WithoutCancel(ctx)) })
	})
}

// rights say what people and policies decide at present.
type rights struct {
	*rules.Watch
	*invoke.Skills
}

// trials ends trials by the way in that there is.
type trials struct{ h *Host }

// Conclude ends a trial.
func (t trials) Conclude(ctx context.Context, skill string, c registry.Canary, v registry.Verdict, reason string, report json.RawMessage) error {
	return t.h.Installer.Conclude(ctx, skill, c, v, reason, report)
}
