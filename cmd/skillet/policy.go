package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/host/upkeep"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) policyCommand() *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "show, check, test and explain the Cedar policies that decide above all grants",
		Description: "Policies come with skillet, from the administrator of this machine (" + upkeep.SystemDir() + ")\n" +
			"and from policies/*.cedar in the home. None of them lifts a forbid of another.\n\n" +
			"Examples:\n  skillet policy list\n  skillet policy explain files fs.read:/etc/shadow\n" +
			"  skillet policy check mine.cedar\n  skillet policy test",
		Subcommands: []*cli.Command{t.policyList(), t.policyCheck(), t.policyTest(), t.policyExplain(), t.policySchema()},
	}
}

// aPolicy is what --json prints of a policy.
type aPolicy struct {
	ID     string `json:"id"`
	Effect string `json:"effect"`
	Reason string `json:"reason,omitempty"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"text"`
}

func aPolicyOf(p policies.Policy) aPolicy {
	return aPolicy{p.ID, effectWord(p.Effect), p.Reason, p.File, p.Line, p.Text}
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

func (t *terminal) policyList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the policies in force, or show some of them",
		ArgsUsage:   "[ID...]",
		Description: "Examples:\n  skillet policy list\n  skillet policy list no-credentials\n  skillet policy list --json",
		Action: t.withHost(func(_ context.Context, c *cli.Context, h *host.Host) error {
			found, err := policiesByID(h.Policies.List(), c.Args().Slice())
			if err != nil {
				return err
			}
			return t.answer(found, func() { t.showPolicies(found, c.Args().Present()) })
		}),
	}
}

func policiesByID(all []policies.Policy, ids []string) ([]aPolicy, error) {
	found, known := []aPolicy{}, []string{}
	for _, p := range all {
		known = append(known, p.ID)
		if len(ids) == 0 || slices.Contains(ids, p.ID) {
			found = append(found, aPolicyOf(p))
		}
	}
	for _, id := range ids {
		if slices.Contains(known, id) {
			continue
		}
		e := fault.Errorf(fault.KindNotFound, "policy %s does not exist", id)
		if best, ok := nearest.Name(id, known); ok {
			return nil, e.WithHint("did you mean %s? `skillet policy list` lists them", best)
		}
		return nil, e.WithHint("`skillet policy list` lists them")
	}
	return found, nil
}

func (t *terminal) showPolicies(ps []aPolicy, whole bool) {
	var rows [][]string
	for _, p := range ps {
		if whole {
			t.say("// %s:%d", plain(p.File), p.Line)
			for line := range strings.Lines(p.Text) {
				t.say("%s", plain(strings.TrimRight(line, "\n")))
			}
			continue
		}
		rows = append(rows, []string{p.ID, p.Effect, fmt.Sprintf("%s:%d", p.File, p.Line), p.Reason})
	}
	if !whole {
		t.table("POLICY\tDOES\tFROM\tREASON", rows)
	}
}

func (t *terminal) policyCheck() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "check policy files against the schema, before they are put into force",
		ArgsUsage: "[FILE|DIR...]",
		Description: "Without a path it checks what is in force. Every problem is named with its file and line;\n" +
			"exit code 2 when there is one. `skillet policy schema` prints what a policy can speak of.\n\n" +
			"Examples:\n  skillet policy check mine.cedar\n  skillet policy check",
		Action: t.withoutHome(t.checkPolicies),
	}
}

// policyProblem is what is wrong at one place.
type policyProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// place is the file, and the line where that is known.
func (p policyProblem) place() string {
	if p.Line == 0 {
		return plain(p.File)
	}
	return fmt.Sprintf("%s:%d", plain(p.File), p.Line)
}

// policyReport is what --json prints of a check.
type policyReport struct {
	OK       bool            `json:"ok"`
	Policies int             `json:"policies"`
	Problems []policyProblem `json:"problems"`
	// Warnings are no mistakes: they may be meant, or be true on this machine only.
	Warnings []policyProblem `json:"warnings"`
}

func (t *terminal) checkPolicies(_ context.Context, c *cli.Context) error {
	paths := c.Args().Slice()
	if len(paths) == 0 {
		home, err := t.home(c)
		if err != nil {
			return err
		}
		paths = existing(filepath.Join(home, "policies"), filepath.Join(t.system, "policies"))
	}
	r := policyReport{Problems: []policyProblem{}, Warnings: []policyProblem{}}
	builtIn, err := policies.Default()
	if err != nil {
		return err
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
			r.Warnings = append(r.Warnings, policyProblem{w.File, w.Line, w.Message})
		}
	}
	r.OK = len(r.Problems) == 0
	if err := t.answer(r, func() { t.showPolicyReport(r) }); err != nil || r.OK {
		return err
	}
	return reported{fault.KindUsage}
}

// existing are the paths at which there is something.
func existing(paths ...string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return absent.Is(err, p)
	})
}

func (t *terminal) showPolicyReport(r policyReport) {
	for _, p := range r.Problems {
		t.say("%s: %s", p.place(), plain(p.Message))
	}
	for _, w := range r.Warnings {
		t.say("warning: %s: %s", w.place(), plain(w.Message))
	}
	switch {
	case !r.OK:
	case len(r.Warnings) > 0:
		t.say("%s, no mistakes, %s", count(r.Policies, "policy"), count(len(r.Warnings), "warning"))
	default:
		t.say("%s, all well", count(r.Policies, "policy"))
	}
}

// problemsIn takes apart what policies.Load joins.
func problemsIn(err error) []policyProblem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []policyProblem
		for _, e := range joined.Unwrap() {
			all = append(all, problemsIn(e)...)
		}
		return all
	}
	if e := (*policies.LoadError)(nil); errors.As(err, &e) {
		return []policyProblem{{e.File, e.Line, e.Message}}
	}
	return []policyProblem{{Message: err.Error()}}
}

func (t *terminal) policyTest() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "put test cases to the policies in force",
		ArgsUsage: "[FILE|DIR...]",
		Description: "Cases are JSON: {\"cases\": [{\"skill\": \"csv\", \"request\": \"fs.read:/data/a.csv\",\n" +
			"\"grants\": [\"fs.read:/data/**\"], \"want\": \"allow\"}]}. Without a path it reads\n" +
			"policies/tests/*.json of the home. Exit code 1 when an answer is not the wanted one.\n\n" +
			"Examples:\n  skillet policy test\n  skillet policy test cases.json --json",
		Action: t.withHost(t.testPolicies),
	}
}

func (t *terminal) testPolicies(_ context.Context, c *cli.Context, h *host.Host) error {
	paths := c.Args().Slice()
	if len(paths) == 0 {
		paths = []string{filepath.Join(h.Home, "policies", "tests")}
	}
	outcomes, failed := []policies.Outcome{}, 0
	for _, path := range paths {
		files, err := policies.ReadCases(path)
		if err != nil {
			return caseError(err)
		}
		for _, file := range slices.Sorted(maps.Keys(files)) {
			for _, one := range files[file] {
				o := h.Policies.Try(file, one, h.Home)
				if !o.OK {
					failed++
				}
				outcomes = append(outcomes, o)
			}
		}
	}
	if len(outcomes) == 0 {
		return fault.Errorf(fault.KindNotFound, "there are no test cases in %s", strings.Join(paths, ", ")).WithHint("`skillet help policy test` shows how one is written")
	}
	if err := t.answer(outcomes, func() { t.showOutcomes(outcomes, failed) }); err != nil || failed == 0 {
		return err
	}
	return reported{fault.KindSkill}
}

func caseError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.KindNotFound, err).WithHint("name a file of test cases; `skillet help policy test` shows how one is written")
	}
	return fault.Wrap(fault.KindUsage, err).WithHint("`skillet help policy test` shows how a case is written")
}

func (t *terminal) showOutcomes(outcomes []policies.Outcome, failed int) {
	for _, o := range outcomes {
		if !o.OK {
			t.say("FAIL  %s: %s %s: %s", plain(filepath.Base(o.File)), plain(cmp.Or(o.Name, o.Skill)), plain(cmp.Or(o.Request, "install "+o.Install)), plain(o.Problem))
		}
	}
	t.say("%d of %s as wanted", len(outcomes)-failed, count(len(outcomes), "case"))
}

func (t *terminal) policyExplain() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say what would become of a request, and why",
		ArgsUsage: "SKILL[@VERSION] REQUEST",
		Description: "Asks grants and policies as a run of the skill would. With --install it asks whether a\n" +
			"version that wants the capability may be installed. A host that is named is judged once more by\n" +
			"its address when a run connects to it, which is not asked here; `skillet policy test` can be\n" +
			"given an address.\n\n" +
			"Examples:\n  skillet policy explain files fs.read:/etc/shadow\n" +
			"  skillet policy explain http 'http:GET https://api.example.com/v1'\n" +
			"  skillet policy explain http 'http:GET https://*.example.com/*' --install",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "install", Usage: "ask about a package that asks for this capability"},
			&cli.StringSliceFlag{Name: "allow", Usage: "as if `CAPABILITY` were granted too; may be given again"},
		},
		Action: t.withState(t.explainPolicy),
	}
}

// explanation is what --json prints of an explanation.
type explanation struct {
	Skill   string `json:"skill"`
	Request string `json:"request"`
	// Effect is the answer: "allow", "ask" or "deny".
	Effect string `json:"effect"`
	Reason string `json:"reason,omitempty"`
	// Grant is the capability that covers the request; empty when none does.
	Grant    string    `json:"grant,omitempty"`
	Policies []aPolicy `json:"policies"`
	// IfGranted is the answer if a person granted it; empty when a grant covers
	// it already.
	IfGranted string `json:"if_granted,omitempty"`
	// Granting is what the policies say to granting it, which they are asked as about
	// a package that wants it; nil when that would be of no use.
	Granting *explanation `json:"granting,omitempty"`
	Hint     string       `json:"hint,omitempty"`
}

func (t *terminal) explainPolicy(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 2, "a skill and a request")
	if err != nil {
		return err
	}
	s, err := t.lookup(ctx, h, args[0])
	if err != nil {
		return err
	}
	allowed, err := capabilities(c.StringSlice("allow"))
	if err != nil {
		return err
	}
	given, err := h.Desk.Granted(ctx, s.Digest, time.Now())
	if err != nil {
		return err
	}
	granted := given.Set().Union(capability.NewSet(allowed...))
	q := policies.Query{Principal: principalOf(s), Home: h.Home}
	e := explanation{Skill: s.Ref(), Request: args[1]}
	if c.Bool("install") {
		q.Phase = policies.PhaseInstall
		if q.Capability, err = capability.Parse(args[1]); err != nil {
			return fault.Wrap(fault.KindUsage, err).WithHint("%s", inFull(args[1]))
		}
		e.decide(h.Policies, q)
	} else {
		q.Request = policies.ParseRequest(args[1])
		e.decideCall(h.Policies, q, granted, s.Name)
	}
	return t.answer(e, func() { t.showExplanation(e) })
}

func principalOf(s registry.Skill) policies.Principal {
	return policies.Principal{Skill: s.Name, Version: s.Version, Digest: string(s.Digest), Signer: s.Signer, Origin: string(s.Origin)}
}

func (e *explanation) decide(set *policies.Set, q policies.Query) {
	d := set.Decide(q)
	e.Effect, e.Reason, e.Policies = d.Effect.String(), d.Reason, []aPolicy{}
	for _, p := range set.List() {
		if slices.Contains(d.Policies, p.ID) {
			e.Policies = append(e.Policies, aPolicyOf(p))
		}
	}
}

// decideCall answers as a run would: what no grant covers is denied, whatever
// the policies say about it.
func (e *explanation) decideCall(set *policies.Set, q policies.Query, granted capability.Set, skill string) {
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
		e.Reason, e.Policies = "no grant covers it", []aPolicy{}
		e.Granting = &explanation{Skill: e.Skill, Request: narrowest.String()}
		e.Granting.decide(set, policies.Query{Phase: policies.PhaseInstall, Principal: q.Principal, Capability: narrowest, Home: q.Home})
	}
	if e.Granting != nil && e.Granting.Effect != policies.Deny.String() {
		e.Hint = "skillet permission grant " + skill + " '" + narrowest.String() + "'"
	}
}

func (t *terminal) showExplanation(e explanation) {
	t.say("%s: %s", e.Effect, plain(e.Reason))
	if e.Grant != "" {
		t.say("  covered by the grant %s", plain(e.Grant))
	}
	for _, p := range e.Policies {
		t.say("  %s %s (%s:%d): %s", p.Effect, p.ID, plain(p.File), p.Line, plain(p.Reason))
	}
	if e.IfGranted != "" {
		t.say("  if it were granted: %s", e.IfGranted)
	}
	if g := e.Granting; g != nil && g.Effect == policies.Deny.String() {
		t.say("  granting it: %s: %s", g.Effect, plain(g.Reason))
		for _, p := range g.Policies {
			t.say("  %s %s (%s:%d): %s", p.Effect, p.ID, plain(p.File), p.Line, plain(p.Reason))
		}
	}
	if e.Hint != "" {
		t.say("  %s", plain(e.Hint))
	}
}

func (t *terminal) policySchema() *cli.Command {
	return &cli.Command{
		Name:        "schema",
		Usage:       "print the Cedar schema: what a policy can speak of",
		Description: "Examples:\n  skillet policy schema > skillet.cedarschema",
		Action: t.withoutHome(func(context.Context, *cli.Context) error {
			if t.json {
				return t.printJSON(struct {
					Schema string `json:"schema"`
				}{string(policies.Schema())})
			}
			return t.raw(policies.Schema())
		}),
	}
}
