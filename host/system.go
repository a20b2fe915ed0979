package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// SystemDir is the directory in which an administrator of this machine sets
// bounds for every home on it: policies/*.cedar, and [policies.MaximumFile]. No
// setting moves it: whoever is bounded could.
func SystemDir() string {
	switch runtime.GOOS {
	case "windows":
		return `C:\ProgramData\skillet`
	case "darwin":
		return "/Library/Application Support/skillet"
	}
	return "/etc/skillet"
}

// openPolicies reads the policies that came with the program, those of the
// administrator, and those of the home.
func (h *Host) openPolicies(context.Context) (err error) {
	h.rules = h.ruleFiles() // from before they are read
	h.Policies, h.maximum, err = h.readPolicies()
	return err
}

func (h *Host) readPolicies() (*policies.Set, *policies.Maximum, error) {
	if err := h.checkSystem(); err != nil {
		return nil, nil, err
	}
	m, err := policies.LoadMaximum(h.system)
	if err != nil {
		return nil, nil, fault.Wrap(fault.KindUsage, err).WithHint("its administrator has to correct it: without it nobody knows what is allowed")
	}
	p, err := policies.Load(h.policyDirs()...)
	if err != nil {
		return nil, nil, fault.Wrap(fault.KindUsage, err).WithHint("correct the file, or move it out of its directory; `skillet policy check FILE` checks one")
	}
	return p.Within(m), m, nil
}

// policyDirs are where policies are, besides those that came with the program.
func (h *Host) policyDirs() []string {
	dirs := []string{h.path("policies")}
	if h.system != "" {
		dirs = append(dirs, filepath.Join(h.system, "policies"))
	}
	return dirs
}

// checkSystem refuses bounds that somebody else than the administrator could
// have set.
func (h *Host) checkSystem() error {
	if h.system == "" || runtime.GOOS == "windows" { // where modes say nothing
		return nil
	}
	for _, path := range []string{h.system, filepath.Join(h.system, policies.MaximumFile), filepath.Join(h.system, "policies")} {
		st, err := os.Stat(path)
		if absent.Is(err, path) {
			continue
		}
		if err != nil {
			return fault.Errorf(fault.KindUsage, "look at the administrator's bounds: %w", err).
				WithHint("its administrator has to correct it, or take it away: without it nobody knows what is allowed")
		}
		if st.Mode().Perm()&0o022 != 0 {
			return fault.Errorf(fault.KindVerification, "%s can be changed by others than its owner (mode %o)", path, st.Mode().Perm()).
				WithHint("its administrator has to run `chmod go-w %s`", path)
		}
	}
	return nil
}

// ceilings are what no call may exceed: the settings of the home, and what the
// administrator allows.
func (h *Host) ceilings() config.Settings {
	s, m := h.Config.Settings(), h.maximum
	if m == nil {
		return s
	}
	if m.MaxMemoryMB > 0 {
		s.MaxMemoryMB = min(s.MaxMemoryMB, m.MaxMemoryMB)
	}
	if m.MaxExecutionSeconds > 0 {
		s.MaxExecutionSeconds = min(s.MaxExecutionSeconds, m.MaxExecutionSeconds)
	}
	if m.MaxFuel > 0 {
		s.MaxFuel = min(s.MaxFuel, m.MaxFuel)
	}
	return s
}

// callCeilings are the ceilings as the runner takes them.
func (h *Host) callCeilings() runner.Limits {
	s := h.ceilings()
	return runner.Limits{
		MemoryBytes: uint64(s.MaxMemoryMB) << 20, Fuel: s.MaxFuel, Wall: seconds(s.MaxExecutionSeconds),
	}
}

func (h *Host) checkPolicies(context.Context) (string, error) {
	detail := fmt.Sprintf("%d in force", len(h.Policies.List()))
	if h.maximum != nil {
		detail += ", within " + filepath.Join(h.system, policies.MaximumFile)
	}
	return detail, nil
}

// policyWarnings are what the authors of policies should know, for [Diagnose].
func (h *Host) policyWarnings() []string {
	var all []string
	for _, w := range h.Policies.Warnings() {
		all = append(all, w.String())
	}
	return all
}

// rates are how often skills may be called, as the runner takes them.
func rates(s config.Settings) []runner.Rate {
	var all []runner.Rate
	for _, l := range s.RateLimits {
		all = append(all, runner.Rate{Skill: l.Skill, Tool: l.Tool, RateLimit: manifests.RateLimit{MaxCalls: l.MaxCalls, PerSeconds: l.PerSeconds}})
	}
	return all
}
