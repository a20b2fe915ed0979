package host

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/base/store/keyfile"
	"github.com/skillet-run/skillet/host/base/telemetry"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/audit"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/internal/duration"
)

// openPolicies reads the policies in force, and the administrator's bounds.
func (h *Host) openPolicies(context.Context) (err error) {
	h.marked = h.rules.Mark() // from before they are read
	h.policies, h.maximum, err = h.rules.Read()
	return err
}

func (h *Host) openJournals(context.Context) error {
	for _, j := range []struct {
		name, log string
		to        **journal.Journal
		window    time.Duration
	}{{"decisions", audit.Decisions, &h.decisions, 0}, {"calls", audit.Runs, &h.calls, upkeep.AuditWindow(h.config.Settings(), h.options.Expect == ExpectMuch)}} {
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
	return journal.Options{Sync: true, LockWait: duration.OfSeconds(h.config.Settings().LockWaitSeconds), Keys: h.auditKeys, Log: log}
}

func (h *Host) openStore(ctx context.Context) error {
	linger := time.Duration(0)
	if h.options.Expect == ExpectMuch {
		linger = time.Hour
	}
	opened, err := upkeep.OpenStore(ctx, h.log.Named("store"), h.home, h.config.Settings(), linger)
	if err == nil {
		h.store = opened
	}
	return err
}

func (h *Host) openWorkers(expect bool) (err error) {
	s := h.config.Settings()
	if h.workers, err = worker.NewPool(h.log.Named("worker"), worker.Settings{
		CompileTime: duration.OfSeconds(s.CompileTimeoutSeconds), CompileBytes: uint64(s.ModuleLimitFactor) * worker.DefaultCompileBytes,
		IdleProcesses: s.IsolatedProcesses,
	}); err == nil && expect {
		h.workers.Expect()
	}
	return err
}

func (h *Host) openSandbox(ctx context.Context) error {
	dir := h.path("cache", "compiled")
	key, err := keyfile.Ensure(ctx, h.path("keys", "cache"), duration.OfSeconds(h.config.Settings().LockWaitSeconds))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
		h.log.Warn("compiled code is not kept", "error", err)
		key, dir, err = keyfile.New(), "", nil
	}
	if err != nil {
		return err
	}
	s := h.config.Settings()
	h.sandbox, err = sandbox.New(ctx, h.log.Named("sandbox"), sandbox.Options{
		CacheDir: dir, CacheKey: key, Compiler: h.workers, Functions: hostfn.Functions(),
		CompileTime: duration.OfSeconds(s.CompileTimeoutSeconds), ModuleFactor: s.ModuleLimitFactor, Larger: script.Larger(),
	})
	if err != nil {
		return err
	}
	h.sessions = session.Open(h.log.Named("session"), h.path("sessions"), key, session.Settings{
		Bytes: int64(s.SessionMaxMB) << 20, Total: int64(s.SessionsTotalMB) << 20, LockWait: duration.OfSeconds(s.LockWaitSeconds),
	})
	h.apart = worker.NewRuntime(h.log.Named("worker"), h.workers, h.sandbox, hostfn.Functions(), s.IsolatedProcesses)
	h.modules = script.NewCache(h.log.Named("script"), h.path("cache", "scripts"), key)
	return nil
}

// redactor strikes the values of the home's secrets out of the log. They are read when
// the first line is written, and when they have changed.
func (h *Host) redactor(ctx context.Context) *telemetry.Redactor {
	ctx = context.WithoutCancel(ctx)
	return telemetry.NewLazyRedactor(h.secrets.Version, func() []string { return h.secrets.Values(ctx) })
}

// ready says why no call may be made: the record of decisions, which says what was
// granted, or that of runs is not what this home signed.
func (h *Host) ready(ctx context.Context) error {
	for _, j := range []*journal.Journal{h.decisions, h.calls} {
		if err := j.Ready(ctx); err != nil {
			return meaning.Of(err)
		}
	}
	return nil
}
