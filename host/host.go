// Package host is the composition root: it opens a home and wires the parts
// that work on it. Only commands and end-to-end tests import it.
package host

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/skillmodel"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/keyfile"
	"github.com/skillet-run/skillet/host/base/telemetry"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/install/evidence"
	"github.com/skillet-run/skillet/host/record/agents"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/rules"
	"github.com/skillet-run/skillet/host/record/settings"
	"github.com/skillet-run/skillet/host/record/signer"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// Options say which home is opened, and for whom.
type Options struct {
	// Home is the directory; it is made when it does not exist. [upkeep.DefaultHome]
	// finds the usual one.
	Home string
	// Environ is the environment settings are read from, in the form of
	// [os.Environ].
	Environ []string
	// EnvFile and Flags override settings, too, as [config.Layers] says.
	EnvFile string
	Flags   []string
	// LogOutput receives the log.
	LogOutput io.Writer
	// Notifier receives the notifications of skills.
	Notifier hostfn.Notifier
	// System is the directory of the administrator's bounds, usually [rules.SystemDir];
	// empty for none.
	System string
	// Expect is what the home is opened for.
	Expect Expectation
	// Keyring is where keys may be kept, and what homes are known by; nil means
	// that of the system.
	Keyring secret.Keyring
}

// An Expectation is what a home is opened for, so that what takes long is begun before it
// is asked for. It changes nothing else, but for [ExpectMuch].
type Expectation int

const (
	ExpectNothing Expectation = iota
	// ExpectPath is running something from a path: it needs a process of its own.
	ExpectPath
	// ExpectSkill is running an installed skill: its manifest will be read.
	ExpectSkill
	// ExpectMuch is a service: the store stays open while no other process wants it, and
	// the setting audit_sync may have records of calls wait for each other.
	ExpectMuch
)

// A Host is an opened home. It is safe for concurrent use, and several
// processes may have the same home open.
type Host struct {
	Home      string
	Log       hclog.Logger
	Config    *config.Config
	Policies  *policies.Set
	Decisions *journal.Journal
	Calls     *journal.Journal
	Ledger    *ledger.Ledger
	Registry  *registry.Registry
	Desk      *approval.Desk
	Installer *install.Installer
	Runner    *runner.Runner
	Settings  *settings.Settings
	Tester    *casetest.Tester
	Evidence  *evidence.Collector
	History   *history.History
	Secrets   *secret.Vault
	SecretKey *secret.Key
	Signer    *signer.Safe
	Trust     *trust.Book
	AuditKeys *audit.Keeper
	// Recordings are those of recent calls, and Replays makes them again.
	Recordings *recording.Shelf
	Replays    *replay.Replayer

	events   *event.Bus
	skills   *invoke.Skills
	invoke   *invoke.Service
	admit    *admit.Service
	govern   govern.Services
	agents   *agents.Agents
	plugins  *work.Plugins
	models   *work.Models
	work     *work.Service
	working  *work.Inside
	upkeep   *upkeep.Service
	rules    rules.Places
	maximum  *policies.Maximum // nil for none
	marked   string            // as [rules.Places.Mark] has it, from when Policies were read
	watch    *rules.Watch
	decided  *journal.Marker
	sessions *session.Store
	scripts  *author.Scripts
	shelf    *script.Shelf
	options  Options
	store    store.Opened
	sources  *source.Fetcher
	workers  *worker.Pool
	sandbox  *sandbox.Runtime
	apart    *worker.Runtime
	notifier hostfn.Notifier

	keyed sync.Once      // the key that signs records was asked for
	aside sync.WaitGroup // what is done beside a command
}

// Open opens a home. Close it when done.
func Open(ctx context.Context, o Options) (*Host, error) {
	home, err := upkeep.MakeHome(o.Home)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(ctx, home, config.Layers{EnvFile: o.EnvFile, Environ: o.Environ, Flags: o.Flags})
	if err != nil {
		return nil, err
	}
	s := c.Settings()
	h := &Host{Home: home, Config: c, options: o, rules: rules.Places{Home: home, System: o.System}, notifier: o.Notifier}
	h.SecretKey = secret.NewKey(h.keyOptions(o.Keyring))
	h.Secrets = secret.Open(h.path("secrets"), h.SecretKey)
	h.AuditKeys = audit.NewKeeper(h.path("keys"), h.SecretKey, h.Secrets)
	h.Log = telemetry.New(telemetry.Options{
		Output: o.LogOutput, Level: s.LogLevel, JSON: s.LogFormat == "json", Redactor: h.redactor(ctx),
	})
	if err := h.openWorkers(o.Expect == ExpectPath); err != nil {
		return nil, err
	}
	if o.Expect == ExpectSkill {
		h.aside.Go(manifests.Expect)
	}
	if err := h.openAll(ctx); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	h.wire()
	if o.Expect != ExpectNothing {
		h.expectRecord(ctx)
	}
	return h, nil
}

// openAll opens the sandbox beside the rest, of which it needs nothing.
func (h *Host) openAll(ctx context.Context) error {
	opened := make(chan error, 1)
	go func() { opened <- sandbox.Contain(func() error { return h.openSandbox(ctx) }) }()
	var err error
	for _, open := range []func(context.Context) error{h.openPolicies, h.openJournals, h.openStore} {
		if err = open(ctx); err != nil {
			break
		}
	}
	return errors.Join(err, <-opened)
}

// redactor strikes the values of the home's secrets out of the log. They are
// read when the first line is written. One that cannot be read is left out here;
// using it, and `skillet doctor`, say why.
func (h *Host) redactor(ctx context.Context) *telemetry.Redactor {
	ctx = context.WithoutCancel(ctx)
	return telemetry.NewLazyRedactor(func() []string {
		infos, err := h.Secrets.List(ctx)
		if err != nil {
			return nil
		}
		var values []string
		for _, s := range infos {
			if v, err := h.Secrets.Get(ctx, s.Name); err == nil {
				values = append(values, string(v))
			}
		}
		return values
	})
}

// openPolicies reads the policies in force, and the administrator's bounds.
func (h *Host) openPolicies(context.Context) (err error) {
	h.marked = h.rules.Mark() // from before they are read
	h.Policies, h.maximum, err = h.rules.Read()
	return err
}

// CatchUp brings the store to what the journal says. Call it before reading
// state.
func (h *Host) CatchUp(ctx context.Context) error {
	if err := upkeep.UnfinishedRepair(h.Home); err != nil {
		return err
	}
	return h.Ledger.CatchUp(ctx)
}

// Close releases the home.
func (h *Host) Close(ctx context.Context) error {
	var errs []error
	h.keepHistory(ctx)
	if h.apart != nil {
		errs = append(errs, h.apart.Close(context.WithoutCancel(ctx)))
	}
	if h.sandbox != nil {
		errs = append(errs, h.sandbox.Close(context.WithoutCancel(ctx)))
	}
	if h.workers != nil {
		errs = append(errs, h.workers.Close())
	}
	h.aside.Wait()
	errs = append(errs, h.closeWork()...)
	if h.Calls != nil {
		errs = append(errs, h.Calls.Flush())
	}
	if h.decided != nil {
		h.decided.Close()
	}
	if h.events != nil {
		h.events.Close()
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	return errors.Join(errs...)
}

func (h *Host) path(elem ...string) string {
	return filepath.Join(append([]string{h.Home}, elem...)...)
}

func (h *Host) openJournals(context.Context) error {
	for _, j := range []struct {
		name, log string
		to        **journal.Journal
		window    time.Duration
	}{{"decisions", audit.Decisions, &h.Decisions, 0}, {"calls", audit.Runs, &h.Calls, h.auditWindow()}} {
		dir := h.path("journal", j.name)
		if err := journal.FinishRepair(dir); err != nil {
			return err
		}
		o := h.journalOptions(j.log)
		o.Window = j.window
		var err error
		if *j.to, err = journal.Open(dir, o); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) journalOptions(log string) journal.Options {
	return journal.Options{Sync: true, LockWait: duration.OfSeconds(h.Config.Settings().LockWaitSeconds), Keys: h.AuditKeys, Log: log}
}

// auditWindow is how long the record of a call may wait to be synced: zero unless the
// home is served or its configuration says so.
func (h *Host) auditWindow() time.Duration {
	switch h.Config.Settings().AuditSync {
	case config.SyncEach:
		return 0
	case config.SyncGroup:
		return config.SyncWindow
	}
	if h.options.Expect == ExpectMuch {
		return config.SyncWindow
	}
	return 0
}

func (h *Host) openStore(ctx context.Context) error {
	linger := time.Duration(0)
	if h.options.Expect == ExpectMuch {
		linger = time.Hour
	}
	opened, err := upkeep.OpenStore(ctx, h.Log.Named("store"), h.Home, h.Config.Settings(), linger)
	if err == nil {
		h.store = opened
	}
	return err
}

func (h *Host) openWorkers(expect bool) (err error) {
	s := h.Config.Settings()
	if h.workers, err = worker.NewPool(h.Log.Named("worker"), worker.Settings{
		CompileTime: duration.OfSeconds(s.CompileTimeoutSeconds), CompileBytes: uint64(s.ModuleLimitFactor) * worker.DefaultCompileBytes,
	}); err == nil && expect {
		h.workers.Expect()
	}
	return err
}

func (h *Host) openSandbox(ctx context.Context) error {
	dir := h.path("cache", "compiled")
	key, err := keyfile.Ensure(ctx, h.path("keys", "cache"), duration.OfSeconds(h.Config.Settings().LockWaitSeconds))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
		h.Log.Warn("compiled code is not kept", "error", err)
		key, dir, err = keyfile.New(), "", nil
	}
	if err != nil {
		return err
	}
	s := h.Config.Settings()
	h.sandbox, err = sandbox.New(ctx, h.Log.Named("sandbox"), sandbox.Options{
		CacheDir: dir, CacheKey: key, Compiler: h.workers, Functions: hostfn.Functions(),
		CompileTime: duration.OfSeconds(s.CompileTimeoutSeconds), ModuleFactor: s.ModuleLimitFactor,
	})
	if err != nil {
		return err
	}
	h.sessions = session.Open(h.Log.Named("session"), h.path("sessions"), key, session.Settings{
		Bytes: int64(s.SessionMaxMB) << 20, Total: int64(s.SessionsTotalMB) << 20, LockWait: duration.OfSeconds(s.LockWaitSeconds),
	})
	h.apart = worker.NewRuntime(h.Log.Named("worker"), h.workers, h.sandbox, hostfn.Functions(), 0)
	h.shelf = script.NewShelf(h.Log.Named("script"), h.path("cache", "scripts"), key)
	return nil
}

func (h *Host) wire() {
	s := h.Config.Settings()
	kv := h.store.KV()
	h.SecretKey.Anchors().UseShelf(upkeep.AnchorShelf{KV: kv})
	h.sessions.Remember(kv)
	h.events = event.NewBus(h.Log.Named("event"), h.store)
	h.Registry = registry.New(kv, h.store.Blobs())
	h.Ledger = ledger.New(h.Decisions, kv, upkeep.Projections()...)
	h.wireTrust(kv)
	h.wireSources()
	h.decided = h.Decisions.Marker()
	h.watch = rules.NewWatch(h.rules, h.marked, h.Policies, h.decided.Count)
	h.Desk = approval.NewDesk(h.Ledger, kv, h.Policies, approval.Settings{Home: h.Home, Expiry: days(s.ProposalExpiryDays), Epoch: h.watch.Now})
	h.wireSkills()
	h.wireScripts()
	h.wireModels()
	h.Runner = runner.New(h.Log.Named("run"), kv, h.sandbox, h.Policies, h.Secrets, notifier(h.notifier), h.Calls, runner.Settings{
		Home: h.Home, Own: ownFiles(s),
		Ceilings:    h.ceilings(),
		HTTPTimeout: duration.OfSeconds(s.HTTPTimeoutSeconds), HTTPBytes: int64(s.HTTPMaxMB) << 20,
		Workers: h.apart, Sessions: h.sessions, Skills: h.skills, Unrevoked: h.skills.Unrevoked, Scripts: h.scripts, Trials: trials{h}, Rights: rights{h.watch, h.skills}, Rates: rates(s),
		Ready:  h.ready,
		Models: skillmodel.New(h.models), Asks: h.models.Ready,
	})
	h.wireRecordings(s)
	h.wireInvoke()
	h.Tester = casetest.New(h.Runner)
	h.wireApprovals(kv)
	h.Installer = install.New(h.Ledger, h.Registry, h.Desk, h.Trust, h.Policies, h.Runner, h.Tester, h.Home)
	h.wireWork()
	h.wireAdmit()
	h.wireGovern()
	h.wireUpkeep()
}

// ownFiles are the host's own files that may lie outside of the home.
func ownFiles(s config.Settings) []string {
	path, err := filepath.Abs(s.StoreKeyFile)
	if s.StoreKeyFile == "" || err != nil {
		return nil
	}
	return []string{path}
}

// notifier bounds how often a skill may ask for a person's attention.
func notifier(n hostfn.Notifier) hostfn.Notifier {
	if n == nil {
		return nil
	}
	return hostfn.NewThrottle(n, notifications, time.Minute)
}

// notifications is how many one skill may send in a minute.
const notifications = 10

func days(d float64) time.Duration { return time.Duration(d * float64(24*time.Hour)) }
