package host

import (
	"context"
	"path/filepath"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/limit"
)

// Upkeep keeps the home in order.
func (h *Host) Upkeep() *upkeep.Service { return h.upkeep }

// Diagnose is [upkeep.Service.Diagnose] for a home that is not open. One that cannot be
// opened is one failed check.
func Diagnose(ctx context.Context, by approval.Principal, o Options) (upkeep.Diagnosis, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return upkeep.Diagnosis{}, err
	}
	h, err := Open(ctx, o)
	if err != nil {
		return upkeep.Diagnosis{Home: o.Home, Checks: []upkeep.Check{{Name: "open", Error: Explain(err)}}}, nil
	}
	d, err := h.Upkeep().Diagnose(ctx, by)
	if failed := h.Close(ctx); failed != nil {
		d.Add(upkeep.Check{Name: "close", Error: Explain(failed)})
	}
	d.Home = o.Home
	return d, err
}

// wireUpkeep makes what keeps the home in order, once: it goes on with the parts that
// there are when the store was replaced.
func (h *Host) wireUpkeep() {
	if h.upkeep == nil {
		h.upkeep = upkeep.New(h.Log, h.upkeepParts())
	}
}

func (h *Host) upkeepParts() upkeep.Parts {
	p := upkeep.Parts{
		Home: h.Home, Config: h.Config, Store: h.store, Decisions: h.Decisions, Calls: h.Calls, Ledger: h.Ledger,
		Registry: h.Registry, Desk: h.Desk, Trust: h.Trust, Tokens: token.New(h.Ledger, h.store.KV()), Installer: h.Installer, Policies: h.Policies, History: h.History,
		Recordings: h.Recordings, Sessions: h.sessions, Secrets: h.Secrets, SecretKey: h.SecretKey, AuditKeys: h.AuditKeys,
		Runner: h.Runner, Sandbox: h.sandbox, Workers: h.workers, Ceilings: h.ceilings(),
		JournalOptions: h.journalOptions, CatchUp: h.CatchUp, Ready: h.ready, Explain: Explain, Reopen: h.reopen,
		Memory: h.working.Memory, Tasks: h.taskNames, Agents: h.agentNames, Providers: h.providerNames,
	}
	if h.maximum != nil {
		p.Bounds = filepath.Join(h.rules.System, policies.MaximumFile)
	}
	return p
}

// reopen opens the store anew and wires everything to it.
func (h *Host) reopen(ctx context.Context) (upkeep.Parts, error) {
	if err := h.openStore(ctx); err != nil {
		return upkeep.Parts{}, err
	}
	h.wire()
	return h.upkeepParts(), h.SecretKey.Anchors().Refill(ctx)
}

// ceilings are what no call may exceed: the settings of the home, and what the
// administrator allows.
func (h *Host) ceilings() limit.Set {
	c := h.Config.Settings().Ceilings
	if h.maximum != nil {
		c = c.Lowered(h.maximum.Ceilings)
	}
	return c.Set()
}

// rates are how often skills may be called, as the runner takes them.
func rates(s config.Settings) []runner.Rate {
	var all []runner.Rate
	for _, l := range s.RateLimits {
		all = append(all, runner.Rate{Skill: l.Skill, Tool: l.Tool, RateLimit: manifests.RateLimit{MaxCalls: l.MaxCalls, PerSeconds: l.PerSeconds}})
	}
	return all
}

// shownTasks is how many tasks are named, the newest.
const shownTasks = 50

func (h *Host) taskNames(ctx context.Context) ([]upkeep.Candidate, error) {
	all, err := h.working.Tasks(ctx, shownTasks)
	var found []upkeep.Candidate
	for _, r := range all {
		found = append(found, upkeep.Candidate{Word: r.TaskID[:min(len(r.TaskID), 12)], About: string(r.State) + ": " + r.Title})
	}
	return found, err
}

func (h *Host) agentNames(ctx context.Context) ([]upkeep.Candidate, error) {
	all, err := h.working.Agents(ctx)
	var found []upkeep.Candidate
	for _, a := range all {
		if a.Definition != nil {
			found = append(found, upkeep.Candidate{Word: a.Name, About: a.Definition.Description})
		}
	}
	return found, err
}

func (h *Host) providerNames(ctx context.Context) ([]upkeep.Candidate, error) {
	names, err := h.working.Providers(ctx)
	var found []upkeep.Candidate
	for _, n := range names {
		found = append(found, upkeep.Candidate{Word: n})
	}
	return found, err
}
