package upkeep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/session"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Check is one thing [Service.Diagnose] looked at.
type Check struct {
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
	// Warnings are what somebody should look at, though nothing is wrong.
	Warnings []string `json:"warnings,omitempty"`
	// Error is nil when all is well.
	Error *fault.Error `json:"error,omitempty"`
}

// A Diagnosis is what is right and wrong with a home and this machine.
type Diagnosis struct {
	OK     bool    `json:"ok"`
	Home   string  `json:"home"`
	Checks []Check `json:"checks"`
}

// Add adds a check.
func (d *Diagnosis) Add(c Check) {
	d.OK, d.Checks = d.OK && c.Error == nil, append(d.Checks, c)
}

// A Watch is told how far a diagnosis is. The zero value is told nothing.
type Watch struct {
	// Begins is called with the name of a check before it is made, and Ends with what it found.
	Begins func(name string)
	Ends   func(Check)
}

func (w Watch) begins(name string) {
	if w.Begins != nil {
		w.Begins(name)
	}
}

// Add adds a check to a diagnosis, and tells of it.
func (w Watch) Add(d *Diagnosis, c Check) {
	d.Add(c)
	if w.Ends != nil {
		w.Ends(c)
	}
}

// Failed is a diagnosis with a check that failed, of which it tells.
func (w Watch) Failed(d Diagnosis, check string, err *fault.Error) Diagnosis {
	w.Add(&d, Check{Name: check, Error: err})
	return d
}

// Diagnose looks at the home and at this machine. It changes nothing but what
// opening a home changes.
func (s *Service) Diagnose(ctx context.Context, by approval.Principal, watch Watch) (Diagnosis, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Diagnosis{}, err
	}
	d := Diagnosis{OK: true, Home: s.Home, Checks: []Check{}}
	for _, c := range []struct {
		name string
		look func(context.Context) (string, error)
		warn func(context.Context) []string
	}{
		{"home", s.checkModes, nil},
		{"settings", s.checkSettings, nil},
		{"policies", s.checkPolicies, s.policyWarnings},
		{"audit", s.checkJournals, nil},
		{"store", s.checkStore, s.otherBackend},
		{"state", s.checkState, nil},
		{"history", s.checkHistory, nil},
		{"packages", s.checkPackages, s.quarantined},
		{"catalog", s.checkCatalog, s.unpacked},
		{"health", s.checkHealth, nil},
		{"secrets", s.checkSecrets, nil},
		{"sessions", s.checkSessions, nil},
		{"engine", s.checkEngine, nil},
		{"cache", s.checkCache, nil},
		{"limits", s.checkLimits, nil},
		{"workers", s.checkWorkers, s.unbounded},
		{"sandbox", s.checkSandbox, nil},
	} {
		watch.begins(c.name)
		detail, err := c.look(ctx)
		check := Check{Name: c.name, Detail: detail, Error: s.Explain(err)}
		if c.warn != nil {
			check.Warnings = c.warn(ctx)
		}
		watch.Add(&d, check)
	}
	return d, nil
}

// checkModes looks for files that others could read or write.
func (s *Service) checkModes(context.Context) (string, error) {
	n := 0
	err := filepath.WalkDir(s.Home, func(path string, d os.DirEntry, err error) error {
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
		if private(s.Home, path) && info.Mode().Perm()&0o077 != 0 {
			return fault.Errorf(fault.KindVerification, "%s is open to others (mode %o)", path, info.Mode().Perm()).WithHint("run `chmod -R go= %s`", s.Home)
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

func (s *Service) checkSettings(context.Context) (string, error) {
	set := 0
	for _, v := range s.Config.List() {
		if v.Source != "default" {
			set++
		}
	}
	return fmt.Sprintf("%d set, the others have their defaults", set), nil
}

func (s *Service) checkJournals(ctx context.Context) (string, error) {
	d, err := s.Decisions.Verify(ctx)
	if err != nil {
		return "", err
	}
	c, err := s.Calls.Verify(ctx)
	detail := fmt.Sprintf("%d decisions, %d runs, chains unbroken", d.Entries, c.Entries)
	if d.Signed != nil {
		detail += " and signed"
	}
	return detail, err
}

func (s *Service) checkStore(ctx context.Context) (string, error) {
	r, err := s.verifyStore(ctx)
	return fmt.Sprintf("%d entries, all as written", r.Entries), err
}

// otherBackend says that the store is not kept in what the settings say.
func (s *Service) otherBackend(context.Context) []string {
	is, wanted := s.backend().Name(), s.wanted().Name()
	if is == wanted {
		return nil
	}
	return []string{fmt.Sprintf("it is kept by %s, and the setting store_backend says %s: rebuilding the store moves it", is, wanted)}
}

func (s *Service) checkState(ctx context.Context) (string, error) {
	if err := s.CatchUp(ctx); err != nil {
		return "", err
	}
	all, err := s.Registry.List(ctx)
	return fmt.Sprintf("%d versions installed", len(all)), err
}

// checkPackages reads every installed package byte by byte.
func (s *Service) checkPackages(ctx context.Context) (string, error) {
	all, err := s.Registry.List(ctx)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, skill := range all {
		if _, err := s.Registry.Package(ctx, skill.Digest); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", skill.Ref(), err))
		}
	}
	return fmt.Sprintf("%d read, every byte as approved", len(all)), errors.Join(errs...)
}

// quarantined are the installed versions that were revoked and are not run, for
// [Service.Diagnose].
func (s *Service) quarantined(ctx context.Context) []string {
	all, err := s.Registry.List(ctx)
	if err != nil {
		return nil // which the check says
	}
	var lines []string
	for _, skill := range all {
		if d := skill.Disabled; d != nil && d.Quarantined {
			lines = append(lines, fmt.Sprintf("%s is in quarantine: %s", skill.Ref(), d.Reason))
		}
	}
	return lines
}

func (s *Service) checkSecrets(ctx context.Context) (string, error) {
	infos, err := s.Secrets.List(ctx)
	if err != nil {
		return "", err
	}
	for _, i := range infos {
		if _, err := s.Secrets.Texts(ctx, i.Name); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d, sealed with the key in: %s", len(infos), s.SecretKey.Where()), nil
}

// endless is (module (func (export "spin") (loop br 0))), with a manifest.
var endless = map[string][]byte{
	"skill.json": []byte(`{"name":"endless","version":"1.0.0","description":"never ends","type":"code_inline","command":"main.wasm","tools":[{"name":"spin","description":"never ends"}]}`),
	"main.wasm": []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" +
		"\x07\x08\x01\x04spin\x00\x00" + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b"),
}

// DoctorCaller is who runs the module with which the sandbox is checked.
const DoctorCaller = "host:doctor"

// checkSandbox runs a module that never ends, and sees that it does.
func (s *Service) checkSandbox(ctx context.Context) (string, error) {
	if err := s.Ready(ctx); err != nil { // then nothing is run
		return "", err
	}
	p, err := bundle.FromFiles(endless)
	if err != nil {
		return "", err
	}
	res := s.Runner.Run(ctx, runner.Call{
		Target: runner.Target{Label: "doctor:endless", Package: p, Origin: registry.OriginBundled},
		Caller: DoctorCaller, Limits: limit.Set{Fuel: 10_000_000, Seconds: 5},
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
func (s *Service) checkEngine(context.Context) (string, error) {
	kind := "interpreter"
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" { // where it has a compiler
		kind = "compiler"
	}
	return fmt.Sprintf("wazero %s, %s for %s; instances are reset by: %s", engineVersion(), kind, runtime.GOARCH, s.Sandbox.Strategy()), nil
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
func (s *Service) checkCache(context.Context) (string, error) {
	dir := s.path("cache", "compiled")
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
func (s *Service) checkLimits(context.Context) (string, error) {
	var all []string
	for _, l := range limit.All() {
		text := l.Brief(l.Default())
		if most := l.Of(s.Ceilings); most > 0 {
			text += " (at most " + l.Text(most) + ")"
		}
		all = append(all, text)
	}
	all = append(all, fmt.Sprintf("%d KB log", sandbox.DefaultLimits().LogBytes>>10), fmt.Sprintf("%d MB HTTP answer", s.Config.Settings().HTTPMaxMB))
	return strings.Join(all, ", "), nil
}

// checkWorkers starts a worker process, and says what bounds it.
func (s *Service) checkWorkers(context.Context) (string, error) {
	walls, err := s.Workers.Walls()
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

// unbounded warns of worker processes that keep skills apart, as settings want it, without
// what the system would have to bound them by.
func (s *Service) unbounded(context.Context) []string {
	settings := s.Config.Settings()
	if settings.Isolation == config.IsolationShared && len(settings.Isolated()) == 0 {
		return nil
	}
	walls, err := s.Workers.Walls()
	if err != nil { // which is said where it is looked for
		return nil
	}
	var not []string
	for _, w := range walls {
		if !w.Holds {
			not = append(not, w.Name)
		}
	}
	if len(not) == 0 {
		return nil
	}
	return []string{"skills run in processes of their own, which this system does not bound by: " + strings.Join(not, ", ")}
}

func (s *Service) checkPolicies(context.Context) (string, error) {
	detail := fmt.Sprintf("%d in force", len(s.Policies.List()))
	if s.Bounds != "" {
		detail += ", within " + s.Bounds
	}
	return detail, nil
}

// policyWarnings are what the authors of policies should know.
func (s *Service) policyWarnings(context.Context) []string {
	var all []string
	for _, w := range s.Policies.Warnings() {
		all = append(all, w.String())
	}
	return all
}

// checkSessions looks for sessions that cannot go on.
func (s *Service) checkSessions(ctx context.Context) (string, error) {
	all, err := s.Sessions.List(ctx)
	if err != nil {
		return "", err
	}
	ended := 0
	for _, i := range all {
		if i.Damaged {
			return "", fault.Errorf(fault.KindVerification, "session %s: %w", i.Key(), session.ErrDamaged).
				WithHint("delete it with %s, or put the file back from a copy of the home", fault.CloseSession(i.Key().String()))
		}
		if i.Ended {
			ended++
		}
	}
	return fmt.Sprintf("%d open, %d ended and kept", len(all)-ended, ended), nil
}
