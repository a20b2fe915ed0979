package policies

import (
	"slices"
	"strings"

	cedar "github.com/cedar-policy/cedar-go"
)

// longestKept bounds the text of a request whose decision is kept, in bytes.
const longestKept = 1 << 10

// Decide answers a query. The answer depends on the query and the set alone, so it is kept
// for the next time. It is safe for concurrent use.
func (s *Set) Decide(q Query) Decision {
	if q.Call != nil && s.index.wants(q) == 0 && q.Phase != PhaseTool { // as most sets of policies have it
		q.Call = nil
	}
	if s.answers == nil || q.Call != nil || q.Bytes != 0 || len(q.Request.Resource) > longestKept {
		return s.decide(q)
	}
	d, ok := s.answers.Get(0, q)
	if !ok {
		d = s.decide(q)
		d.Policies = slices.Clip(d.Policies) // whoever appends to it has a copy
		s.answers.Add(0, q, d)
	}
	return d
}

func (s *Set) decide(q Query) Decision {
	a, err := newQuestion(q)
	if err != nil {
		return Decision{Reason: err.Error()}
	}
	if d, ok := s.maximum.refuses(q); ok {
		return d
	}
	if err := a.describe(q.Call, s.index.wants(q)); err != nil {
		return Decision{Reason: err.Error()}
	}
	d := s.answer(a, q)
	if d.Effect != Allow || !q.Address.IsValid() {
		return d
	}
	// A rule that names the address holds for whatever leads there. The maximum says
	// which names may be asked for, and not where those lead.
	if a, err = newQuestion(q.atAddress()); err != nil {
		return Decision{Reason: err.Error()}
	}
	if err := a.describe(q.Call, s.index.wants(q)); err != nil {
		return Decision{Reason: err.Error()}
	}
	return s.answer(a, q)
}

// answer puts a question to the policies, and again as approved where they ask.
func (s *Set) answer(a *question, q Query) Decision {
	first := s.evaluate(a, q.Approved)
	if q.Approved || !first.asks() {
		return first.decision()
	}
	second := s.evaluate(a, true)
	if d := second.decision(); d.Effect != Allow {
		return d
	}
	return Decision{Effect: Ask, Policies: ids(first.forbids), Reason: reasons(first.forbids)}
}

// verdict is one evaluation by Cedar, with the policies instead of their ids.
type verdict struct {
	allowed bool
	permits []*policy
	forbids []*policy
	// failed is the policy that could not be evaluated, and why.
	failed  *policy
	failure string
}

func (s *Set) evaluate(a *question, approved bool) verdict {
	a.context["approved"] = cedar.Boolean(approved)
	request := cedar.Request{Principal: a.principal, Action: a.action, Resource: a.resource, Context: cedar.NewRecord(a.context)}
	decision, diagnostic := cedar.Authorize(s.index.candidates(a), a, request)
	if len(diagnostic.Errors) > 0 {
		return s.failed(diagnostic.Errors)
	}
	v := verdict{allowed: decision == cedar.Allow}
	decided := make([]*policy, len(diagnostic.Reasons))
	for i, r := range diagnostic.Reasons {
		decided[i] = s.byID[r.PolicyID]
	}
	slices.SortFunc(decided, func(p, q *policy) int { return strings.Compare(p.ID, q.ID) })
	if v.allowed {
		v.permits = decided
	} else {
		v.forbids = decided
	}
	return v
}

// failed picks the same error whatever the order of evaluation was.
func (s *Set) failed(errs []cedar.DiagnosticError) verdict {
	first := slices.MinFunc(errs, func(a, b cedar.DiagnosticError) int {
		return strings.Compare(string(a.PolicyID), string(b.PolicyID))
	})
	return verdict{failed: s.byID[first.PolicyID], failure: first.Message}
}

// asks reports whether nothing but forbids that ask stands in the way.
func (v verdict) asks() bool {
	return len(v.forbids) > 0 && !slices.ContainsFunc(v.forbids, func(p *policy) bool { return p.Effect != Ask })
}

// decision is the answer when nobody is asked. A forbid that asks is named only
// when no firmer one decides.
func (v verdict) decision() Decision {
	switch {
	case v.failed != nil:
		return Decision{Policies: []string{v.failed.ID}, Reason: "policy " + v.failed.ID + " cannot be evaluated: " + v.failure}
	case v.allowed:
		return Decision{Effect: Allow, Policies: ids(v.permits), Reason: reasons(v.permits)}
	case len(v.forbids) == 0:
		return Decision{Reason: NoPermit}
	}
	deciding := slices.DeleteFunc(slices.Clone(v.forbids), func(p *policy) bool { return p.Effect == Ask })
	if len(deciding) == 0 {
		deciding = v.forbids
	}
	return Decision{Policies: ids(deciding), Reason: reasons(deciding)}
}

func ids(policies []*policy) []string {
	list := make([]string, len(policies))
	for i, p := range policies {
		list[i] = p.ID
	}
	return list
}

// reasons joins what the policies say, each reason once.
func reasons(policies []*policy) string {
	var list []string
	for _, p := range policies {
		if reason := p.because(); reason != "" && !slices.Contains(list, reason) {
			list = append(list, reason)
		}
	}
	return strings.Join(list, "; ")
}

// because returns the policy's reason; a forbid without one is at least named.
func (p *policy) because() string {
	if p.Reason == "" && p.Effect != Allow {
		return "forbidden by policy " + p.ID
	}
	return p.Reason
}
