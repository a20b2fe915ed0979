package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) taskCommand() *cli.Command {
	return &cli.Command{
		Name:  "task",
		Usage: "have goals done by agents, with installed skills as their only hands",
		Description: "A task is a goal in words. An agent plans how it is reached and calls tools of installed\n" +
			"skills, each with what was granted to it and no more; models are asked as `skillet provider\n" +
			"list` shows. Without a provider of language models the local one plans, by the words of\n" +
			"the goal and of the tools.\n\n" +
			"Each step is kept: a task goes on after a crash, and no step with an effect is done twice.\n\n" +
			"Examples:\n" +
			"  skillet task run 'Summarise README.md and list its links'\n" +
			"  skillet task run 'What changed?' --attach CHANGELOG.md --agent research --tokens 20000\n" +
			"  skillet task list\n" +
			"  skillet task show 3f2a",
		Subcommands: []*cli.Command{
			t.taskRun(), t.taskList(), t.taskShow(), t.taskLogs(), t.taskPause(), t.taskResume(), t.taskCancel(),
			t.taskApprove(), t.taskRefuse(), t.taskRemove(), t.taskWork(), t.taskDead(),
		},
	}
}

// allowFlag is what a person allows the calls of tasks that this process works on.
func allowFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` to the skills that ask for its kind, within the directories of the task, as long as this command works on it"}
}

func (t *terminal) taskRun() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "have a goal done, and print the answer",
		ArgsUsage: "GOAL",
		Description: "Shows the steps as they happen, and prints the answer at the end. In a pipe with --json each\n" +
			"event is a line of JSON, and the last line is the report. Ctrl-C has the task wait:\n" +
			"`skillet task resume` goes on with it.\n\n" +
			"Exit codes: 0 when the goal is reached, 1 when it is not (the report says how far it came),\n" +
			"6 when it waits for you.\n\n" +
			"Calls that change something wait for you, with what they are called with: `skillet task approve`\n" +
			"lets them be made. --approve-risk never is for a task that nobody watches.\n\n" +
			"Examples:\n" +
			"  skillet task run 'Summarise README.md and list its links' --allow \"fs.read:$PWD/**\"\n" +
			"  skillet task run 'Which of these is overdue?' --attach invoices.csv\n" +
			"  skillet task run 'Sort my notes by topic' --dir ~/notes --agent fileops --constraint 'change no file'\n" +
			"  skillet task run 'Save a summary of README.md to summary.txt' --plan only\n" +
			"  skillet task run 'Write a skill that counts vowels' --agent code --usd 0.50",
		Flags: append(append(workFlags(), agentFlag()), taskFlags()...),
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			return t.runTask(ctx, c, h, c.String("agent"), c.Args().Slice())
		}),
	}
}

// workFlags say what work may use, and cost.
func workFlags() []cli.Flag {
	return []cli.Flag{
		allowFlag(),
		&cli.StringSliceFlag{Name: "dir", Usage: "the `DIR` of the work, outside of which no file is touched (default: the current one); several may be given"},
		&cli.BoolFlag{Name: "no-files", Usage: "touch no file at all"},
		&cli.BoolFlag{Name: "offline", Usage: "have no tool use the network"},
		&cli.StringSliceFlag{Name: "tool", Usage: "use this `SKILL` or SKILL:TOOL, and none that is not named; several may be given"},
		&cli.StringSliceFlag{Name: "constraint", Usage: "what is asked for beside the goal, as `TEXT`; several may be given"},
		&cli.Int64Flag{Name: "tokens", Usage: "the most tokens of models that it may use, `N`"},
		&cli.Float64Flag{Name: "usd", Usage: "the most that models may cost for it, in US dollars, `N`"},
	}
}

func agentFlag() cli.Flag {
	return &cli.StringFlag{Name: "agent", Usage: "give it to the agent `NAME`"}
}

// taskFlags are about one task.
func taskFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "plan", Usage: "make a plan first: `WHEN` is auto, always or never; with only, it is shown, and followed when you resume the task", Value: string(work.PlanAuto)},
		&cli.StringFlag{Name: "approve-risk", Usage: "have calls of this `RISK` or more wait for you: low, medium, high, or never for a task that nobody watches (default: the setting tasks.approve_risk)"},
		&cli.StringSliceFlag{Name: "attach", Usage: "give it the text of this `FILE`; several may be given"},
		&cli.StringFlag{Name: "input", Usage: "values for it, a `JSON` object"},
		&cli.StringSliceFlag{Name: "hint", Usage: "`WORDS` that help to find what is remembered about it"},
		&cli.DurationFlag{Name: "timeout", Usage: "it has to be done in this `TIME`"},
		&cli.StringFlag{Name: "priority", Usage: "who goes first in 'skillet task work': `WHICH` is high, normal or low", Value: string(work.PriorityNormal)},
		&cli.BoolFlag{Name: "detach", Usage: "only take it in, for `skillet task work` or `skillet task resume`"},
	}
}

func (t *terminal) runTask(ctx context.Context, c *cli.Context, h *host.Host, agent string, goal []string) error {
	wanted, err := t.goal(c, h, agent, goal)
	if err != nil {
		return err
	}
	r, err := h.Work().Tasks().Submit(ctx, t.person(), wanted)
	if err != nil {
		return err
	}
	if wanted.Queue {
		return t.answer(r, func() {
			t.say("%s", r.TaskID)
			t.note("taken in: `skillet task work` does what waits, `skillet task resume %s` this task", shortID(r.TaskID))
		})
	}
	return t.follow(ctx, c, h, work.DoRequest{ID: r.TaskID, History: true})
}

// use is what a command line says that work may use, without what is to be done.
func use(c *cli.Context) (work.TaskRequest, error) {
	q := work.TaskRequest{
		Tools: c.StringSlice("tool"), Online: !c.Bool("offline"), Constraints: c.StringSlice("constraint"),
		Tokens: c.Int64("tokens"), USD: c.Float64("usd"),
	}
	if c.Bool("no-files") {
		if c.IsSet("dir") || c.IsSet("allow") {
			return q, fault.Errorf(fault.KindUsage, "--no-files does not go with --dir and --allow")
		}
		return q, nil
	}
	dirs := c.StringSlice("dir")
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		whole, err := absolute(dir)
		if err != nil {
			return q, err
		}
		q.Dirs = append(q.Dirs, whole)
	}
	return q, nil
}

// goal is the task that a command line asks for.
func (t *terminal) goal(c *cli.Context, h *host.Host, agent string, goal []string) (work.TaskRequest, error) {
	if len(goal) == 0 {
		return work.TaskRequest{}, fault.Errorf(fault.KindUsage, "task run takes a goal").WithHint("`skillet help task run` shows examples")
	}
	q, err := use(c)
	if err != nil {
		return q, err
	}
	q.Goal, q.Agent, q.Hints = strings.Join(goal, " "), agent, c.StringSlice("hint")
	q.Planning, q.Priority, q.ApproveRisk = work.Planning(c.String("plan")), work.Priority(c.String("priority")), work.Risk(c.String("approve-risk"))
	q.Timeout, q.Queue = c.Duration("timeout"), c.Bool("detach")
	if s := c.String("input"); s != "" {
		q.Inputs = json.RawMessage(s)
	}
	for _, name := range c.StringSlice("attach") {
		a, err := h.Work().Tasks().Attach(t.person(), name)
		if err != nil {
			return q, err
		}
		q.Attachments = append(q.Attachments, a)
	}
	return q, nil
}

// withTask hands on the task that the first argument begins.
func (t *terminal) withTask(more string, do func(ctx context.Context, c *cli.Context, h *host.Host, id string) error) cli.ActionFunc {
	return t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if !c.Args().Present() || c.NArg() > 1 && more == "" || c.NArg() > 2 {
			_, err := need(c, 1, "one task"+more)
			return err
		}
		return do(ctx, c, h, c.Args().First())
	})
}

func (t *terminal) taskList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list tasks, the newest first",
		Description: "Examples:\n  skillet task list\n  skillet task list --state waiting_approval\n  skillet task list --all --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "those in this `STATE`: queued, running, waiting_approval, paused, completed, failed or cancelled"},
			&cli.BoolFlag{Name: "all", Usage: "all of them, not only the newest 20"},
		},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			q := work.ListRequest{State: work.State(c.String("state")), Limit: 20}
			if c.Bool("all") {
				q.Limit = 0
			}
			all, err := h.Work().Tasks().List(ctx, t.person(), q)
			if err != nil {
				return err
			}
			return t.answer(append([]work.Run{}, all...), func() { t.listTasks(all) })
		}),
	}
}

func (t *terminal) listTasks(all []work.Run) {
	if len(all) == 0 {
		t.note("no tasks; `skillet task run GOAL` begins one")
		return
	}
	var rows [][]string
	for _, r := range all {
		done := 0
		for _, s := range r.Steps {
			if s.State.Final() {
				done++
			}
		}
		steps := "-"
		if len(r.Steps) > 0 {
			steps = fmt.Sprintf("%d/%d", done, len(r.Steps))
		}
		rows = append(rows, []string{shortID(r.TaskID), string(r.State), steps, when(r.CreatedAt), r.Title})
	}
	t.table("ID\tSTATE\tSTEPS\tSINCE\tGOAL", rows)
}

// shortID is enough of the ID of a task to name it.
func shortID(id string) string { return id[:min(len(id), 12)] }

func (t *terminal) taskPause() *cli.Command {
	return &cli.Command{
		Name: "pause", Usage: "have a task stand still until it is resumed", ArgsUsage: "ID",
		Description: "The process that works on it ends what it can end without harm.\n\nExamples:\n  skillet task pause 3f2a",
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := h.Work().Tasks().Pause(ctx, t.person(), id)
			return t.moved(r, err)
		}),
	}
}

func (t *terminal) taskResume() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with a task that was paused, interrupted or waits", ArgsUsage: "ID",
		Description: "What was done is not done again.\n\nExamples:\n  skillet task resume 3f2a\n  skillet task resume 3f2a --detach",
		Flags:       []cli.Flag{allowFlag(), &cli.BoolFlag{Name: "detach", Usage: "only have it wait for `skillet task work`"}},
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := h.Work().Tasks().Resume(ctx, t.person(), id)
			if err != nil || c.Bool("detach") {
				return t.moved(r, err)
			}
			return t.follow(ctx, c, h, work.DoRequest{ID: r.TaskID})
		}),
	}
}

func (t *terminal) taskCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a task; its report says how far it was", ArgsUsage: "ID",
		Description: "Examples:\n  skillet task cancel 3f2a --reason 'not needed any more'",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why, kept in the report, as `TEXT`"}},
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := h.Work().Tasks().Cancel(ctx, t.person(), id, plain(c.String("reason")))
			return t.moved(r, err)
		}),
	}
}

// moved says what became of a task.
func (t *terminal) moved(r work.Run, err error) error {
	if err != nil {
		return err
	}
	return t.answer(r, func() { t.say("%s is %s%s", shortID(r.TaskID), r.State, because(plain(r.Reason), nil)) })
}

func (t *terminal) taskApprove() *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "let a step begin that waits for you", ArgsUsage: "ID [STEP]",
		Description: "Without a step, all that wait. `skillet task show` shows them; then `skillet task resume` goes on.\n\n" +
			"Examples:\n  skillet task approve 3f2a\n  skillet task approve 3f2a write --notes 'looked at it'",
		Flags: []cli.Flag{notesFlag()},
		Action: t.withTask(" and a step", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := t.decide(ctx, c, h, id, true)
			return t.moved(r, err)
		}),
	}
}

func (t *terminal) taskRefuse() *cli.Command {
	return &cli.Command{
		Name: "refuse", Usage: "have a step not begin that waits for you", ArgsUsage: "ID [STEP]",
		Description: "The task goes on without it, and without what waits for it.\n\nExamples:\n  skillet task refuse 3f2a write --notes 'not in this directory'",
		Flags:       []cli.Flag{notesFlag()},
		Action: t.withTask(" and a step", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := t.decide(ctx, c, h, id, false)
			return t.moved(r, err)
		}),
	}
}

// decide tells what the person decides about steps.
func (t *terminal) decide(ctx context.Context, c *cli.Context, h *host.Host, id string, yes bool) (work.Run, error) {
	return h.Work().Tasks().Decide(ctx, t.person(), work.Decision{ID: id, Step: c.Args().Get(1), Approved: yes, Notes: plain(c.String("notes"))})
}

func notesFlag() cli.Flag {
	return &cli.StringFlag{Name: "notes", Usage: "why, kept with the decision, as `TEXT`"}
}

func (t *terminal) taskRemove() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"}, Usage: "forget a task that has ended, with all that was kept of it", ArgsUsage: "ID",
		Description: "What it did stays in the audit log.\n\nExamples:\n  skillet task remove 3f2a",
		Action: t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			id, err := h.Work().Tasks().Remove(ctx, t.person(), id)
			if err != nil {
				return err
			}
			return t.answer(struct {
				Removed string `json:"removed"`
			}{id}, func() { t.note("removed %s", shortID(id)) })
		}),
	}
}
