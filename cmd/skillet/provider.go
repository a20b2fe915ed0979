package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
)

func (t *terminal) providerCommand() *cli.Command {
	return group("provider",
		command("list ls", nil, t.withState(t.listProviders)),
		command("test", []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "ask this `MODEL` (default: the first that makes text, and the first that makes vectors)"},
			&cli.StringFlag{Name: "prompt", Usage: "ask this `TEXT`", Value: work.DefaultPrompt},
		}, t.withState(one("one provider", t.testProvider))),
		command("diagnose", []cli.Flag{
			&cli.StringFlag{Name: "tier", Usage: "ask this `TIER`: fast, balanced, smart, code or conversation"},
			&cli.StringFlag{Name: "model", Usage: "ask this `MODEL`, as PROVIDER/MODEL"},
			&cli.BoolFlag{Name: "tools", Usage: "the request has tools"},
			&cli.BoolFlag{Name: "schema", Usage: "the request wants JSON that fits a schema"},
			&cli.BoolFlag{Name: "local-only", Usage: "only models from which nothing leaves this machine"},
		}, t.withState(t.diagnose)),
	)
}

func (t *terminal) listProviders(ctx context.Context, _ *cli.Context, h *host.Host) error {
	done := t.waiting("asking the providers")
	all, err := h.Work().Providers().List(ctx, t.person())
	done()
	return answered(t, all, err, t.listModels)
}

func (t *terminal) listModels(all []work.Listed) {
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
	t.table("MODEL\tTIERS\tCAN\tCONTEXT\tUSD PER MILLION\t", rows)
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

func (t *terminal) testProvider(ctx context.Context, c *cli.Context, h *host.Host, name string) error {
	out, err := h.Work().Providers().Test(ctx, t.person(), work.TestRequest{
		Provider: name, Model: c.String("model"), Prompt: c.String("prompt"),
		Begins: func(what string) func() { return t.waiting("%s: %s", name, what) },
	})
	if err != nil {
		return err
	}
	for i, tr := range out.Trials {
		if tr.Error != nil {
			out.Trials[i].Error = explain(tr.Error)
		}
	}
	return t.judged(out, nil, out.OK, out.Failed(), func() { t.showProbed(out) })
}

func (t *terminal) showProbed(out work.Probed) {
	for _, tr := range out.Trials {
		state := "ok"
		if !tr.OK {
			state = "failed"
		}
		t.say("%-7s %-24s %8.1f ms  %s", state, plain(tr.What), tr.TookMS, plain(tr.Detail))
		if tr.Error != nil {
			t.tell(tr.Error)
		}
	}
}

func (t *terminal) diagnose(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := t.waiting("asking the providers")
	d, err := h.Work().Providers().Diagnose(ctx, t.person(), work.DiagnoseRequest{
		Tier: work.Tier(c.String("tier")), Model: c.String("model"), Prompt: strings.Join(c.Args().Slice(), " "),
		Tools: c.Bool("tools"), Schema: c.Bool("schema"), LocalOnly: c.Bool("local-only"),
	})
	done()
	return answered(t, d, err, t.showDiagnosis)
}

func (t *terminal) showDiagnosis(d work.Diagnosis) {
	if len(d.Order) == 0 {
		t.say("no model can answer this")
	} else {
		t.say("asked in this order: %s", plain(strings.Join(d.Order, ", ")))
	}
	w := d.Weights
	t.say("the total is %.2f health + %.2f load + %.2f history + %.2f memory + %.2f cost + %.2f fitness", w.Health, w.Load, w.History, w.Memory, w.Cost, w.Fitness)
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
	t.table("MODEL\tTOTAL\tHEALTH\tLOAD\tHISTORY\tMEMORY\tCOST\tFITNESS\tWHY", rows)
	if len(unpriced) > 0 {
		t.say("budgets in dollars do not bound models without a price; say it in the settings as input_usd and output_usd of providers.%s.models", plain(unpriced[0]))
	}
	for _, b := range d.Budget {
		t.say("%s", plain(budgetWords(b)))
	}
	if d.Short != "" {
		t.say("refused by a budget: %s", plain(d.Short))
	}
	t.say("kept answer: %s", plain(d.Cached))
}

// budgetWords is how a budget stands, in a line: what is used, of what there is, and that
// nothing bounds it where that is so.
func budgetWords(s work.Standing) string {
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
		line += ", begins anew " + when(s.Resets)
	}
	return line
}
