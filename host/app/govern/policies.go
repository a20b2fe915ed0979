package govern

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/nearest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Policies are the Cedar policies that decide above all grants.
type Policies struct{ p *Parts }

// A Policy is one of those in force.
type Policy struct {
	ID string `json:"id"`
	// Effect is what it does: "permit", "forbid" or "ask".
	Effect string `json:"effect"`
	Reason string `json:"reason,omitempty"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"text"`
}

func policyOf(p policies.Policy) Policy {
	return Policy{p.ID, effectWord(p.Effect), p.Reason, p.File, p.Line, p.Text}
}

// effectWord is what a policy does, rather than what a decision is.
func effectWord(e policies.Effect) string {
	switch e {
	case policies.Allow:
		return "permit"
	case policies.Ask:
		return "ask"
	}
	return "forbid"
}

// List returns the policies in force that have the ids, or all when none is named.
func (s *Policies) List(_ context.Context, by approval.Principal, ids []string) ([]Policy, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	set, err := s.p.Policies()
	if err != nil {
		return nil, err
	}
	found, names := []Policy{}, []string{}
	for _, p := range set.List() {
		names = append(names, p.ID)
		if len(ids) == 0 || slices.Contains(ids, p.ID) {
			found = append(found, policyOf(p))
		}
	}
	for _, id := range ids {
		if !slices.Contains(names, id) {
			return nil, noPolicy(id, names)
		}
	}
	return found, nil
}

func noPolicy(id string, names []string) error {
	e := fault.Errorf(fault.KindNotFound, "policy %s does not exist", id)
	if best, ok := nearest.Name(id, names); ok {
		return e.WithHint("did you mean %s? %s lists them", best, fault.List(fault.Policies))
	}
	return e.WithHint("%s lists them", fault.List(fault.Policies))
}

// A CaseOutcome is what became of a test case of policies.
type CaseOutcome = policies.Outcome

// Test puts test cases to the policies in force. paths are files of cases, or directories
// of such; without any, the cases of the home are read. A case that fails is an outcome and
// not an error.
func (s *Policies) Test(_ context.Context, by approval.Principal, paths []string) ([]CaseOutcome, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	set, err := s.p.Policies()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		paths = []string{filepath.Join(s.p.Home, "policies", "tests")}
	}
	outcomes := []CaseOutcome{}
	for _, path := range paths {
		files, err := policies.ReadCases(path)
		if err != nil {
			return nil, caseError(err)
		}
		for _, file := range slices.Sorted(maps.Keys(files)) {
			for _, one := range files[file] {
				outcomes = append(outcomes, set.Try(file, one, s.p.Home))
			}
		}
	}
	if len(outcomes) == 0 {
		return nil, fault.Errorf(fault.KindNotFound, "no test cases found in %s", strings.Join(paths, ", ")).WithHint("%s shows how one is written", fault.ReadHelp("policy test"))
	}
	return outcomes, nil
}

func caseError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.KindNotFound, err).WithHint("name a file of test cases; %s shows how one is written", fault.ReadHelp("policy test"))
	}
	return fault.Wrap(fault.KindUsage, err).WithHint("%s shows how a case is written", fault.ReadHelp("policy test"))
}

// An ExplainRequest asks what would become of a request, and why.
type ExplainRequest struct {
	Skill manifests.Ref
	// Request is what a run of the skill tries, such as "fs.read:/data/a.csv";
	// [policies.ShareProcess]; or the call of a tool, as "call:write_file".
	Request string
	// Call is the call in which it would be asked.
	Call ExplainCall
	// Installing, when it is not the zero value, is asked about in the place of Request:
	// may a version be installed that asks for this capability?
	Installing capability.Capability
	// Allow is taken for granted too.
	Allow []capability.Capability
}

// An Explanation is what would become of a request, and why.
type Explanation struct {
	Skill   string `json:"skill"`
	Request string `json:"request"`
	// Effect is the answer: "allow", "ask" or "deny".
	Effect string `json:"effect"`
	Reason string `json:"reason,omitempty"`
	// Grant is the capability that covers the request; empty when none does.
	Grant    string   `json:"grant,omitempty"`
	Policies []Policy `json:"policies"`
	// IfGranted is the answer if a person granted it; empty when a grant covers it
	// already.
	IfGranted string `json:"if_granted,omitempty"`
	// Granting is what the policies say to granting it, which they are asked as about a
	// package that wants it; nil when that would be of no use.
	Granting *Explanation `json:"granting,omitempty"`
	// Call is the call in which it is asked; nil when no policy looks at calls.
	Call *ExplainedCall `json:"call,omitempty"`
	// Remedies has the grant that a person could give for it; it is empty when that is not
	// what is missing. Hint is what an edge says of it.
	Hint     string         `json:"hint,omitempty"`
	Remedies []fault.Remedy `json:"remedies,omitempty"`
}

// Denies reports whether the answer is no, whoever approves.
func (e Explanation) Denies() bool { return e.Effect == policies.Deny.String() }

// Explain asks grants and policies as a run of the skill would.
func (s *Policies) Explain(ctx context.Context, by approval.Principal, req ExplainRequest) (Explanation, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Explanation{}, err
	}
	skill, err := s.p.installed(ctx, req.Skill)
	if err != nil {
		return Explanation{}, err
	}
	set, err := s.p.Policies()
	if err != nil {
		return Explanation{}, err
	}
	given, err := s.p.Approvals.Granted(ctx, skill.Digest, time.Now())
	if err != nil {
		return Explanation{}, err
	}
	q := policies.Query{Principal: approval.SkillPrincipal(skill), Home: s.p.Home}
	e := Explanation{Skill: skill.Ref(), Request: req.Request}
	if req.Installing != (capability.Capability{}) {
		e.Request, q.Phase, q.Capability = req.Installing.String(), policies.PhaseInstall, req.Installing
		e.decide(set, q)
		return e, nil
	}
	if req.Request == policies.ShareProcess {
		q.Phase = policies.PhaseProcess
		e.decide(set, q)
		return e, nil
	}
	var known *task.Denial
	if q.Call, known, err = s.call(ctx, by, set, req); err != nil {
		return Explanation{}, err
	}
	if set.LooksAtCalls() {
		e.Call = explainedCall(q.Call)
	}
	if known != nil {
		e.asDecided(set, *known)
		return e, nil
	}
	if tool, is := policies.ToolCalled(req.Request); is {
		q.Phase, q.Call.Tool = policies.PhaseTool, cmp.Or(tool, q.Call.Tool)
		e.decide(set, q)
		return e, nil
	}
	q.Request = policies.ParseRequest(req.Request)
	e.decideCall(set, q, given.Set().Union(capability.NewSet(req.Allow...)))
	return e, nil
}

func (e *Explanation) decide(set *policies.Set, q policies.Query) {
	d := set.Decide(q)
	e.Effect, e.Reason, e.Policies = d.Effect.String(), d.Reason, policiesNamed(set, d.Policies)
}

// policiesNamed are the policies of a set that have the ids.
func policiesNamed(set *policies.Set, ids []string) []Policy {
	all := []Policy{}
	for _, p := range set.List() {
		if slices.Contains(ids, p.ID) {
			all = append(all, policyOf(p))
		}
	}
	return all
}

// decideCall answers as a run would: what no grant covers is denied, whatever the policies
// say about it.
func (e *Explanation) decideCall(set *policies.Set, q policies.Query, granted capability.Set) {
	for _, c := range granted.All() {
		if e.Effect == policies.Allow.String() || !c.Allows(q.Request) {
			continue
		}
		q.Granted, q.GrantedBy, e.Grant = true, c.String(), c.String()
		e.decide(set, q)
	}
	if e.Grant != "" {
		return
	}
	narrowest, err := q.Request.Capability()
	if err != nil { // then no grant helps, and the policies say why
		e.decide(set, q)
		return
	}
	q.Granted, q.GrantedBy = true, narrowest.String()
	e.decide(set, q)
	e.IfGranted, e.Effect = e.Effect, policies.Deny.String()
	if e.IfGranted == policies.Allow.String() {
		e.Reason, e.Policies = "no grant covers it", []Policy{}
		e.Granting = &Explanation{Skill: e.Skill, Request: narrowest.String()}
		e.Granting.decide(set, policies.Query{Phase: policies.PhaseInstall, Principal: q.Principal, Capability: narrowest, Home: q.Home})
	}
	if e.Granting != nil && !e.Granting.Denies() {
		name, _, _ := strings.Cut(e.Skill, "@")
		e.Remedies = []fault.Remedy{fault.Grant(name, narrowest.String())}
	}
}

// PolicySchema returns the Cedar schema: what a policy can speak of.
func PolicySchema() []byte { return policies.Schema() }

// A PolicyProblem is what is wrong at one place of a policy file.
type PolicyProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 0 when it is not known
	Message string `json:"message"`
}

// A PolicyReport is what a check of policies found.
type PolicyReport struct {
	OK       bool            `json:"ok"`
	Policies int             `json:"policies"`
	Problems []PolicyProblem `json:"problems"`
	// Warnings are about what may be intended, or is true on this machine only.
	Warnings []PolicyProblem `json:"warnings"`
}

// PolicyDirs are the directories below which policies are in force, of those that are
// there: dirs are the home, and that of the administrator.
func PolicyDirs(dirs ...string) []string {
	var found []string
	for _, dir := range dirs {
		dir = filepath.Join(dir, "policies")
		if _, err := os.Stat(dir); !absent.Is(err, dir) {
			found = append(found, dir)
		}
	}
	return found
}

// CheckPolicies checks policy files, and directories of them, against the schema, beside
// the policies that come with the program. It needs no home, which a mistake keeps from
// being opened.
func CheckPolicies(paths []string) (PolicyReport, error) {
	r := PolicyReport{Problems: []PolicyProblem{}, Warnings: []PolicyProblem{}}
	builtIn, err := policies.Default()
	if err != nil {
		return r, err
	}
	r.Policies = len(builtIn.List())
	for _, path := range paths {
		set, err := policies.Check(path)
		if err != nil {
			r.Problems = append(r.Problems, problemsIn(err)...)
			continue
		}
		r.Policies += len(set.List()) - len(builtIn.List())
		for _, w := range set.Warnings() {
			r.Warnings = append(r.Warnings, PolicyProblem{w.File, w.Line, w.Message})
		}
	}
	r.OK = len(r.Problems) == 0
	return r, nil
}

// problemsIn takes apart what package policies joins.
func problemsIn(err error) []PolicyProblem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []PolicyProblem
		for _, e := range joined.Unwrap() {
			all = append(all, problemsIn(e)...)
		}
		return all
	}
	if e := (*policies.LoadError)(nil); errors.As(err, &e) {
		return []PolicyProblem{{e.File, e.Line, e.Message}}
	}
	return []PolicyProblem{{Message: err.Error()}}
}
