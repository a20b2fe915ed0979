package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) taskCommand() *cli.Command {
	reason := cmdline.ReasonFlag("why, kept with the decision, as `TEXT`")
	return group("task",
		command("run", append(append(workFlags(), agentFlag()), taskFlags()...), t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			return t.runTask(ctx, c, h, c.String("agent"), c.Args().Slice())
		})),
		command("list ls", []cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "those in this `STATE`: queued, running, waiting_approval, paused, completed, failed or cancelled"},
			&cli.BoolFlag{Name: "all", Usage: "all of them, not only the newest 20"},
		}, t.withState(t.listTasks)),
		command("show", htmlFlags(), t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			if c.IsSet("html") {
				return t.taskPage(ctx, c, h, id)
			}
			v, err := h.Work().Tasks().Show(ctx, t.person(), id)
			return answered(t, v, err, t.showTask)
		})),
		command("logs", []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the task stands still"},
			&cli.Uint64Flag{Name: "after", Usage: "only events with a number above `N`"},
		}, t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			return h.Work().Tasks().Logs(ctx, t.person(), work.LogsRequest{ID: id, After: c.Uint64("after"), Follow: c.Bool("follow"), Each: t.logEvent})
		})),
		command("pause", nil, t.movingTask("", func(ctx context.Context, c *cli.Context, s *work.Tasks, id string) (work.Run, error) {
			return s.Pause(ctx, t.person(), work.TaskChange{ID: id})
		})),
		command("resume", []cli.Flag{allowFlag(), &cli.BoolFlag{Name: "detach", Usage: "only queue it for `skillet task work`"}}, t.withTask("", t.resumeTask)),
		command("cancel", []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why, kept in the report, as `TEXT`"}}, t.movingTask("", func(ctx context.Context, c *cli.Context, s *work.Tasks, id string) (work.Run, error) {
			return s.Cancel(ctx, t.person(), work.TaskChange{ID: id, Reason: plain(c.String("reason"))})
		})),
		command("approve", []cli.Flag{allowFlag(), reason}, t.withTask(" and a step", t.approveStep)),
		command("refuse", []cli.Flag{reason}, t.movingTask(" and a step", func(ctx context.Context, c *cli.Context, s *work.Tasks, id string) (work.Run, error) {
			return s.Decide(ctx, t.person(), decision(c, id, false))
		})),
		command("remove rm", nil, t.withTask("", func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
			r, err := h.Work().Tasks().Remove(ctx, t.person(), id)
			return answered(t, r, err, func(r work.Removed) { t.note("removed %s", shortID(r.Removed)) })
		})),
		command("work", []cli.Flag{allowFlag(), &cli.BoolFlag{Name: "watch", Usage: "wait for more"}}, t.withState(t.workTasks)),
		command("dead", []cli.Flag{
			&cli.StringFlag{Name: "requeue", Usage: "put the dead letter `ID` back into the queue"},
			&cli.StringFlag{Name: "drop", Usage: "forget the dead letter `ID`; the task stays"},
		}, t.withState(t.deadTasks)),
	)
}

// allowFlag is what a person allows the calls of tasks that this process works on.
func allowFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` to the skills that ask for its kind, within the directories of the task, as long as this command works on it"}
}

// workFlags say what work may use, and cost.
func workFlags() []cli.Flag {
	return []cli.Flag{
		allowFlag(),
		&cli.StringSliceFlag{Name: "dir", Usage: "the `DIR` of the work, outside of which no file is touched (default: the current one); may be repeated"},
		&cli.BoolFlag{Name: "no-files", Usage: "touch no file at all"},
		&cli.BoolFlag{Name: "offline", Usage: "let no tool use the network"},
		&cli.StringSliceFlag{Name: "tool", Usage: "use this `SKILL` or SKILL:TOOL, and none that is not named; may be repeated"},
		&cli.StringSliceFlag{Name: "constraint", Usage: "what is asked for besides the goal, as `TEXT`; may be repeated"},
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
		&cli.StringFlag{Name: "approve-risk", Usage: "ask you before calls of this `RISK` or more: low, medium, high, or never for a task that nobody watches (default: the setting tasks.approve_risk)"},
		&cli.StringSliceFlag{Name: "attach", Usage: "give it the text of this `FILE`; may be repeated"},
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

// movingTask is a command that brings a task into another state, and says into which.
func (t *terminal) movingTask(more string, do func(ctx context.Context, c *cli.Context, s *work.Tasks, id string) (work.Run, error)) cli.ActionFunc {
	return t.withTask(more, func(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
		r, err := do(ctx, c, h.Work().Tasks(), id)
		return answered(t, r, err, t.showState)
	})
}

func (t *terminal) showState(r work.Run) {
	t.say("%s is %s%s", shortID(r.TaskID), r.State, because(plain(r.Reason)))
}

// decision is what a command line decides about the steps of a task that wait for the person.
func decision(c *cli.Context, id string, yes bool) work.Decision {
	return work.Decision{ID: id, Step: c.Args().Get(1), Approved: yes, Notes: plain(c.String("reason"))}
}

// approveStep lets steps begin that wait for the person, and with --allow goes on with the task
// here: a worker that took it would not have what is allowed.
func (t *terminal) approveStep(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
	d := decision(c, id, true)
	if d.Hold = c.IsSet("allow"); d.Hold {
		if _, err := t.allow(c); err != nil {
			return err
		}
	}
	r, err := h.Work().Tasks().Decide(ctx, t.person(), d)
	if err == nil && d.Hold && r.State == work.Queued {
		return t.follow(ctx, c, h, work.DoRequest{ID: r.TaskID})
	}
	return answered(t, r, err, func(r work.Run) {
		t.showState(r)
		if d.Hold {
			t.note("other steps wait for you, and nothing of --allow was used: give it when you approve the last of them")
		}
	})
}

func (t *terminal) resumeTask(ctx context.Context, c *cli.Context, h *host.Host, id string) error {
	r, err := h.Work().Tasks().Resume(ctx, t.person(), work.TaskChange{ID: id, Hold: !c.Bool("detach")})
	if err != nil || c.Bool("detach") {
		return answered(t, r, err, t.showState)
	}
	return t.follow(ctx, c, h, work.DoRequest{ID: r.TaskID})
}

func (t *terminal) listTasks(ctx context.Context, c *cli.Context, h *host.Host) error {
	q := work.ListRequest{State: work.State(c.String("state")), Limit: 20}
	if c.Bool("all") {
		q.Limit = 0
	}
	all, err := h.Work().Tasks().List(ctx, t.person(), q)
	return answered(t, all, err, func(all []work.Run) {
		if len(all) == 0 {
			t.note("no tasks; `skillet task run GOAL` begins one")
			return
		}
		var rows [][]string
		for _, r := range all {
			steps := "-"
			if len(r.Steps) > 0 {
				steps = fmt.Sprintf("%d/%d", work.StepsDone(r), len(r.Steps))
			}
			rows = append(rows, []string{shortID(r.TaskID), string(r.State), steps, when(r.CreatedAt), r.Title})
		}
		t.table("ID\tSTATE\tSTEPS\tSINCE\tGOAL", rows)
	})
}

func (t *terminal) deadTasks(ctx context.Context, c *cli.Context, h *host.Host) error {
	tasks, requeue, drop := h.Work().Tasks(), c.String("requeue"), c.String("drop")
	told := func(l work.LetterState) { t.note("%s is %s", plain(l.ID), l.State) }
	switch {
	case requeue != "" && drop != "":
		return fault.Errorf(fault.KindUsage, "--requeue does not go with --drop")
	case requeue != "":
		l, err := tasks.Requeue(ctx, t.person(), requeue)
		return answered(t, l, err, told)
	case drop != "":
		l, err := tasks.Drop(ctx, t.person(), drop)
		return answered(t, l, err, told)
	}
	all, err := tasks.Dead(ctx, t.person())
	return answered(t, all, err, func(all []work.DeadLetter) {
		if len(all) == 0 {
			t.note("the queue gave nothing up")
		}
		for _, d := range all {
			t.say("%s  %s  begun %s: %s", plain(d.ID), when(d.At), count(d.Attempts, "time"), plain(d.Why))
		}
	})
}

func (t *terminal) workTasks(ctx context.Context, c *cli.Context, h *host.Host) error {
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	done := work.Worked{Tasks: []work.Run{}}
	err = h.Work().Tasks().RunWorkers(ctx, t.person(), work.WorkRequest{Allow: allow, Watch: c.Bool("watch"), Done: func(r work.Run) {
		done.Tasks = append(done.Tasks, r)
		if !t.json {
			t.note("%s is %s: %s", shortID(r.TaskID), r.State, plain(r.Title))
		}
	}})
	return answered(t, done, err, func(done work.Worked) {
		if len(done.Tasks) == 0 {
			t.note("nothing waits")
		}
	})
}
