package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/llm"
	"github.com/skillet-run/skillet/host/llm/budget"
	"github.com/skillet-run/skillet/plugins/provider"
)

func (t *terminal) providerCommand() *cli.Command {
	return &cli.Command{
		Name:  "provider",
		Usage: "what answers requests for models: list, test, and say why a model is chosen",
		Description: "A provider is a plugin, a process of its own. The provider `local` comes with the program: it\n" +
			"needs no network, and has no language model. Others are packages of the type provider, installed\n" +
			"and approved like skills, and configured by settings:\n\n" +
			"  skillet install openai-1.0.0.skill\n" +
			"  skillet secret set openai\n" +
			"  skillet config set providers.work.kind openai\n" +
			"  skillet config set providers.work.secret openai\n" +
			"  skillet config set providers.work.base_url https://llm.example.com/v1\n" +
			"  skillet config set models.tiers.smart work/gpt-5\n\n" +
			"Examples:\n  skillet provider list\n  skillet provider test local\n  skillet provider diagnose --tier smart",
		Subcommands: []*cli.Command{t.providerList(), t.providerTest(), t.providerDiagnose()},
	}
}

// withModels opens the router for a command.
func (t *terminal) withModels(do func(ctx context.Context, c *cli.Context, h *host.Host, m *llm.Router) error) cli.ActionFunc {
	return t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		m, err := h.Models(ctx)
		if err != nil {
			return err
		}
		return do(ctx, c, h, m)
	})
}

func (t *terminal) providerList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list the models of all providers, and what they can do",
		Description: "Asks each provider, which has it started.\n\nExamples:\n  skillet provider list\n  skillet provider list --json",
		Action: t.withModels(func(ctx context.Context, c *cli.Context, h *host.Host, m *llm.Router) error {
			done := t.waiting("asking the providers")
			err := m.Refresh(ctx)
			if err != nil && ctx.Err() != nil {
				done()
				return err
			}
			all, err := m.Models(ctx)
			if err == nil {
				all, err = withSilent(ctx, h, all)
			}
			done()
			if err != nil {
				return err
			}
			return t.answer(append([]llm.Listed{}, all...), func() { t.listModels(all) })
		}),
	}
}

// withSilent adds the providers of which no model is known, with why.
func withSilent(ctx context.Context, h *host.Host, all []llm.Listed) ([]llm.Listed, error) {
	names, err := h.ProviderNames(ctx)
	for _, name := range names {
		if slices.ContainsFunc(all, func(l llm.Listed) bool { return l.Provider == name }) {
			continue
		}
		silent := llm.Listed{Provider: name, Problem: "it has no models"}
		if _, err := h.Provider(ctx, name); err != nil {
			silent.Problem = explain(err).Message
		}
		all = append(all, silent)
	}
	return all, err
}

func (t *terminal) listModels(all []llm.Listed) {
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

func abilities(m provider.Model) []string {
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

func price(m llm.Listed) string {
	if m.InputUSD == 0 && m.OutputUSD == 0 {
		if m.Local {
			return "free"
		}
		return "-"
	}
	return fmt.Sprintf("%.2f in, %.2f out", m.InputUSD, m.OutputUSD)
}

// A probe is one thing that `provider test` tried.
type probe struct {
	What   string       `json:"what"`
	OK     bool         `json:"ok"`
	TookMS float64      `json:"took_ms"`
	Detail string       `json:"detail,omitempty"`
	Error  *fault.Error `json:"error,omitempty"`
}

// probed is what --json prints of test.
type probed struct {
	Provider string        `json:"provider"`
	OK       bool          `json:"ok"`
	Info     provider.Info `json:"info"`
	Trials   []probe       `json:"trials"`
}

func (t *terminal) providerTest() *cli.Command {
	return &cli.Command{
		Name: "test", Usage: "start a provider and ask it: what it is, a short text, a vector", ArgsUsage: "NAME",
		Description: "Asks the model directly, past budgets and the kept answers; a provider that is paid is paid for it.\n\n" +
			"Examples:\n  skillet provider test local\n  skillet provider test work --model gpt-5-mini",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "ask this `MODEL` (default: the first that makes text, and the first that makes vectors)"},
			&cli.StringFlag{Name: "prompt", Usage: "ask this `TEXT`", Value: "Say hello in one word."},
		},
		Action: t.withState(t.testProvider),
	}
}

func (t *terminal) testProvider(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one provider")
	if err != nil {
		return err
	}
	out := probed{Provider: args[0], OK: true}
	var p provider.Provider
	try := func(what string, do func() (string, error)) bool {
		done := t.waiting("%s: %s", args[0], what)
		began := time.Now()
		detail, err := do()
		done()
		tr := probe{What: what, OK: err == nil, TookMS: float64(time.Since(began).Microseconds()) / 1000, Detail: detail, Error: explain(err)}
		out.Trials, out.OK = append(out.Trials, tr), out.OK && tr.OK
		return tr.OK
	}
	if try("start", func() (string, error) { p, err = h.Provider(ctx, args[0]); return "", err }) {
		t.askProvider(ctx, c, p, &out, try)
	}
	if err := t.answer(out, func() { t.showProbed(out) }); err != nil {
		return err
	}
	if !out.OK {
		return reported{firstFailure(out.Trials)}
	}
	return nil
}

func (t *terminal) askProvider(ctx context.Context, c *cli.Context, p provider.Provider, out *probed, try func(string, func() (string, error)) bool) {
	var models []provider.Model
	try("health", func() (string, error) { return "", p.Health(ctx) })
	try("info", func() (s string, err error) { out.Info, err = p.Info(ctx); return out.Info.Note, err })
	if !try("models", func() (s string, err error) { models, err = p.Models(ctx); return count(len(models), "model"), err }) {
		return
	}
	named := func(can func(provider.Model) bool) string {
		i := slices.IndexFunc(models, func(m provider.Model) bool { return can(m) && (!c.IsSet("model") || m.Name == c.String("model")) })
		if i < 0 {
			return ""
		}
		return models[i].Name
	}
	text, vector := named(func(m provider.Model) bool { return m.Text }), named(func(m provider.Model) bool { return m.Embeddings })
	if c.IsSet("model") && text == "" && vector == "" {
		text = c.String("model") // a server may have more models than it lists
	}
	if text != "" {
		try("text of "+text, func() (string, error) {
			r, err := p.Generate(ctx, provider.Request{Model: text, MaxTokens: 64, Messages: []provider.Message{{Role: provider.RoleUser, Text: c.String("prompt")}}}, nil)
			return fmt.Sprintf("%q, %d tokens in, %d out", short(r.Text, 80), r.Usage.InputTokens, r.Usage.OutputTokens), err
		})
	}
	if vector != "" {
		try("vector of "+vector, func() (string, error) {
			r, err := p.Embed(ctx, provider.EmbedRequest{Model: vector, Texts: []string{c.String("prompt")}})
			if err == nil && len(r.Vectors) != 1 {
				err = fault.Errorf(fault.KindSkill, "it made %d vectors of one text", len(r.Vectors))
			}
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d dimensions", len(r.Vectors[0])), nil
		})
	}
}

func firstFailure(all []probe) fault.Kind {
	for _, tr := range all {
		if tr.Error != nil {
			return tr.Error.Kind
		}
	}
	return fault.KindInternal
}

func (t *terminal) showProbed(out probed) {
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

func (t *terminal) providerDiagnose() *cli.Command {
	return &cli.Command{
		Name: "diagnose", Usage: "say which models a request would go to, in which order, and why", ArgsUsage: "[PROMPT]",
		Description: "Shows every model with its scores, what is excluded and why, and the budgets. No model is asked.\n\n" +
			"Examples:\n  skillet provider diagnose --tier smart\n  skillet provider diagnose --model work/gpt-5 'Write a poem'\n" +
			"  skillet provider diagnose --tier fast --tools --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tier", Usage: "ask this `TIER`: fast, balanced, smart, code or conversation"},
			&cli.StringFlag{Name: "model", Usage: "ask this `MODEL`, as PROVIDER/MODEL"},
			&cli.BoolFlag{Name: "tools", Usage: "the request has tools"},
			&cli.BoolFlag{Name: "schema", Usage: "the request wants JSON that fits a schema"},
			&cli.BoolFlag{Name: "local-only", Usage: "only models from which nothing leaves this machine"},
		},
		Action: t.withModels(t.diagnose),
	}
}

func (t *terminal) diagnose(ctx context.Context, c *cli.Context, _ *host.Host, m *llm.Router) error {
	a := llm.Ask{Tier: llm.Tier(c.String("tier")), Model: c.String("model"), Purpose: "diagnose", LocalOnly: c.Bool("local-only")}
	if c.Args().Present() {
		a.Request.Messages = []provider.Message{{Role: provider.RoleUser, Text: strings.Join(c.Args().Slice(), " ")}}
	}
	if c.Bool("tools") {
		a.Request.Tools = []provider.Tool{{Name: "tool", Description: "a tool", InputSchema: []byte(`{"type":"object"}`)}}
	}
	if c.Bool("schema") {
		a.Request.Schema = []byte(`{"type":"object"}`)
	}
	done := t.waiting("asking the providers")
	d, err := m.Diagnose(ctx, a)
	done()
	if err != nil {
		return err
	}
	return t.answer(d, func() { t.showDiagnosis(d) })
}

func (t *terminal) showDiagnosis(d llm.Diagnosis) {
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
		t.say("budget %s", plain(budgetWords(b)))
	}
	if d.Short != "" {
		t.say("refused by a budget: %s", plain(d.Short))
	}
	t.say("kept answer: %s", plain(d.Cached))
}

// budgetWords is how a budget stands, in a line.
func budgetWords(s budget.Standing) string {
	amount := func(a budget.Amount) string {
		return fmt.Sprintf("%d tokens, %.4f USD", a.Tokens, a.USD())
	}
	line := s.Budget + ": used " + amount(s.Used)
	if s.Limit.Tokens > 0 {
		line += fmt.Sprintf(" of %d tokens", s.Limit.Tokens)
	}
	if s.Limit.MicroUSD > 0 {
		line += fmt.Sprintf(" of %.2f USD", s.Limit.USD())
	}
	if s.Limit.Tokens <= 0 && s.Limit.MicroUSD <= 0 {
		line += ", without a limit"
	}
	if !s.Resets.IsZero() {
		line += ", begins anew " + when(s.Resets)
	}
	return line
}
