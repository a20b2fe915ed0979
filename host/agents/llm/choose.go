package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Errors a caller may test for. They come wrapped. [budget.ErrExhausted] and a
// [*provider.Error] come, too.
var (
	// ErrNoModel: no model can answer the request.
	ErrNoModel = errors.New("no model can answer")
	// ErrInvalid: the Ask breaks a rule, which the message names.
	ErrInvalid = errors.New("invalid")
	// ErrUnfit: no model gave an answer that is good enough.
	ErrUnfit = errors.New("the answer is not good enough")
)

// A Need is what a request needs of a model.
type Need struct {
	// InputTokens are estimated, before they are corrected for a model.
	InputTokens int  `json:"input_tokens"`
	MaxTokens   int  `json:"max_tokens,omitempty"`
	Thinking    int  `json:"thinking,omitempty"`
	Tools       bool `json:"tools,omitempty"`
	Schema      bool `json:"schema,omitempty"`
	Streaming   bool `json:"streaming,omitempty"`
	Local       bool `json:"local,omitempty"`
}

// leastAnswer is how many tokens a context must have for an answer of any length.
const leastAnswer = 256

// A Candidate is a model as a choice.
type Candidate struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Why says how it comes to be a candidate: "named", "tier fast", "fallback",
	// "stands in for fast: balanced".
	Why string `json:"why"`
	// Group is 0 for what was asked for, and grows with the distance from it.
	Group int `json:"group"`
	// Scores and Total decide within a group, unless the settings name an order.
	Scores Scores  `json:"scores"`
	Total  float64 `json:"total"`
	// SetBack says why it is asked after all others of its group; empty when not.
	SetBack string `json:"set_back,omitempty"`
	// Excluded says why it is not asked at all; empty when it is.
	Excluded string `json:"excluded,omitempty"`
	// MayCost is what is reserved for an attempt.
	MayCost budget.Amount `json:"may_cost"`
	// Unpriced says that its price is not known, so that no budget of money bounds it.
	Unpriced bool `json:"unpriced,omitempty"`

	entry
	rank  int // in the order of the settings; 0 for all when they name no order
	input int // tokens of the question, corrected
	// resting says that it is Excluded for a while only.
	resting bool
}

// A target is what an Ask aims at: a tier, or a model by name.
type target struct {
	tier  Tier
	named string
}

// aim says what is asked for. An error is [ErrInvalid].
func (s Settings) aim(a Ask) (target, error) {
	for _, name := range []string{a.Model, string(a.Tier), s.Default} {
		switch {
		case name == "":
			continue
		case Tier(name).Known():
			return target{tier: Tier(name)}, nil
		case name == string(a.Tier) && a.Model == "":
			return target{}, fault.Errorf(fault.KindUsage, "%w tier %q", ErrInvalid, name).WithHint("the tiers are %s", tierNames())
		}
		return target{tier: a.Tier, named: name}, nil
	}
	return target{tier: Balanced}, nil
}

func tierNames() string {
	var names []string
	for _, t := range Tiers() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

func (t target) String() string {
	if t.named != "" {
		return "model " + t.named
	}
	return "tier " + string(t.tier)
}

// A group is some models that are asked before those of later groups.
type group struct {
	why  string
	refs []Ref
	// ordered says that the order of refs counts more than scores.
	ordered bool
}

// groups are the models for a target, nearest first. Fallbacks that the settings
// name take the place of tiers that stand in.
func (s Settings) groups(t target, entries []entry) []group {
	if t.named != "" {
		return []group{{why: "named", refs: resolve(t.named, entries)}, s.fallbacks(entries)}
	}
	own := group{why: t.String(), refs: s.members(t.tier, entries), ordered: len(s.Tiers[t.tier]) > 0}
	all := []group{own}
	if !own.ordered && !Tier(s.Default).Known() {
		all = []group{{why: "the default", refs: resolve(s.Default, entries)}, own}
	}
	if len(s.Fallback) > 0 {
		all = append(all, s.fallbacks(entries))
	} else {
		all = append(all, s.standIns(t.tier, entries)...)
	}
	return append(all, group{why: lastResort, refs: resolveAll(s.LastResort, entries), ordered: true})
}

// lastResort says why a candidate is asked only when no other is left.
const lastResort = "last resort"

func (s Settings) fallbacks(entries []entry) group {
	return group{why: "fallback", refs: resolveAll(s.Fallback, entries), ordered: true}
}

func (s Settings) standIns(t Tier, entries []entry) []group {
	var all []group
	for _, in := range rowOf(t).standIns {
		all = append(all, group{fmt.Sprintf("stands in for %s: %s", t, in), s.members(in, entries), len(s.Tiers[in]) > 0})
	}
	return all
}

// A choice is everything that was weighed for one Ask.
type choice struct {
	target target
	need   Need
	all    []Candidate // in the order in which they are asked; those excluded last
	silent []string    // providers that do not answer, with why
	// unheard are models that the settings name and of which nothing is known
	// because their provider does not answer, with why.
	unheard []string
}

// choose weighs the models for a request. When there is none because providers that the
// settings name have not answered yet, those are asked again.
func (r *Router) choose(ctx context.Context, a Ask) (choice, error) {
	c, err := r.compare(ctx, a)
	if err == nil && len(c.chain()) == 0 && r.catalog.askAgain(ctx, c.wanted(r.settings)) {
		return r.compare(ctx, a)
	}
	return c, err
}

// wanted are the models that the settings name for a choice.
func (c choice) wanted(s Settings) []string {
	if c.target.named != "" {
		return []string{c.target.named}
	}
	return s.wanted(c.target.tier)
}

// compare weighs the models that are known now.
func (r *Router) compare(ctx context.Context, a Ask) (choice, error) {
	t, err := r.settings.aim(a)
	if err != nil {
		return choice{}, err
	}
	entries, err := r.catalog.entries(ctx)
	if err != nil {
		return choice{}, err
	}
	r.pool.keepLoaded(r.keptLoaded(entries))
	c := choice{target: t, need: needOf(a, r.settings), silent: r.catalog.problems()}
	c.unheard = r.catalog.unheard(c.wanted(r.settings), c.need.Local)
	seen := map[Ref]bool{}
	for n, g := range r.settings.groups(t, entries) {
		for place, ref := range g.refs {
			if seen[ref] {
				continue
			}
			seen[ref] = true
			i := slices.IndexFunc(entries, func(e entry) bool { return e.ref == ref })
			cand := Candidate{Provider: ref.Provider, Model: ref.Model, Why: g.why, Group: n, entry: entries[i]}
			if g.ordered {
				cand.rank = place
			}
			c.all = append(c.all, r.weigh(ctx, cand, c, a.Request))
		}
	}
	c.dropLastResort()
	slices.SortStableFunc(c.all, Candidate.compare)
	return c, nil
}

// dropLastResort excludes what is only asked when there is nothing else: there is,
// also when it is left alone for a while, or its provider does not answer.
func (c *choice) dropLastResort() {
	other := func(x Candidate) bool { return x.Why != lastResort && (x.Excluded == "" || x.resting) }
	if len(c.unheard) == 0 && !slices.ContainsFunc(c.all, other) {
		return
	}
	for i := range c.all {
		if x := &c.all[i]; x.Why == lastResort && x.Excluded == "" {
			x.Excluded = "it is the last resort, and there are others"
		}
	}
}

func needOf(a Ask, s Settings) Need {
	return Need{
		InputTokens: sizeOf(a.Request), MaxTokens: a.Request.MaxTokens, Thinking: a.Request.Thinking, Tools: len(a.Request.Tools) > 0,
		Schema: a.Request.Schema != nil, Streaming: a.Emit != nil, Local: a.LocalOnly || s.LocalOnly,
	}
}

// weigh finds out everything about a candidate.
func (r *Router) weigh(ctx context.Context, c Candidate, of choice, req provider.Request) Candidate {
	now, rec := time.Now(), r.history.get(ctx, c.ref)
	limit := r.settings.limit(c.ref.Provider)
	f := facts{
		down: c.problem != "", record: rec, underWay: r.limiters.underWay(c.ref.Provider), limit: limit.Concurrent,
		quick: rowOf(of.target.tier).quick, room: r.pool.room(c.ref, c.managed()), model: c.model, need: of.need,
	}
	c.input = corrected(of.need.InputTokens, rec.ratio())
	c.MayCost = cost(c.model, c.input, c.answerRoom(req))
	f.usd, f.unpriced = c.MayCost.USD(), c.unpriced()
	c.Unpriced = f.unpriced
	c.Scores = f.scores()
	c.Total = c.Scores.Total()
	if c.Excluded = excluded(c, f); c.Excluded == "" {
		c.Excluded = leftAlone(f, now)
		c.resting = c.Excluded != ""
	}
	c.SetBack = setBack(c, f, now)
	return c
}

// answerRoom is how many tokens an answer can have in what the question leaves of
// the context.
func (c Candidate) answerRoom(req provider.Request) int {
	n := answerSize(req, c.model)
	if c.model.ContextTokens > 0 {
		n = min(n, max(c.model.ContextTokens-c.input, 0))
	}
	return n
}

// managed is how much memory a model takes that is loaded and unloaded here.
func (e entry) managed() uint64 {
	if !e.local {
		return 0
	}
	return e.model.MemoryBytes
}

// free reports whether answers cost nothing and reach nobody: the model is on this
// machine, and has no price.
func (e entry) free() bool { return e.local && e.model.InputUSD == 0 && e.model.OutputUSD == 0 }

// unpriced reports whether nobody said what answers cost: the model is elsewhere, where
// hardly anything is free.
func (e entry) unpriced() bool { return !e.local && e.model.InputUSD == 0 && e.model.OutputUSD == 0 }

// excluded says why a candidate cannot answer.
func excluded(c Candidate, f facts) string {
	m, least := c.model, c.input+cmp.Or(f.need.MaxTokens, leastAnswer)
	if m.Thinking {
		least += f.need.Thinking
	}
	switch {
	case f.need.Local && !c.local:
		return "it is not on this machine, and only local models may be asked"
	case !m.Text:
		return "it makes no text"
	case f.need.Tools && !m.Tools:
		return "it cannot call tools"
	case m.ContextTokens > 0 && least > m.ContextTokens:
		return fmt.Sprintf("the request takes about %d tokens, and its context has %d", least, m.ContextTokens)
	case f.room == roomNever:
		return fmt.Sprintf("it takes %d MB of memory, and there is never as much for it: models.memory_mb", m.MemoryBytes>>20)
	}
	return ""
}

// leftAlone says why a candidate is not asked for a while.
func leftAlone(f facts, now time.Time) string {
	wait := f.record.open(now)
	if wait == 0 {
		return ""
	}
	return fmt.Sprintf("it failed %d times in a row, and is tried again in %s; the last time: %s", f.record.Row, wait.Round(time.Second), f.record.Last)
}

// setBack says why a candidate is asked after the others of its group.
func setBack(c Candidate, f facts, now time.Time) string {
	switch {
	case f.down:
		return "its provider did not answer: " + c.problem
	case f.record.rest(now) > 0:
		return fmt.Sprintf("its provider asked for a pause of %s", f.record.rest(now).Round(time.Second))
	case f.underWay >= f.limit:
		return fmt.Sprintf("its provider has %d requests under way, and %d at most", f.underWay, f.limit)
	}
	return ""
}

// compare orders candidates: those that are excluded last, else by group; within one
// those that are set back last, then in the order of the settings, then by total.
func (c Candidate) compare(o Candidate) int {
	last := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(last(c.Excluded != ""), last(o.Excluded != "")), cmp.Compare(c.Group, o.Group),
		cmp.Compare(last(c.SetBack != ""), last(o.SetBack != "")), cmp.Compare(c.rank, o.rank), cmp.Compare(o.Total, c.Total),
	)
}

// chain are the candidates that are asked one after the other.
func (c choice) chain() []Candidate {
	n := slices.IndexFunc(c.all, func(c Candidate) bool { return c.Excluded != "" })
	if n < 0 {
		n = len(c.all)
	}
	return c.all[:n]
}

// none is the error when the chain is empty. Its message has the first reason, and
// its hint the others.
func (c choice) none() error {
	why := c.reasons()
	if len(why) == 0 {
		e := fault.Errorf(fault.KindNotFound, "%w: %s", ErrNoModel, c.target)
		return e.WithHint("no provider offers such a model: %s shows what there is, %s where more are named", fault.List(fault.Providers), fault.List(fault.Settings))
	}
	e := fault.Errorf(fault.KindNotFound, "%w: %s: %s", ErrNoModel, c.target, why[0])
	return e.WithHint("%s%s shows all", strings.Join(append(why[1:], ""), "; "), fault.ShowRouting())
}

// reasons say why no model is asked: first those of models that were asked for.
func (c choice) reasons() []string {
	why := slices.Clone(c.unheard)
	for _, x := range c.all[:min(len(c.all), 4)] {
		if x.Why != lastResort || len(c.unheard) == 0 {
			why = append(why, x.ref.String()+": "+x.Excluded)
		}
	}
	if len(c.unheard) == 0 {
		why = append(why, c.silent...)
	}
	return why
}

// keptLoaded returns the model that stays loaded.
func (r *Router) keptLoaded(entries []entry) Ref {
	refs := r.settings.members(Conversation, entries)
	if r.settings.Keep != "" {
		refs = resolve(r.settings.Keep, entries)
	}
	for _, ref := range refs {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.ref == ref })
		if entries[i].managed() > 0 {
			return ref
		}
	}
	return Ref{}
}
