package main

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) codeCommand() *cli.Command {
	return command("code", append([]cli.Flag{
		&cli.StringFlag{Name: "language", Usage: "the `LANGUAGE` of the script, javascript or python; without, the ending of FILE says it"},
		&cli.StringFlag{Name: "data", Usage: "what the script has as data: `JSON`, @FILE, or - for standard input"},
		&cli.StringFlag{Name: "run", Usage: "go on with the run `ID`, which waits or was broken off"},
		&cli.StringFlag{Name: "key", Usage: "name this run by a `KEY`: with it, the script is run once"},
		&cli.StringFlag{Name: "doubt", Usage: "`WHAT` becomes of a call that may have been made when the process died: again, done or fail"},
	}, limitFlags()...), t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectSkill }, t.code))
}

// code runs a script of the person, which may call every skill.
func (t *terminal) code(ctx context.Context, c *cli.Context, h *host.Host) error {
	req := code.Request{
		Language: c.String("language"), Run: c.String("run"), Key: c.String("key"), Doubt: code.Doubt(c.String("doubt")), Limits: limits(c),
		May: func(string, string) error { return nil },
	}
	if req.Run == "" || c.Args().Present() {
		args, err := need(c, 1, "one file, or - for standard input")
		if err != nil {
			return err
		}
		text, err := t.readInput(ctx, map[bool]string{true: "-", false: "@" + args[0]}[args[0] == "-"])
		if err != nil {
			return err
		}
		req.Code, req.Language = string(text), cmp.Or(req.Language, code.LanguageOf(args[0]))
	}
	if c.IsSet("data") {
		var err error
		if req.Data, err = t.readInput(ctx, c.String("data")); err != nil {
			return err
		}
	}
	done := t.waiting("running the script")
	res, err := h.Code().Execute(ctx, t.person(), req)
	done()
	if err != nil {
		return err
	}
	return t.showCode(res)
}

// showCode shows what came of a script.
func (t *terminal) showCode(res code.Result) error {
	failed := codeError(res)
	if t.json {
		if err := t.printJSON(res); err != nil || failed == nil {
			return err
		}
		return reported{failed.Kind}
	}
	for _, l := range res.Logs {
		t.note("[%s] %s%s", plain(l.Level), plain(l.Message), lines.Fields(l))
	}
	if failed != nil {
		return failed
	}
	return t.raw(append(res.Value, '\n'))
}

// codeError is why a script has no value; nil when it has one.
func codeError(res code.Result) *fault.Error {
	switch {
	case res.Waits != nil && res.Waits.Proposal != "":
		return fault.Errorf(fault.KindApproval, "the script waits at call %d: %s", res.Waits.Call, res.Waits.Message).
			WithHint("look at it with %s, then %s and run the script again", fault.ShowProposal(res.Waits.Proposal), fault.Approve(res.Waits.Proposal))
	case res.Waits != nil:
		return fault.Errorf(fault.KindConflict, "call %d: %s", res.Waits.Call, res.Waits.Message).
			WithHint("find out whether it was, and run the script again with --doubt again, done or fail")
	case res.Error == nil:
		return nil
	case res.Error.Line > 0:
		return (&fault.Error{Kind: res.Error.Kind, Message: res.Error.Message}).Hinted(res.Error.Hint).WithHint("it happened in line %d of the script", res.Error.Line)
	}
	return (&fault.Error{Kind: res.Error.Kind, Message: res.Error.Message}).Hinted(res.Error.Hint)
}
