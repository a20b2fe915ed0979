package lines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
)

// Diagnosis is which model would answer a request, and why.
func Diagnosis(d work.Diagnosis) []string { return written(Style{}, func(b *block) { b.diagnosis(d) }) }

// ModelListing has a row for each model of the providers.
func ModelListing(all []work.Listed) Listing {
	var rows [][]string
	for _, m := range all {
		tiers := make([]string, 0, len(m.In))
		for _, tier := range m.In {
			tiers = append(tiers, string(tier))
		}
		name := m.Provider + "/" + m.Name
		if m.Name == "" {
			name = m.Provider
		}
		rows = append(rows, []string{name, dash(strings.Join(tiers, ",")), dash(strings.Join(abilities(m.Model), ",")), tokens(m.ContextTokens), price(m), m.Problem})
	}
	return Listing{"MODEL\tTIERS\tCAN\tCONTEXT\tUSD PER MILLION\t", rows}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func abilities(m work.Model) []string {
	var can []string
	for _, a := range []struct {
		has  bool
		name string
	}{{m.Text, "text"}, {m.Tools, "tools"}, {m.JSONSchema, "schema"}, {m.Thinking, "thinking"}, {m.Embeddings, "embeddings"}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return can
}

func tokens(n int) string {
	switch {
	case n == 0:
		return "-"
	case n >= 1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func price(m work.Listed) string {
	if m.InputUSD == 0 && m.OutputUSD == 0 {
		if m.Local {
			return "free"
		}
		return "-"
	}
	return fmt.Sprintf("%.2f in, %.2f out", m.InputUSD, m.OutputUSD)
}

func (b *block) diagnosis(d work.Diagnosis) {
	if len(d.Order) == 0 {
		b.say("no model can answer this")
	} else {
		b.say("asked in this order: %s", strings.Join(d.Order, ", "))
	}
	w := d.Weights
	b.say("the total is %.2f health + %.2f load + %.2f history + %.2f memory + %.2f cost + %.2f fitness", w.Health, w.Load, w.History, w.Memory, w.Cost, w.Fitness)
	var rows [][]string
	var unpriced []string
	for _, k := range d.Candidates {
		s := k.Scores
		price := ""
		if k.Unpriced {
			price = "its price is not known"
			unpriced = append(unpriced, k.Provider)
		}
		rows = append(rows, []string{
			k.Provider + "/" + k.Model, fmt.Sprintf("%.3f", k.Total),
			fmt.Sprintf("%.2f", s.Health), fmt.Sprintf("%.2f", s.Load), fmt.Sprintf("%.2f", s.History),
			fmt.Sprintf("%.2f", s.Memory), fmt.Sprintf("%.2f", s.Cost), fmt.Sprintf("%.2f", s.Fitness),
			strings.Join(slices.DeleteFunc([]string{k.Why, k.SetBack, k.Excluded, price}, func(s string) bool { return s == "" }), "; "),
		})
	}
	b.table("MODEL\tTOTAL\tHEALTH\tLOAD\tHISTORY\tMEMORY\tCOST\tFITNESS\tWHY", rows)
	if len(unpriced) > 0 {
		b.say("budgets in dollars do not bound models without a price; say it in the settings as input_usd and output_usd of providers.%s.models", unpriced[0])
	}
	for _, one := range d.Budget {
		b.say("%s", budgetWords(one))
	}
	if d.Short != "" {
		b.say("refused by a budget: %s", d.Short)
	}
	b.say("kept answer: %s", d.Cached)
}

// budgetWords is how a budget stands, in a line: what is used, of what there is, and that
// nothing bounds it where that is so.
func budgetWords(s work.BudgetStatus) string {
	used := []string{fmt.Sprintf("%d tokens", s.Used.Tokens), dollars(s.Used.MicroUSD)}
	bound := s.Limit.Tokens > 0 || s.Limit.MicroUSD > 0
	switch {
	case s.Limit.Tokens > 0:
		used[0] = fmt.Sprintf("%d of %d tokens", s.Used.Tokens, s.Limit.Tokens)
	case bound:
		used[0] += " (no bound)"
	}
	switch {
	case s.Limit.MicroUSD > 0:
		used[1] += " of " + dollars(s.Limit.MicroUSD)
	case bound:
		used[1] += " (no bound)"
	}
	line := fmt.Sprintf("budget of the %s: %s used", s.Budget, strings.Join(used, ", "))
	if !bound {
		return line + ", no bound"
	}
	if !s.Resets.IsZero() {
		line += ", renewed " + when(s.Resets)
	}
	return line
}
