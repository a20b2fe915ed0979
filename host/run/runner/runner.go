// Package runner turns one tool call into one result: it loads the module,
// lends the guest exactly what it was granted, arms the limits, and judges and
// records what came back.
//
// What a manifest says under resilience and performance is done by wrappers
// around the call, each of which leaves a call alone that its manifest says
// nothing about. From the outside in:
//
//	remembered  an answer that was kept is given again
//	paced       the rate limit refuses what comes too often
//	backed      the fallback command answers for a call that failed
//	guarded     the circuit breaker refuses a skill that keeps failing
//	prepared    stored data is brought to the schema version of the skill
//	sessioned   the call waits for its turn with the session it goes on with
//	retried     what failed is tried again after a pause
//	queued      no more calls of the skill run at once than may
//
// and inside of them one attempt: load, lend, execute, accept. So an answer that
// was kept counts for no rate limit, a call with three attempts is one failure to
// the breaker, and a pause between attempts takes no other call's place.
//
// The counts of the rate limit and the breaker are in the store, because a
// command is a process of its own; places in the queue are those of one process.
//
// The package decides nothing about installing and approving, and prints nothing.
package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/mcpserver"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Target is what is run: a package, and what it may do.
type Target struct {
	// Label names it in results: name@version, or the path it was read from.
	Label   string
	Package *bundle.Package
	Origin  registry.Origin
	// Signer is who signed it, as policies know it; empty for nobody.
	Signer string
	// Granted is what people granted to the package; the zero value is nothing. A
	// call of another package with it is refused.
	Granted approval.Granted
	// Place is where an installed version stands beside others of its skill.
	Place Place
	// Canary is the one that the call is counted for; nil for none.
	Canary *registry.Canary
	// Epoch is that of [Rights] from before the target was looked for; 0 when that is
	// not known.
	Epoch uint64
	// Closure is the one in which an installed version runs, which says what other
	// skills it reaches; empty for the shared one.
	Closure string
}

// A Place is where an installed version stands beside the others of its skill,
// with which it shares what the skill keeps. The zero value is that of a package
// that has no others.
type Place int

// The places.
const (
	// PlaceAlone: the package brings what it keeps to its own schema version, and
	// takes nothing back.
	PlaceAlone Place = iota
	// PlaceActive: it does, and when the data is of a later schema version, because
	// this version is active again, takes it back to what it was before.
	PlaceActive
	// PlaceKept is PlaceAlone for an active version whose person wished that the
	// data stays as it is.
	PlaceKept
	// PlaceBeside: another version is active, and the data is that one's: this
	// version uses it only when it has the same schema version.
	PlaceBeside
)

// A Call is one tool call.
type Call struct {
	Target Target
	// Tool names one of the package's tools; empty means its only one.
	Tool string
	// Input goes to the tool as it is. A tool with an input schema takes JSON
	// that fits it.
	Input []byte
	// Allow is what a person allowed for this run alone.
	Allow approval.EphemeralGrant
	// Lease is what a person approved for this very call, although policies ask
	// about it. It grants nothing.
	Lease approval.CallApproval
	// Begins is called before the guest of the call, or of its fallback, runs for the first
	// time: when it fails, the guest does not run. Nil is for nobody.
	Begins func() error
	// Logged is told each line that the call logs as it comes; nil is for nobody.
	Logged func(task.LogLine)
	// Workspace is the absolute directory relative paths resolve against.
	Workspace string
	// Bounds are what the call keeps to beside its grants; nil for no more bounds.
	Bounds *Bounds
	// Caller is who called, for the audit log: "human:ada".
	Caller string
	// Task and Step are those of a goal that the call is made for; empty for none.
	Task, Step string
	// Models says what models were asked so far within the call; nil when nobody counts.
	Models func() *task.ModelUse
	// Limits lower or raise the manifest's limits; zero fields keep them. The
	// ceilings of [Settings] hold in any case.
	Limits limit.Set
	// Config are the values an Extism guest reads with config_get.
	Config map[string]string
	// Recorder keeps what the guest sees of the world; nil for nobody.
	Recorder *recording.Recorder
	// Tape answers host functions, or lets them act, and Looks what the guest sees
	// of the clock, of randomness and of files; nil for nothing between. A Recorder
	// stands in the place of both.
	Tape  hostfn.Tape
	Looks wasi.Tape
	// Stage stands in for the machine; nil for the machine itself.
	Stage *Stage
	// Seed decides the randomness, and Began when time begins, of a guest that was not granted
	// those; zero for what is usual.
	Seed  uint64
	Began time.Time
	// NoCache runs the tool even if its answer is cached, and does not cache the new one.
	NoCache bool
	// Fresh runs the call in a new instance, whose initialisation runs for it, rather
	// than in one at the snapshot. It does not go with a session.
	Fresh bool
	// Session is the session of a [manifests.KindCodeSession] skill that the call
	// goes on with; empty for a call that leaves nothing behind. For other skills
	// it has no meaning here.
	Session string

	wall    time.Duration  // what the caller's limit was of which Limits.Seconds are left; 0 for the same
	as      string         // the name by which another skill called it; empty for none
	lent    capability.Set // what the host lends it for a part of its own call
	scratch store.KV       // instead of the store, for a migration
	play    *Playback      // what a replay shows, in place of everything
}

// Settings are what the runner never goes beyond.
type Settings struct {
	// Home is the host's directory, which guests never see, and Own are files of
	// its own outside of it.
	Home string
	Own  []string
	// Ceilings bound every call, whatever a manifest or a caller says.
	// A zero field is the ceiling of the table.
	Ceilings limit.Set
	// HTTPTimeout bounds one request of a guest; HTTPBytes its response body.
	HTTPTimeout time.Duration
	HTTPBytes   int64
	// Workers runs what nobody has decided about, and looks at what is to be
	// installed. Nil does both in this process.
	Workers *worker.Runtime
	// Isolated are the settings by which installed skills run in Workers, too. Policies
	// may say so of more.
	Isolated []Isolated
	// Scripts makes the modules of packages that an interpreter runs; nil makes none.
	Scripts Scripts
	// Unrevoked refuses a package that was revoked. It is asked about packages without
	// grants only: others are installed, and are stopped when they are revoked. Nil
	// refuses none.
	Unrevoked func(context.Context, *bundle.Package) error
	// Skills finds the skills that fallback commands name; nil finds none.
	Skills Skills
	// Sessions has the sessions of skills; nil has none.
	Sessions *session.Store
	// Models asks models for skills. If nil, such calls fail.
	Models hostfn.Models
	// Asks says why nobody answers prompts although there are Models; nil when they
	// always do.
	Asks func(context.Context) error
	// Ready says why no call may be made: what it was granted, or that it was made,
	// could not be vouched for. Nil asks nobody.
	Ready func(context.Context) error
	// Rights say what decides about a call while it goes on; nil when what it began
	// with holds to its end.
	Rights Rights
	// Servers runs MCP servers that are programs; nil runs none.
	Servers *mcpserver.Pool
	// Trials ends the trials of new versions; nil lets them go on.
	Trials Trials
	// Rates are how often a person lets skills be called. Every one that fits a
	// call holds for it.
	Rates []Rate
}

// A Runner runs tools. It is safe for concurrent use.
type Runner struct {
	log      hclog.Logger
	kv       store.KV
	sandbox  *sandbox.Runtime
	policies *policies.Set
	secrets  hostfn.SecretSource
	notifier hostfn.Notifier
	calls    *journal.Journal
	settings Settings

	gates gates
	meter meter

	mu      sync.Mutex
	digests map[*policies.Set]manifests.Digest // of the policies in force
	modules map[moduleKey]module
	checked map[string]*bundle.Package // by the interfaces they provide
	folders map[folderKey]*folder
}

// New makes a Runner.
func New(log hclog.Logger, kv store.KV, s *sandbox.Runtime, p *policies.Set, secrets hostfn.SecretSource, n hostfn.Notifier, calls *journal.Journal, settings Settings) *Runner {
	return &Runner{
		log: log, kv: kv, sandbox: s, policies: p, secrets: secrets, notifier: n, calls: calls,
		settings: settings, modules: map[moduleKey]module{}, checked: map[string]*bundle.Package{}, folders: map[folderKey]*folder{},
	}
}

// A part says why a guest runs: because a caller asked, or for another run.
type part string

const (
	asAsked       part = ""
	asFallback    part = "fallback"
	asHealthCheck part = "health_check"
	asMigration   part = "migration"
	asReplay      part = "replay"
	asTest        part = "test"
	asCall        part = "call" // by the guest of the other run
)

// run is one call on its way, with all its attempts.
type run struct {
	call     Call
	part     part
	from     *run          // the run it is a part of; nil for none
	chain    *chain        // of all runs that are parts of the same
	turn     *session.Turn // nil for a call in no session
	manifest *manifests.Manifest
	tool     manifests.Tool
	granted  capability.Set // for this run
	refused  error          // what was granted is for other bytes, or nobody knows what is forbidden
	policies *policies.Set  // in force when it began
	epoch    uint64         // of Rights, from which on changes count; 0 when none do
	present  present
	about    policies.Call  // what policies can look at of it
	limits   sandbox.Limits // of each attempt
	until    time.Time      // end of all attempts; zero: none of its own

	tries  []task.Attempt
	pause  time.Duration // before the next attempt
	queued time.Duration
	uses   []Use
	output []byte
	adrift bool   // it named a file by a relative path, and there is no workspace
	reason string // of the failure
	result task.Result

	outcome recording.Outcome // of the last attempt, for a recording or a replay
}

// work is one way to make a call: the call itself, or the call inside wrappers.
type work func(ctx context.Context) error

// Run makes the call. Whatever happens is in the result; it has an [fault.Error]
// when OK is false.
func (r *Runner) Run(ctx context.Context, c Call) task.Result {
	if c.Stage != nil {
		return r.try(ctx, c)
	}
	return r.serve(ctx, c, asAsked, nil)
}

// serve makes a call, records it and counts it. from is the run it is a part of.
func (r *Runner) serve(ctx context.Context, c Call, p part, from *run) task.Result {
	a := r.begin(c, p, from)
	ctx, span := trace.Start(ctx, "run", trace.String("skill", c.Target.Label), trace.String("run", string(a.result.RunID)))
	defer func() { span.End(failure(a.result)) }()
	if err := r.ready(ctx, a); err != nil {
		a.finish(err)
		return a.result
	}
	a.finish(r.settle(ctx, a))
	if c.Stage != nil { // a part of a call on a stage
		return a.result
	}
	r.recorded(ctx, a)
	r.meter.count(a)
	r.weigh(ctx, a)
	return a.result
}

// failure is why a call failed; nil when it did not.
func failure(res task.Result) error {
	if res.OK || res.Error == nil {
		return nil
	}
	return res.Error
}

// ready says why a call may not be made. A part of another call is made when that
// was.
func (r *Runner) ready(ctx context.Context, a *run) error {
	if r.settings.Ready == nil || a.from != nil || a.call.Stage != nil {
		return nil
	}
	return r.settings.Ready(ctx)
}

// begin is a run that was not made yet.
func (r *Runner) begin(c Call, p part, from *run) *run {
	a := &run{call: c, part: p, from: from, chain: &chain{}, manifest: c.Target.Package.Manifest()}
	granted, err := c.Target.Granted.To(c.Target.Package.Digest())
	if a.refused = err; c.Stage != nil {
		granted = granted.Union(c.Stage.Granted)
	}
	a.granted = a.bounded(granted)
	r.force(a)
	if from != nil {
		a.chain = from.chain
	}
	a.result = task.Result{
		RunID: task.NewRunID(), StartedAt: time.Now().UTC(), Skill: c.Target.Label,
		Digest: string(c.Target.Package.Digest()), Tool: c.Tool,
		Logs: []task.LogLine{}, Denials: []task.Denial{},
	}
	return a
}

// recorded records a run. One that cannot be recorded has failed.
func (r *Runner) recorded(ctx context.Context, a *run) {
	if err := r.record(ctx, a); err != nil {
		a.result.OK, a.result.Data, a.result.Raw = false, nil, nil
		a.result.Error = fault.AsError(fmt.Errorf("record the run in the audit log: %w", err))
	}
}

// barred refuses a call of other bytes than those that something was granted to, and
// one of a package that was revoked. On a stage and in a replay nothing is real.
func (r *Runner) barred(ctx context.Context, a *run) error {
	if a.refused != nil || a.imagined() || a.call.Target.Granted.Bound() || r.settings.Unrevoked == nil {
		return a.refused
	}
	return r.settings.Unrevoked(ctx, a.call.Target.Package)
}

// settle checks the call, and makes it inside its wrappers.
func (r *Runner) settle(ctx context.Context, a *run) error {
	return r.contain(a, func() error { return r.checkAndMake(ctx, a) })
}

func (r *Runner) checkAndMake(ctx context.Context, a *run) error {
	if err := r.barred(ctx, a); err != nil {
		return err
	}
	for _, check := range []func(*run) error{r.choose, r.bind, r.hasSessions, r.admit} {
		if err := check(a); err != nil {
			return err
		}
	}
	if err := r.permitted(a); err != nil {
		return err
	}
	w := work(func(ctx context.Context) error { return r.attempt(ctx, a) })
	for _, wrap := range r.wrappers(a.part) {
		w = wrap(a, w)
	}
	return w(ctx)
}

// wrappers are what stands around a call, the innermost first. What runs for
// another run has only what it needs.
func (r *Runner) wrappers(p part) []func(*run, work) work {
	switch p {
	case asMigration, asReplay:
		return nil
	case asHealthCheck, asTest:
		return []func(*run, work) work{r.prepared}
	case asFallback:
		return []func(*run, work) work{r.queued, r.sessioned, r.prepared}
	}
	return []func(*run, work) work{r.queued, r.retried, r.sessioned, r.prepared, r.guarded, r.backed, r.paced, r.remembered}
}

// choose finds the tool.
func (r *Runner) choose(a *run) error {
	if _, script := a.manifest.Script(a.call.Tool); !a.manifest.Type.IsCode() && !a.manifest.Type.IsMCP() && !script {
		return notRun(a)
	}
	if ps := a.manifest.Unsupported(); len(ps) > 0 {
		return fault.Errorf(fault.KindUsage, "%s asks for something that this host does not support: %s: %s", a.call.Target.Label, ps[0].Path, ps[0].Message).
			WithHint("%s", ps[0].Suggestion)
	}
	tool, ok := a.manifest.DefaultTool()
	if a.call.Tool != "" {
		tool, ok = a.manifest.Tool(a.call.Tool)
	}
	if all := commands(a.manifest); !ok && a.call.Tool == manifests.ExportWASI && len(all) == 1 {
		tool, ok = all[0], true
	}
	if !ok {
		return noTool(a)
	}
	a.tool, a.result.Tool = tool, tool.Name
	if kv := a.manifest.Security.Permissions.KV; kv != nil && kv.Migrate == tool.Name && a.part != asMigration {
		return fault.Errorf(fault.KindUsage, "%s of %s is run by the host alone, when stored data has to be brought to another schema version", tool.Name, a.call.Target.Label).
			WithHint("%s shows its tools", fault.ShowSkill(a.name()))
	}
	return nil
}

func noTool(a *run) error {
	var names []string
	for _, t := range a.manifest.Tools {
		names = append(names, t.Name)
	}
	if a.call.Tool == "" {
		return fault.Errorf(fault.KindUsage, "%s has several tools", a.call.Target.Label).
			WithHint("name one behind a colon, such as %s; its tools are: %s", fault.Run(a.call.Target.Label+":"+names[0]), fault.Choose(names...))
	}
	e := fault.Errorf(fault.KindNotFound, "%s has no tool %s", a.call.Target.Label, a.call.Tool)
	if best, ok := nearest.Name(a.call.Tool, names); ok {
		return e.WithHint("did you mean %s? its tools are: %s", fault.Choose(best), strings.Join(names, ", "))
	}
	return e.WithHint("its tools are: %s", fault.Choose(names...))
}

// admit checks the input, and the limits that were asked for.
func (r *Runner) admit(a *run) error {
	if len(a.tool.InputSchema) > 0 && !a.exactly() {
		if !json.Valid(a.call.Input) {
			return fault.Errorf(fault.KindUsage, "the input of %s is not JSON", a.tool.Name).
				WithHint("give an object, %s, or key=value pairs; %s shows the schema", fault.SetField(fault.FieldInput, "{...}"), fault.ShowSkill(a.name()))
		}
		if err := a.manifest.ValidateInput(a.tool, a.call.Input); err != nil {
			return fault.Wrap(fault.KindUsage, err).WithHint("%s shows what %s takes", fault.ShowSkill(a.name()), a.tool.Name)
		}
	}
	a.limits = r.limits(a)
	if total := r.total(a); total > 0 {
		a.until = time.Now().Add(total)
	}
	return nil
}

// left is what is left of the time for all attempts; 0 when that has no end.
func (a *run) left() time.Duration {
	if a.until.IsZero() {
		return 0
	}
	return max(time.Until(a.until), 1)
}

// patience is how long the call may wait for others: as long as it may run.
func (a *run) patience() time.Duration {
	if left := a.left(); left > 0 {
		return min(a.limits.Wall, left)
	}
	return a.limits.Wall
}

// longest is more than the call can take.
func (a *run) longest() time.Duration {
	p := a.manifest.Retries()
	each := 2*a.limits.Wall + duration.OfSeconds(p.MaxDelay) // waiting for others, and running
	return time.Duration(p.MaxAttempts+1)*each + 10*time.Second
}
