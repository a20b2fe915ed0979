package work

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/record/approval"
)

// ModelUse is the usage of a group of model requests.
type ModelUse struct {
	// Name is PROVIDER/MODEL, a tier, or a day of UTC.
	Name string `json:"name"`
	llm.Usage
}

// ModelStats are totals of model usage.
type ModelStats struct {
	Total llm.Usage `json:"total"`
	// Each of Models, Tiers and Days adds up to Total. Models begins with the most
	// expensive one.
	Models []ModelUse `json:"models"`
	Tiers  []ModelUse `json:"tiers"`
	Days   []ModelUse `json:"days"`
	// Budgets are those of the day and of the month, as they are now.
	Budgets []budget.Status `json:"budgets"`
}

// noTier is the name under which uses without a tier are grouped.
const noTier = "none"

// Models returns the usage since the UTC day of since; the zero time means all.
func (u *Usage) Models(ctx context.Context, by approval.Principal, since time.Time) (ModelStats, error) {
	s := ModelStats{}
	if err := notAgent(by); err != nil {
		return s, err
	}
	models, err := u.s.parts.Models.Router(ctx)
	if err != nil {
		return s, err
	}
	var f llm.Filter
	if !since.IsZero() {
		f.From = since.UTC().Format(time.DateOnly)
	}
	uses, err := models.Usage(ctx, f)
	if err != nil {
		return s, err
	}
	s.sum(uses)
	ledger, err := u.s.parts.Models.Budget(ctx)
	if err != nil {
		return s, err
	}
	s.Budgets, err = ledger.Host().Statuses(ctx)
	return s, err
}

// sum adds uses up in each way.
func (s *ModelStats) sum(uses []llm.Use) {
	byModel, byTier, byDay := map[string]llm.Usage{}, map[string]llm.Usage{}, map[string]llm.Usage{}
	for _, u := range uses {
		s.Total.Add(u.Usage)
		for _, of := range []struct {
			all  map[string]llm.Usage
			name string
		}{{byModel, u.Provider + "/" + u.Model}, {byTier, cmp.Or(string(u.Tier), noTier)}, {byDay, u.Day}} {
			sum := of.all[of.name]
			sum.Add(u.Usage)
			of.all[of.name] = sum
		}
	}
	s.Models, s.Tiers, s.Days = usesOf(byModel), usesOf(byTier), usesOf(byDay)
	slices.SortStableFunc(s.Models, func(a, b ModelUse) int {
		return cmp.Or(cmp.Compare(b.MicroUSD, a.MicroUSD), cmp.Compare(b.Calls, a.Calls))
	})
}

func usesOf(all map[string]llm.Usage) []ModelUse {
	uses := []ModelUse{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		uses = append(uses, ModelUse{name, all[name]})
	}
	return uses
}
