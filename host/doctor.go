package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Check is one thing [Diagnose] looked at.
type Check struct {
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
	// Warnings are what somebody should look at, though nothing is wrong.
	Warnings []string `json:"warnings,omitempty"`
	// Error is nil when all is well.
	Error *fault.Error `json:"error,omitempty"`
}

// Diagnose looks at a home and at this machine. It changes nothing but what
// opening a home changes. A home that cannot be opened is one failed check.
func Diagnose(ctx context.Context, o Options) []Check {
	h, err := Open(ctx, o)
	if err != nil {
		return []Check{{Name: "open", Error: Explain(err)}}
	}
	var checks []Check
	for _, c := range []struct {
		name string
		look func(context.Context) (string, error)
	}{
		{"home", h.checkModes},
		{"settings", h.checkSettings},
		{"policies", h.checkPolicies},
		{"audit", h.checkJournals},
		{"store", h.checkStore},
		{"state", h.checkState},
		{"history", h.checkHistory},
		{"packages", h.checkPackages},
		{"health", h.checkHealth},
		{"secrets", h.checkSecrets},
		{"sessions", h.checkSessions},
		{"engine", h.checkEngine},
		{"cache", h.checkCache},
		{"limits", h.checkLimits},
		{"workers", h.checkWorkers},
		{"sandbox", h.checkSandbox},
	} {
		detail, err := c.look(ctx)
		check := Check{Name: c.name, Detail: detail, Error: Explain(err)}
		switch c.name {
		case "policies":
			check.Warnings = h.policyWarnings()
		case "packages":
			check.Warnings = h.quarantined(ctx)
		}
		checks = append(checks, check)
	}
	if err := h.Close(ctx); err != nil {
		checks = append(checks, Check{Name: "close", Error: Explain(err)})
	}
	return checks
}

// checkModes looks for files that others could read or write.
func (h *Host) checkModes(context.Context) (string, error) {
	n := 0
	err := filepath.WalkDir(h.Home, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) { // another command may be at work
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		n++
		if private(h.Home, path) && info.Mode().Perm()&0o077 != 0 {
			return fault.Errorf(fault.KindVerification, "%s is open to others (mode %o)", path, info.Mode().Perm()).WithHint("run `chmod -R go= %s`", h.Home)
		}
		return nil
	})
	return fmt.Sprintf("%d files, none within reach of others", n), err
}

// private reports whether a path must be its owner's alone whatever the mode
// of the home is.
func private(home, path string) bool {
	rel, err := filepath.Rel(home, path)
	if err != nil {
		return true
	}
	for _, dir := range []string{"keys", "secrets", "store", "cache", "sessions"} {
		if rel == dir {
			return true
		}
	}
	return rel == "." || filepath.Dir(rel) == "keys" || filepath.Dir(rel) == "secrets"
}

func (h *Host) checkSettings(context.Context) (string, error) {
	set := 0
	for _, v := range h.Config.List() {
		if v.Source != "default" {
			set++
		}
	}
	return fmt.Sprintf("%d set, the others have their defaults", set), nil
}

func (h *Host) checkJournals(ctx context.Context) (string, error) {
	d, err := h.Decisions.Verify(ctx)
	if err != nil {
		return "", err
	}
	c, err := h.Calls.Verify(ctx)
	detail := fmt.Sprintf("%d decisions, %d runs, chains unbroken", d.Entries, c.Entries)
	if d.Signed != nil {
		detail += " and signed"
	}
	return detail, err
}

func (h *Host) checkStore(ctx context.Context) (string, error) {
	r, err := h.VerifyStore(ctx)
	return fmt.Sprintf("%d entries, all as written", r.Entries), err
}

func (h *Host) checkState(ctx context.Context) (string, error) {
	if err := h.CatchUp(ctx); err != nil {
		return "", err
	}
	all, err := h.Registry.List(ctx)
	return fmt.Sprintf("%d versions installed", len(all)), err
}

// checkPackages reads every installed package byte by byte.
func (h *Host) checkPackages(ctx context.Context) (string, error) {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, s := range all {
		if _, err := h.Registry.Package(ctx, s.Digest); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Ref(), err))
		}
	}
	return fmt.Sprintf("%d read, every byte as approved", len(all)), errors.Join(errs...)
}

// quarantined are the installed versions that were revoked and are not run, for
// [Diagnose].
func (h *Host) quarantined(ctx context.Context) []string {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil // which the check says
	}
	var lines []string
	for _, s := range all {
		if d := s.Disabled; d != nil && d.Quarantined {
			lines = append(lines, fmt.Sprintf("%s is in quarantine: %s", s.Ref(), d.Reason))
		}
	}
	return lines
}

func (h *Host) checkSecrets(ctx context.Context) (string, error) {
	infos, err := h.Secrets.List(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range infos {
		if _, err := h.Secrets.Get(ctx, s.Name); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d, sealed with the key in: %s", len(infos), h.SecretKey.Where()), nil
}

// endless is (module (func (export "spin") (loop br 0))), with a manifest.
var endless = map[string][]byte{
	"skill.json": []byte(`{"name":"endless","version":"1.0.0","description":"never ends","type":"code_inline","command":"main.wasm","tools":[{"name":"spin","description":"never ends"}]}`),
	"main.wasm": []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" +
		"\x07\x08\x01\x04spin\x00\x00" + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b"),
}

// doctorCaller is who runs the module with which the sandbox is checked.
const doctorCaller = "host:doctor"

// checkSandbox runs a module that never ends, and sees that it does.
func (h *Host) checkSandbox(ctx context.Context) (string, error) {
	if err := h.ready(ctx); err != nil { // then nothing is run
		return "", err
	}
	p, err := bundle.FromFiles(endless)
	if err != nil {
		return "", err
	}
	res := h.Runner.Run(ctx, runner.Call{
		Target: runner.Target{Label: "doctor:endless", Package: p, Origin: registry.OriginBundled},
		Caller: doctorCaller, Limits: runner.Limits{Fuel: 10_000_000, Wall: 5 * time.Second},
	})
	switch {
	case res.OK:
		return "", fault.Errorf(fault.KindInternal, "the sandbox did not stop a module that never ends")
	case !errors.Is(res.Error, sandbox.ErrFuel) && !errors.Is(res.Error, sandbox.ErrTime):
		return "", fmt.Errorf("a module that never ends could not be tried: %w", res.Error)
	}
	return fmt.Sprintf("a module that never ends was stopped after %d fuel, %.1f ms", res.Fuel, res.DurationMS), nil
}

// engineModule is the path of the engine's module.
const engineModule = "github.com/tetratelabs/wazero"

// checkEngine says what runs modules, and how instances become fresh again.
func (h *Host) checkEngine(context.Context) (string, error) {
	kind := "interpreter"
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" { // where it has a compiler
		kind = "compiler"
	}
	return fmt.Sprintf("wazero %s, %s for %s; instances are reset by: %s", engineVersion(), kind, runtime.GOARCH, h.sandbox.Strategy()), nil
}

// engineVersion is the version of the engine that was built in.
func engineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == engineModule {
				return d.Version
			}
		}
	}
	return "of unknown version"
}

// checkCache looks at the compiled code that is kept. That it is whole is seen
// whenever it is used.
func (h *Host) checkCache(context.Context) (string, error) {
	dir := h.path("cache", "compiled")
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) || err == nil && d.IsDir() { // another command may be at work
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil {
			files, size = files+1, size+info.Size()
		}
		return nil
	})
	return fmt.Sprintf("%s: %d files, %.1f MB", dir, files, float64(size)/(1<<20)), err
}

// checkLimits says what bounds a call when its manifest does not, and at most.
func (h *Host) checkLimits(context.Context) (string, error) {
	l, s := sandbox.DefaultLimits(), h.ceilings()
	return fmt.Sprintf("memory %d MB (at most %d), %v (at most %v), fuel %d (at most %d), output %d KB, log %d KB, %d host calls, HTTP answer %d MB",
		l.MemoryBytes>>20, s.MaxMemoryMB, l.Wall, seconds(s.MaxExecutionSeconds), l.Fuel, s.MaxFuel,
		l.OutputBytes>>10, l.LogBytes>>10, l.HostCalls, s.HTTPMaxMB), nil
}

// checkWorkers starts a worker process, and says what bounds it.
func (h *Host) checkWorkers(context.Context) (string, error) {
	walls, err := h.workers.Walls()
	var holds, not []string
	for _, w := range walls {
		if w.Holds {
			holds = append(holds, w.Name)
		} else {
			not = append(not, w.Name+" ("+w.Detail+")")
		}
	}
	detail := "bounded by: " + strings.Join(holds, ", ")
	if len(not) > 0 {
		detail += "; not by: " + strings.Join(not, ", ")
	}
	return detail, err
}
