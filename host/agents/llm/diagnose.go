package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
)

// A Diagnosis explains which models an Ask goes to, and why.
type Diagnosis struct {
	// Tier is the class that was asked for, and Named the model; one of them may be
	// empty.
	Tier  Tier   `json:"tier,omitempty"`
	Named string `json:"named,omitempty"`
	Need  Need   `json:"need"`
	// Weights are what the scores of the candidates count for.
	Weights Scores `json:"weights"`
	// Candidates are all models that were considered: those that are asked, in
	// this order until one answers, then those that are not.
	Candidates []Candidate `json:"candidates"`
	// Order are the names of those that are asked.
	Order []string `json:"order"`
	// Budget are the budgets that bound it, the innermost first, and Short says
	// which of them refuses the first candidate; empty for none.
	Budget []budget.Status `json:"budget"`
	Short  string          `json:"short,omitempty"`
	// Cached says whether a kept answer would be given: "yes", or why not.
	Cached string `json:"cached"`
	// Loaded are the models that take memory of this machine, and MemoryBytes what
	// they may take together; 0 is without bound.
	Loaded      []Resident `json:"loaded,omitempty"`
	MemoryBytes uint64     `json:"memory_bytes,omitempty"`
}

// Diagnose says what [Router.Generate] would do now, without asking a model. An Ask
// without messages is weighed as an empty one. Errors are those of finding out;
// that no model can answer is none.
func (r *Router) Diagnose(ctx context.Context, a Ask) (Diagnosis, error) {
	c, err := r.choose(ctx, a)
	if err != nil {
		return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
	}
	lease := a.Lease
	if lease == nil {
		lease = r.budget.Host()
	}
	d := Diagnosis{Tier: c.target.tier, Named: c.target.named, Need: c.need, Weights: Weights(), Candidates: c.all, Loaded: r.pool.residents(), MemoryBytes: r.pool.bound}
	if d.Budget, err = lease.Statuses(ctx); err != nil {
		return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
	}
	bounds := d.Budget
	if chain := c.chain(); len(chain) > 0 && chain[0].free() {
		if bounds, err = lease.WithoutPeriods().Statuses(ctx); err != nil {
			return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
		}
	}
	for _, x := range c.chain()[:min(len(c.chain()), r.settings.MaxModels)] {
		d.Order = append(d.Order, x.ref.String())
	}
	slices.SortFunc(d.Loaded, func(a, b Resident) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	d.Cached = r.cached(ctx, a, c)
	d.Short = short(bounds, c.chain())
	return d, nil
}

// cached says whether there is a kept answer for the first model that is asked.
func (r *Router) cached(ctx context.Context, a Ask, c choice) string {
	if why := r.cache.unwanted(a); why != "" {
		return "no: " + why
	}
	for _, x := range c.chain()[:min(len(c.chain()), 1)] {
		if _, ok := r.cache.get(ctx, r.cache.key(a, x.ref)); ok {
			return "yes"
		}
	}
	return "no: none is kept for this request"
}

// short says which budget does not have what the first candidate may cost.
func short(all []budget.Status, chain []Candidate) string {
	if len(chain) == 0 {
		return ""
	}
	may := chain[0].MayCost
	for _, s := range all {
		if may.Tokens > s.Left.Tokens || may.MicroUSD > s.Left.MicroUSD {
			return fmt.Sprintf("the budget of %s has %s left, and %s may be needed", s.Budget, left(s.Left), may)
		}
	}
	return ""
}

func left(a budget.Amount) string {
	if a.Tokens == budget.Unlimited {
		a.Tokens = 0
		return fmt.Sprintf("$%.6g", a.USD())
	}
	if a.MicroUSD == budget.Unlimited {
		a.MicroUSD = 0
	}
	return a.String()
}

// Warm loads the model that is to stay loaded, so that a conversation begins at once.
// Without one it does nothing.
func (r *Router) Warm(ctx context.Context) error {
	entries, err := r.catalog.entries(ctx)
	if err != nil {
		return fmt.Errorf("load the conversation model: %w", err)
	}
	ref := r.keptLoaded(entries)
	r.pool.keepLoaded(ref)
	i := slices.IndexFunc(entries, func(e entry) bool { return e.ref == ref })
	if i < 0 {
		return nil
	}
	release, err := r.pool.acquire(ctx, ref, entries[i].managed())
	if err != nil {
		return fmt.Errorf("load the conversation model: %w", err)
	}
	release(false)
	return nil
}
