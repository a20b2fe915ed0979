package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/service"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
)

// ownFlags are the flags with which a command does its work itself, although a service
// could: each asks for what a person decides, for what is the person's own, or for a file
// that the command writes. The other flags are passed on, or are the same to the service:
// see [upkeep.Common].
var ownFlags = map[string][]string{
	"run":  {"allow", "run", "session", "record", "render", "config", "script"},
	"list": {},
	"mcp":  {},
}

// maxServed is the longest input that is passed on, in bytes.
const maxServed = 4 << 20

// inService sends what a command asks for to the service of the home, if that has the same
// settings. Without one, or when it refuses, the command does it itself.
func (t *terminal) inService(do func(context.Context, *cli.Context, *service.Conn) error, self cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		conn, err := t.dial(c)
		if err != nil {
			return self(c)
		}
		defer conn.Close()
		if err := do(c.Context, c, conn); !errors.Is(err, service.ErrNone) {
			return err
		}
		return self(c)
	}
}

// dial connects to the service of the home; the error is [service.ErrNone].
func (t *terminal) dial(c *cli.Context) (*service.Conn, error) {
	for _, name := range ownFlags[c.Command.Name] {
		if c.IsSet(name) {
			return nil, service.ErrNone
		}
	}
	home, err := t.home(c)
	if err != nil || !exists(upkeep.SocketOf(home)) {
		return nil, service.ErrNone
	}
	if home, err = upkeep.MakeHome(home); err != nil { // one that others can write to is refused
		return nil, service.ErrNone
	}
	common, err := commonOf(t.options(c, home))
	if err != nil {
		return nil, service.ErrNone
	}
	return service.Dial(c.Context, upkeep.SocketOf(home), common)
}

// commonOf is what a command has to have in common with the service of a home.
func commonOf(o host.Options) (string, error) {
	return upkeep.Common{
		Home: o.Home, System: o.System, Layers: upkeep.SettingLayers{EnvFile: o.EnvFile, Environ: o.Environ, Flags: o.Flags},
	}.Digest()
}

// runServed is [terminal.run] where a service makes the call. Whatever is wrong with the
// call, the command finds out itself.
func (t *terminal) runServed(ctx context.Context, c *cli.Context, conn *service.Conn) error {
	command, err := t.command(c)
	if err != nil {
		return service.ErrNone
	}
	done := t.waiting("running %s", command.Target)
	r, err := conn.Run(ctx, command)
	done()
	switch {
	case errors.Is(err, service.ErrNone):
		return err
	case err != nil:
		return lost(ctx, err)
	}
	a := answerOf(r)
	if len(a.Offers()) > 0 && t.canAsk() {
		return service.ErrNone // the command is refused as well, and asks
	}
	for _, n := range r.Notifications {
		if err := t.Notify(ctx, host.Notification{Skill: n.Skill, Severity: n.Severity, Title: n.Title, Text: n.Text}); err != nil {
			return err
		}
	}
	return t.showAnswer(a, "", nil)
}

// lost is the error of a call of which nobody knows whether it was made.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fault.Errorf(fault.KindInternal, "run: %w", err).WithHint("the call may have been made all the same; %s shows it if it had ended", fault.List(fault.Runs))
}

// command is the call that a command line asks for, if a service can make it.
func (t *terminal) command(c *cli.Context) (api.Command, error) {
	a, err := invoke.ParseAddress(c.Args().First())
	if err != nil || !a.Installed() {
		return api.Command{}, cmp.Or(err, service.ErrNone)
	}
	in := api.Command{Target: a.String(), Limits: limits(c), NoCache: c.Bool("no-cache"), Raw: !t.json}
	if in.Workspace, err = workspace(c); err != nil {
		return in, err
	}
	if in.Given = c.IsSet("input"); !in.Given {
		in.Words = c.Args().Tail()
		return in, nil
	}
	if c.Args().Len() > 1 {
		return in, service.ErrNone
	}
	if in.Input, err = t.readInput(c.Context, c.String("input")); err == nil && c.String("input") == "-" {
		t.in = bytes.NewReader(in.Input) // if the service refuses, it is read again
	}
	if err == nil && len(in.Input) > maxServed {
		err = service.ErrNone
	}
	return in, err
}

// answerOf is what the service says came of a call, as the command would have it.
func answerOf(r api.CommandResult) invoke.Answer {
	a := invoke.Answer{Result: r.Result, Cuts: r.Cuts}
	a.Raw = r.Raw
	if e := a.Error; e != nil && r.Cancelled {
		again := *fault.Wrap(e.Kind, cancelled(e.Message)).Hinted(e.Way())
		again.Class, again.RetryAfterMS = e.Class, e.RetryAfterMS
		a.Error = &again
	}
	return a
}

// cancelled is the message of a call that was cancelled.
type cancelled string

func (c cancelled) Error() string { return string(c) }
func (cancelled) Unwrap() error   { return context.Canceled }

// listServed is the list where a service has it.
func (t *terminal) listServed(ctx context.Context, c *cli.Context, conn *service.Conn) error {
	l := listingOf(c)
	skills, err := conn.Skills(ctx, l.Every())
	if err == nil {
		skills, err = l.Of(skills)
	}
	return t.answered(skills, err, func() { t.showSkills(l, skills) })
}
