// Package host is the composition root: it opens a home, wires the parts that work on it,
// and hands out the services of the application layer, which do everything. Only edges and
// end-to-end tests import it.
package host

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
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
	"github.com/skillet-run/skillet/host/run/mcplogin"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/replay"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/internal/reexec"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// Options say which home is opened, and for whom.
type Options struct {
	// Home is the directory; it is made when it does not exist. [upkeep.DefaultHome]
	// finds the usual one.
	Home string
	// Environ is the environment settings are read from, in the form of [os.Environ].
	Environ []string
	// EnvFile and Flags override settings, too, as [config.Layers] says.
	EnvFile string
	Flags   []string
	// LogOutput receives the log.
	LogOutput io.Writer
	// Notifier receives the notifications of skills.
	Notifier hostfn.Notifier
	// System is the directory of the administrator's bounds, usually [rules.SystemDir]; empty for none.
	System string
	// Expect is what the home is opened for.
	Expect Expectation
	// Keyring is where keys may be kept, and what homes are known by; nil means that of the system.
	Keyring secret.Keyring
	Catalog *admit.Catalog // what comes with the program, see [admit.Builtin]; nil for none
}

// What an edge gives to [Open].
type (
	// A Keyring is where keys may be kept.
	Keyring = secret.Keyring
	// A Notification is what a skill has to say to a person.
	Notification = hostfn.Notification
)

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
	// records of calls may wait for each other, as the setting audit_sync says.
	ExpectMuch
)

// A Host is an opened home. It is safe for concurrent use, also by several processes.
type Host struct {
	home       string
	log        hclog.Logger
	config     *config.Config
	policies   *policies.Set
	decisions  *journal.Journal
	calls      *journal.Journal
	ledger     *ledger.Ledger
	registry   *registry.Registry
	approvals  *approval.Store
	installer  *install.Installer
	runner     *runner.Runner
	settings   *settings.Settings
	tester     *casetest.Tester
	evidence   *evidence.Collector
	history    *history.History
	secrets    *mcplogin.Keeper
	secretKey  *secret.Key
	signer     *signer.Keystore
	trust      *trust.Store
	auditKeys  *audit.Keystore
	recordings *recording.Archive // of recent calls
	replays    *replay.Replayer
	tries      *replay.Collection
	events     *event.Bus
	skills     *invoke.Skills
	invoke     *invoke.Service
	code       *code.Service
	admit      *admit.Service
	govern     govern.Services
	agents     *agents.Agents
	plugins    *work.Plugins
	models     *work.Models
	work       *work.Service
	working    *work.Inside
	upkeep     *upkeep.Service
	rules      rules.Sources
	maximum    *policies.Maximum // nil for none
	marked     string            // as [rules.Sources.Mark] has it, from when Policies were read
	watch      *rules.Watch
	decided    *journal.Marker
	sessions   *session.Store
	scripts    *author.Scripts
	modules    *script.Cache
	options    Options
	store      store.Opened
	sources    *source.Fetcher
	workers    *worker.Pool
	sandbox    *sandbox.Runtime
	apart      *worker.Runtime
	notifier   hostfn.Notifier

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
	h := &Host{home: home, config: c, options: o, rules: rules.Sources{Home: home, System: o.System}, notifier: o.Notifier}
	h.secretKey = secret.NewKey(upkeep.KeyOptions(home, c, o.Keyring))
	h.secrets = mcplogin.NewKeeper(secret.Open(h.path("secrets"), h.secretKey), h.path("secrets"), nil)
	h.auditKeys = audit.NewKeystore(h.path("keys"), h.secretKey, h.secrets.Vault)
	h.log = telemetry.New(telemetry.Options{
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

// Home is the directory.
func (h *Host) Home() string { return h.home }

// Log is where the home logs to.
func (h *Host) Log() hclog.Logger { return h.log }

// Admit changes what is installed, and answers questions about it.
func (h *Host) Admit() *admit.Service { return h.admit }

// Govern has the services for who decides what.
func (h *Host) Govern() govern.Services { return h.govern }

// Invoke makes calls of skills.
func (h *Host) Invoke() *invoke.Service { return h.invoke }

// Code runs scripts that call skills.
func (h *Host) Code() *code.Service { return h.code }

// Upkeep keeps the home in order.
func (h *Host) Upkeep() *upkeep.Service { return h.upkeep }

// Work has goals done, and shows what that rests on.
func (h *Host) Work() *work.Service { return h.work }

// CatchUp brings the store to what the journal says. Call it before reading state.
func (h *Host) CatchUp(ctx context.Context) error {
	if err := upkeep.UnfinishedRepair(h.home); err != nil {
		return err
	}
	return h.ledger.CatchUp(ctx)
}

// Decided is another number at once when anything was decided anywhere, or policies changed.
func (h *Host) Decided() uint64 { return h.watch.Decided() }

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
	if h.calls != nil {
		errs = append(errs, h.calls.Flush())
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
	return filepath.Join(append([]string{h.home}, elem...)...)
}

func days(d float64) time.Duration { return time.Duration(d * float64(24*time.Hour)) }

// Diagnose is [upkeep.Service.Diagnose] for a home that is not open. One that cannot be
// opened is one failed check.
func Diagnose(ctx context.Context, by approval.Principal, o Options, watch upkeep.Watch) (upkeep.Diagnosis, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return upkeep.Diagnosis{}, err
	}
	h, err := Open(ctx, o)
	if err != nil {
		return watch.Failed(upkeep.Diagnosis{Home: o.Home}, "open", meaning.Of(err)), nil
	}
	d, err := h.Upkeep().Diagnose(ctx, by, watch)
	if failed := h.Close(ctx); failed != nil {
		d = watch.Failed(d, "close", meaning.Of(failed))
	}
	d.Home = o.Home
	return d, err
}

// Roles are what this program does when it started itself again. Its main looks there
// first.
func Roles() reexec.Table {
	return reexec.Table{
		reexec.Worker.Word:   func([]string) int { return worker.Main() },
		reexec.Bundler.Word:  script.RunBundler,
		reexec.Plugin.Word:   work.ServePlugin,
		reexec.Attempts.Word: upkeep.ServeEscape,
	}
}
