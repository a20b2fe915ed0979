package main

import (
	"context"
	"os"
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) agentCommand() *cli.Command {
	return &cli.Command{
		Name:  "agent",
		Usage: "define agents: what they are for, and which tools they may use",
		Description: "A definition is a YAML or JSON file:\n\n" +
			"  name: release-notes\n" +
			"  description: Writes release notes out of a change log.\n" +
			"  model_tier: smart                # fast, balanced, smart, code or conversation\n" +
			"  tools: [text, \"markdown:to_html\"]\n" +
			"  max_iterations: 3\n" +
			"  system_prompt: |\n" +
			"    You write release notes. Never invent a change.\n\n" +
			"It grants nothing: an agent has at most what its tools were granted. What a model wants\n" +
			"to define waits for approval.\n\n" +
			"Examples:\n  skillet agent add release-notes.yaml\n  skillet agent list\n  skillet agent show release-notes\n" +
			"  skillet agent run release-notes 'Write the notes of CHANGELOG.md'",
		Subcommands: []*cli.Command{t.agentAdd(), t.agentList(), t.agentShow(), t.agentRun(), t.agentRemove()},
	}
}

// proposerFlags are those of commands whose change a model may want.
func proposerFlags(yes string) []cli.Flag {
	return []cli.Flag{
		yesFlag(yes),
		&cli.StringFlag{Name: "generated-by", Usage: "this `MODEL` wants the change: it waits for approval"},
		&cli.StringFlag{Name: "rationale", Usage: "why, shown to who decides"},
	}
}

// proposingModel is the model that --generated-by names, which wants a change; empty for
// the person. A model's wish goes with no --yes.
func proposingModel(c *cli.Context) (string, error) {
	model := c.String("generated-by")
	if model != "" && c.Bool("yes") {
		return "", fault.Errorf(fault.KindUsage, "--yes does not go with --generated-by").
			WithHint("what a model wants is looked at first: propose it without --yes, then `skillet approvals show`")
	}
	return plain(model), nil
}

// decideChange has the person decide at once about a change of a file that they
// want themselves. Others wait.
func (t *terminal) decideChange(ctx context.Context, c *cli.Context, h *host.Host, p govern.Proposal) error {
	if p.Status == govern.StatusQuarantined || c.String("generated-by") != "" || !c.Bool("yes") && !t.canAsk() {
		return govern.Waiting(p)
	}
	if !c.Bool("yes") {
		if err := t.showProposal(ctx, h, govern.ShowProposal{ID: p.ID, NoTests: true}); err != nil {
			return err
		}
		if err := t.confirm(strings.TrimPrefix(c.Command.HelpName, "skillet "), "Change this?"); err != nil {
			if _, rejected := h.Govern().Proposals.Reject(ctx, t.person(), govern.Decision{ID: p.ID, Notes: "not meant"}); rejected != nil {
				return rejected
			}
			return err
		}
	}
	out, err := h.Govern().Proposals.Approve(ctx, t.person(), govern.Approval{ID: p.ID, Digest: string(p.Digest)})
	if err != nil {
		return err
	}
	return t.answer(out, func() { t.noteApproved(out) })
}

func (t *terminal) agentAdd() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "define an agent, or define it anew, or propose to",
		ArgsUsage: "FILE",
		Description: "Writes the definition into the directory agents of the home when you agree, and keeps what\n" +
			"was there: `skillet approvals revert` puts it back. Without a terminal, and without --yes,\n" +
			"it waits as a proposal (exit code 6). One that a model wants always waits.\n\n" +
			"Examples:\n  skillet agent add release-notes.yaml\n  skillet agent add release-notes.yaml --generated-by gpt-x --rationale 'you ask for notes each week'",
		Flags: proposerFlags("define it"),
		Action: t.withProposals(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one file")
			if err != nil {
				return err
			}
			if _, err := proposingModel(c); err != nil {
				return err
			}
			text, err := definition(ctx, args[0])
			if err != nil {
				return err
			}
			p, err := h.Work().Agents().Propose(ctx, t.person(), work.Definition{
				Text: text, File: args[0], Model: plain(c.String("generated-by")), Rationale: plain(c.String("rationale")),
			})
			if err != nil {
				return err
			}
			if len(p.Missing) > 0 {
				t.note("the agent names tools that are not installed, and cannot call them until they are: %s", plain(strings.Join(p.Missing, ", ")))
			}
			return t.decideChange(ctx, c, h, p.Proposal)
		}),
	}
}

// definition reads a file that somebody says holds a definition.
func definition(ctx context.Context, path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err == nil && st.Size() > manifests.MaxBytes {
		return nil, fault.Errorf(fault.KindUsage, "%s is %d bytes long: no definition of an agent is", path, st.Size()).WithHint("at most %d are accepted", manifests.MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	return readSmall(ctx, path, manifests.MaxBytes) // a device has no size
}

// maxAgentLines is how much of a definition, or of its difference, is shown.
const maxAgentLines = 200

// printAgent shows what would be different about a definition.
func (t *terminal) printAgent(c *govern.AgentChange) {
	before, after := c.Definitions()
	d := review.Text(before, after, review.Limits{Lines: maxAgentLines, LineBytes: 400})
	of := ""
	if c.Before == nil && c.Builtin != nil {
		of = ", compared with the one that comes with the program"
	}
	t.say("  the definition of the agent %s%s:", plain(c.Agent), of)
	for _, line := range d.Diff {
		t.say("    | %s", visible(line))
	}
	if d.More > 0 {
		t.say("    ... %s: --json has the whole file", count(d.More, "more line"))
	}
}

func (t *terminal) agentList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the agents",
		Description: "Examples:\n  skillet agent list\n  skillet agent list --json",
		Action: t.withProposals(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := h.Work().Agents().List(ctx, t.person())
			if err != nil {
				return err
			}
			return t.answer(all, func() {
				var rows [][]string
				for _, a := range all {
					row := []string{a.Name, a.Origin, "-", "broken: " + a.Problem}
					if a.Definition != nil {
						row[2], row[3] = string(a.Definition.Tier), a.Definition.Description
					}
					rows = append(rows, row)
				}
				t.table("NAME\tFROM\tTIER\tDESCRIPTION", rows)
			})
		}),
	}
}

func (t *terminal) agentRun() *cli.Command {
	run := t.taskRun()
	run.Usage, run.ArgsUsage = "have an agent do a task", "NAME GOAL"
	run.Description = "The same as `skillet task run --agent NAME GOAL`, whose help explains it.\n\n" +
		"Examples:\n  skillet agent run fileops 'Which files here are larger than a megabyte?' --allow \"fs.read:$PWD/**\"\n" +
		"  skillet agent run code 'Write a skill that counts vowels'"
	run.Flags = append(workFlags(), taskFlags()...)
	run.Action = t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if c.NArg() < 2 {
			return fault.Errorf(fault.KindUsage, "agent run takes the name of an agent and a goal")
		}
		return t.runTask(ctx, c, h, c.Args().First(), c.Args().Tail())
	})
	return run
}

func (t *terminal) agentShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show the definition of an agent",
		ArgsUsage:   "NAME",
		Description: "Examples:\n  skillet agent show release-notes\n  skillet agent show release-notes --json",
		Action: t.withProposals(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one name")
			if err != nil {
				return err
			}
			a, err := h.Work().Agents().Show(ctx, t.person(), args[0])
			if err != nil {
				return err
			}
			return t.answer(a.Definition, func() { t.printDefinition(a) })
		}),
	}
}

func (t *terminal) printDefinition(a work.AgentView) {
	d := a.Definition
	t.say("%s: %s", plain(d.Name), plain(d.Description))
	t.say("  thinks with the tier %s, up to %s and %s a task", d.Tier, count(d.Iterations(), "time"), d.Timeout())
	if d.MaxTokens > 0 {
		t.say("  answers of the model have up to %s", count(d.MaxTokens, "token"))
	}
	if d.Temperature != nil {
		t.say("  temperature %v", *d.Temperature)
	}
	switch {
	case a.AnyTool:
		t.say("  may use every tool of its task, with what they were granted")
	case len(d.Tools) == 0:
		t.say("  may use no tool: it can think and answer")
	default:
		t.say("  may use %s, with what they were granted", plain(strings.Join(d.Tools, ", ")))
	}
	if len(a.Missing) > 0 {
		t.say("  not installed: %s", plain(strings.Join(a.Missing, ", ")))
	}
	if d.ApprovalRequired {
		t.say("  a person approves its plans")
	}
	t.say("  instructions:")
	for line := range strings.Lines(d.SystemPrompt) {
		t.say("    %s", visible(strings.TrimRight(line, "\n")))
	}
}

func (t *terminal) agentRemove() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"},
		Usage:       "remove an agent, or propose to",
		ArgsUsage:   "NAME",
		Description: "`skillet approvals revert` puts it back.\n\nExamples:\n  skillet agent remove release-notes\n  skillet agent remove release-notes --yes",
		Flags:       proposerFlags("remove it"),
		Action: t.withProposals(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one name")
			if err != nil {
				return err
			}
			if _, err := proposingModel(c); err != nil {
				return err
			}
			p, err := h.Work().Agents().ProposeRemoval(ctx, t.person(), work.Removal{
				Name: args[0], Model: plain(c.String("generated-by")), Rationale: plain(c.String("rationale")),
			})
			if err != nil {
				return err
			}
			return t.decideChange(ctx, c, h, p)
		}),
	}
}
