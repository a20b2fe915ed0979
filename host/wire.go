package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/skillmodel"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/rules"
	"github.com/skillet-run/skillet/host/record/settings"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/host/record/token"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/limit"
)

func (h *Host) wire() {
	s := h.config.Settings()
	kv := h.store.KV()
	h.secretKey.Anchors().UseStore(upkeep.StoredAnchor{KV: kv})
	h.sessions.Remember(kv)
	h.events = event.NewBus(h.log.Named("event"), h.store)
	h.registry = registry.New(kv, h.store.Blobs())
	h.ledger = ledger.New(h.decisions, kv, upkeep.Projections()...)
	h.signer = signer.Open(h.path("keys"), h.secretKey) // beside that of the audit log: one that is lost gets no successor while the other is there
	h.trust = trust.New(h.ledger, kv)
	h.wireSources()
	h.decided = h.decisions.Marker()
	h.watch = rules.NewWatch(h.rules, h.marked, h.policies, h.decided.Count)
	h.approvals = approval.NewStore(h.ledger, kv, h.watch.Current, approval.Settings{Home: h.home, Expiry: days(s.ProposalExpiryDays), Epoch: h.watch.Decided})
	h.wireSkills()
	h.wireScripts()
	h.wireModels()
	h.runner = runner.New(h.log.Named("run"), kv, h.sandbox, h.policies, h.secrets, hostfn.Throttled(h.notifier), h.calls, runner.Settings{
		Home: h.home, Own: upkeep.OwnFiles(s),
		Ceilings:    h.ceilings(),
		HTTPTimeout: duration.OfSeconds(s.HTTPTimeoutSeconds), HTTPBytes: int64(s.HTTPMaxMB) << 20,
		Workers: h.apart, Isolated: upkeep.Isolated(s), Sessions: h.sessions, Skills: h.skills, Unrevoked: h.skills.Unrevoked, Scripts: h.scripts, Servers: h.plugins.Servers, Trials: trials{h}, Rights: rights{h.watch, h.skills}, Rates: upkeep.Rates(s),
		Ready:  h.ready,
		Models: skillmodel.New(h.models), Asks: h.models.Ready,
	})
	h.wireRecordings(s)
	h.wireInvoke(s)
	h.tester = casetest.New(h.runner)
	h.wireApprovals(kv)
	h.installer = install.New(h.ledger, h.registry, h.approvals, h.trust, h.watch.Current, h.runner, h.tester, h.home)
	h.wireWork()
	h.wireGovern()
	h.wireAdmit(s)
	if h.upkeep == nil { // it goes on with the parts that there are when the store was replaced
		h.upkeep = upkeep.New(h.log, h.upkeepParts())
	}
}

// wireSkills makes what finds skills. The runner is made of it, and asked by it.
func (h *Host) wireSkills() {
	h.skills = invoke.NewSkills(invoke.SkillsParts{
		Registry: h.registry, Approvals: h.approvals, Trust: h.trust, CatchUp: h.CatchUp, Epoch: h.watch.Epoch, Decided: h.watch.Decided,
		Route: func(ctx context.Context, skill string, c registry.Canary) (bool, error) {
			return h.runner.Route(ctx, skill, c)
		},
	})
}

func (h *Host) wireInvoke(s config.Settings) {
	h.invoke = invoke.New(h.log, invoke.Parts{
		Skills: h.skills, Sources: h.sources, Runner: h.runner, Approvals: h.approvals, Secrets: h.secrets.Vault,
		Recordings: h.recordings, Replays: h.replays, Sessions: h.sessions, Ceilings: h.ceilings(), Warm: h.expectRecord,
	})
}

// expectRecord opens the key that signs the record of the first call, while that call is
// made. What is wrong with it is found when the record is signed.
func (h *Host) expectRecord(ctx context.Context) {
	h.keyed.Do(func() {
		h.aside.Go(func() { _, _ = h.auditKeys.Keyring(context.WithoutCancel(ctx)) })
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
	return t.h.installer.Conclude(ctx, skill, c, v, reason, report)
}

func (h *Host) wireRecordings(s config.Settings) {
	h.recordings = recording.NewArchive(h.path(upkeep.RecordingsDir), recording.Bounds{
		Calls: s.RecordCalls, Bytes: int64(s.RecordCallsMB) << 20, Age: days(s.RecordCallsDays),
	})
	h.replays = replay.New(h.runner)
	h.tries = replay.NewCollection(h.replays, h.recordings, h.registry)
}

func (h *Host) wireGovern() {
	h.govern = govern.New(h.log.Named("govern"), govern.Parts{
		CatchUp: h.CatchUp, Decided: h.watch.Decided, Unfinished: func() error { return upkeep.UnfinishedRepair(h.home) }, Explain: meaning.Of,
		Home: h.home, Policies: h.watch.Policies,
		Ledger: h.ledger, Registry: h.registry, Approvals: h.approvals, Trust: h.trust, Tokens: token.New(h.ledger, h.store.KV()),
		Installer: h.installer, Settings: h.settings, Agents: h.agents, Sources: h.sources,
		Evidence: h.evidence, Replay: h.tries.Shadow, Ceilings: h.ceilings(),
		Script: func(ctx context.Context, by approval.Principal, run string) (approval.ScriptView, error) {
			return h.code.Show(ctx, by, run)
		},
		MissingTools: func(ctx context.Context, by approval.Principal, names []string) ([]string, error) {
			return h.Work().Agents().MissingTools(ctx, by, names)
		},
		RevocationLists: h.config.Settings().RevocationLists, Releases: h.config.Settings().Releases,
		Signer: h.signer, Secrets: h.secrets.Vault, Logins: h.secrets, SecretKey: h.secretKey,
		Decisions: h.decisions, Calls: h.calls, AuditKeys: h.auditKeys,
	})
}

// wireApprovals wires what carries out and shows what is proposed.
func (h *Host) wireApprovals(kv store.KV) {
	h.settings = settings.New(h.ledger, h.approvals, h.home)
	h.agents = agents.New(h.ledger, h.approvals, h.home, builtin.Text)
	h.evidence = evidence.New(h.registry, h.tester)
	h.history = history.New(h.ledger, kv, h.store.Blobs(), history.Settings{
		Home: h.home, Head: h.decisions.Head, LockWait: duration.OfSeconds(h.config.Settings().LockWaitSeconds),
	})
}

// keepHistory brings the git history up to date. What goes wrong there undoes
// nothing: the next command tries again, and the doctor says so.
func (h *Host) keepHistory(ctx context.Context) {
	if h.history == nil {
		return
	}
	if err := h.history.CatchUp(context.WithoutCancel(ctx), h.CatchUp); err != nil {
		h.log.Warn("the git history is not up to date; the next command tries again", "err", err)
	}
}

func (h *Host) wireAdmit(s config.Settings) {
	h.admit = admit.New(h.log.Named("admit"), admit.Parts{
		Registry: h.registry, Approvals: h.approvals, Trust: h.trust, Installer: h.installer, Runner: h.runner, Sources: h.sources, Invoke: h.invoke,
		Recordings: h.recordings, Shadow: h.tries.Shadow, Evidence: h.evidence,
		Sign: h.govern.Keys.Sign, CatchUp: h.CatchUp, Decided: h.watch.Decided, Ceilings: h.ceilings(), Engines: script.Names(), Home: h.home, Logins: h.secrets,
	})
	h.code = code.New(h.log.Named("code"), code.Parts{
		Invoke: h.invoke, Skills: h.skills, Registry: h.registry, Runner: h.runner, Approvals: h.approvals, Store: h.store, CatchUp: h.CatchUp, Decided: h.watch.Decided, Redact: h.redactor(context.Background()).Text, Calls: h.calls, Tester: h.tester, Proposals: h.admit,
	}, code.Settings{Enabled: s.Code.Enabled, ToolsBudget: s.MCP.ToolsBudget})
}

// wireModels makes what answers the model calls of skills: the runner is made with it.
func (h *Host) wireModels() {
	_ = errors.Join(h.closeWork()...) // what it could not keep went with a store that was replaced
	h.plugins = work.NewPlugins(h.log.Named("plugin"), work.PluginParts{
		Home: h.home, Registry: h.registry, Approvals: h.approvals, Policies: h.policies, Secrets: h.secrets.Vault, CatchUp: h.CatchUp,
	})
	h.models = work.NewModels(h.log, work.ModelParts{Plugins: h.plugins, Config: h.config, Store: h.store, Events: h.events})
}

func (h *Host) wireWork() {
	h.work, h.working = work.New(h.log, work.Parts{
		Models: h.models, Definitions: h.agents, Invoke: h.invoke, Installer: h.installer, Calls: h.calls, Recordings: h.recordings, Doctor: upkeep.DoctorCaller,
		Redact: h.redactor(context.Background()).Text, Explain: meaning.Of, Notifier: h.notifier,
		Metrics: h.runner.Metrics, Groups: h.calls.Groups,
	})
}

// closeWork stops what works, and its plugins.
func (h *Host) closeWork() []error {
	if h.work == nil { // it was not opened so far
		return nil
	}
	h.plugins.Close()
	return []error{h.models.Close(), h.work.Close()}
}

func (h *Host) upkeepParts() upkeep.Parts {
	p := upkeep.Parts{
		Home: h.home, Config: h.config, Store: h.store, Decisions: h.decisions, Calls: h.calls, Ledger: h.ledger,
		Registry: h.registry, Approvals: h.approvals, Trust: h.trust, Tokens: token.New(h.ledger, h.store.KV()), Installer: h.installer, Policies: h.policies, History: h.history,
		Recordings: h.recordings, Sessions: h.sessions, Secrets: h.secrets.Vault, SecretKey: h.secretKey, AuditKeys: h.auditKeys,
		Runner: h.runner, Sandbox: h.sandbox, Workers: h.workers, Ceilings: h.ceilings(),
		JournalOptions: h.journalOptions, CatchUp: h.CatchUp, Ready: h.ready, Explain: meaning.Of, Reopen: h.reopen, Catalog: h.options.Catalog,
		Memory: h.working.Memory, Tasks: h.working.TaskNames, Agents: h.working.AgentNames, Providers: h.working.ProviderNames,
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
	return h.upkeepParts(), h.secretKey.Anchors().Refill(ctx)
}

func (h *Host) wireSources() {
	s := h.config.Settings()
	registries := make([]source.Registry, len(s.Registries))
	for i, r := range s.Registries {
		registries[i] = source.Registry(r)
	}
	h.sources = source.New(h.log.Named("source"), h.store.Blobs(), source.Settings{
		Registries: registries, Downloads: h.path("cache", "downloads"), Timeout: duration.OfSeconds(s.DownloadTimeoutSeconds),
		Client: transfer.Settings{UserAgent: "skillet"}, Catalog: h.options.Catalog,
		Engine: func(ctx context.Context, name string) (map[string][]byte, error) {
			return h.scripts.Engine(ctx, name)
		},
	})
}

// ceilings are what no call may exceed: the settings of the home, and what the
// administrator allows.
func (h *Host) ceilings() limit.Set {
	c := h.config.Settings().Ceilings
	if h.maximum != nil {
		c = c.Lowered(h.maximum.Ceilings)
	}
	return c.Set()
}
