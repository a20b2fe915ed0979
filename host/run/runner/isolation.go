package runner

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/policies"
)

// How a skill is kept apart from others.
const (
	// IsolationShared: its guests run in the process of the host, as those of others do,
	// each in a sandbox.
	IsolationShared = "shared"
	// IsolationProcess: they run in worker processes that run no other skill.
	IsolationProcess = "process"
)

// An Isolation is how a skill is kept apart from others, and who decided that.
type Isolation struct {
	Mode string `json:"mode"` // [IsolationShared] or [IsolationProcess]
	// Setting is the setting that decided, and Policies are those that did, for Reason.
	// All are empty where nobody decided.
	Setting  string   `json:"setting,omitempty"`
	Policies []string `json:"policies,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// Isolated is a setting by which skills run in processes of their own.
type Isolated struct {
	// Setting is its key, and Skills are patterns of names.
	Setting string
	Skills  []string
}

// IsolationOf is how a skill is kept apart that was installed, by the policies that are in
// force now. The strictest of what settings and policies say holds.
func (r *Runner) IsolationOf(skill policies.Principal) (Isolation, error) {
	set := r.policies
	if r.settings.Rights != nil {
		var err error
		if set, err = r.settings.Rights.Policies(); err != nil {
			return Isolation{}, err
		}
	}
	return r.isolation(skill, set), nil
}

// isolation asks the policies first: they bind whoever sets the settings.
func (r *Runner) isolation(skill policies.Principal, set *policies.Set) Isolation {
	if set != nil {
		if d := set.Decide(policies.Query{Phase: policies.PhaseProcess, Principal: skill}); d.Effect != policies.Allow {
			return Isolation{Mode: IsolationProcess, Policies: d.Policies, Reason: d.Reason}
		}
	}
	for _, s := range r.settings.Isolated {
		if slices.ContainsFunc(s.Skills, func(pattern string) bool { return fits(pattern, skill.Skill) }) {
			return Isolation{Mode: IsolationProcess, Setting: s.Setting}
		}
	}
	return Isolation{Mode: IsolationShared}
}

// domain names what may run in the same worker processes as a run: the calls of one
// package, where it was installed or ran from. It is empty for one that runs in this
// process.
func (r *Runner) domain(a *run) (string, error) {
	t := a.call.Target
	if t.Origin == registry.OriginPath { // nobody has decided about it
		if r.settings.Workers == nil {
			return "", nil
		}
	} else if r.isolation(a.principal(), a.policies).Mode == IsolationShared {
		return "", nil
	} else if r.settings.Workers == nil {
		return "", fault.Errorf(fault.KindInternal, "%s has to run in a process of its own, and this host starts none", t.Label)
	}
	return owner(t) + "/" + string(t.Package.Digest()) + "/" + t.Signer, nil
}
