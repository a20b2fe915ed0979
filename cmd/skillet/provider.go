package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/lines"
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
	return answered(t, all, err, func(all []work.Listed) { t.listing(lines.ModelListing(all)) })
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
	return printLines(t, d, err, lines.Diagnosis)
}
