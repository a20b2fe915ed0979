package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
)

func (t *terminal) sessionOpen() *cli.Command {
	return command("open", []cli.Flag{workspaceFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		args := c.Args().Slice()
		n, err := t.pad(ctx, c, h, args[0], args[1])
		if err != nil {
			return err
		}
		return n.each(ctx)
	}))
}

// A pad is a tool of a session that is given one text after the other.
type pad struct {
	t *terminal
	h *host.Host
	// call is what each piece is the input of.
	call invoke.Invocation
	// field is the property of the tool's input that the text is.
	field string
	lines *bufio.Reader
}

// pad finds the tool of a skill that takes one text.
func (t *terminal) pad(ctx context.Context, c *cli.Context, h *host.Host, skill, name string) (pad, error) {
	g, err := t.target(ctx, h, skill)
	if err != nil {
		return pad{}, err
	}
	n := pad{t: t, h: h, lines: bufio.NewReader(t.in)}
	n.call = invoke.Invocation{Target: g, By: t.person(), Session: name}
	if n.call.Workspace, err = workspace(c); err != nil {
		return n, err
	}
	n.field, err = g.SessionField()
	return n, err
}

// each calls the tool with each piece of the input. What goes wrong with one is
// told, and does not end it.
func (n pad) each(ctx context.Context) error {
	for {
		piece, err := n.piece()
		if errors.Is(err, io.EOF) {
			if n.t.canAsk() {
				n.t.note("")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(piece) == "" {
			continue
		}
		if err := n.run(ctx, piece); err != nil && ctx.Err() != nil {
			return err
		} else if err != nil {
			n.t.fail(explain(err))
		}
	}
}

// run makes one call.
func (n pad) run(ctx context.Context, piece string) (err error) {
	c := n.call
	if c.Input, err = json.Marshal(map[string]string{n.field: piece}); err != nil {
		return err
	}
	a, err := n.h.Invoke().Invoke(ctx, c)
	if err != nil {
		return err
	}
	res := a.Result
	if !res.OK {
		res.Error = explain(res.Error)
	}
	if n.t.json {
		return n.t.printJSON(res)
	}
	err = n.t.showResult(res)
	if err == nil && !n.t.outTTY {
		_, err = io.WriteString(n.t.out, "\n")
	}
	return err
}

// piece reads what belongs together.
func (n pad) piece() (string, error) {
	var b strings.Builder
	for block := false; ; {
		line, err := n.line(b.Len() > 0)
		if err != nil {
			if b.Len() > 0 && errors.Is(err, io.EOF) {
				return b.String(), nil
			}
			return "", err
		}
		text, more := strings.CutSuffix(line, `\`)
		b.WriteString(text)
		if !more {
			b.WriteByte('\n')
		}
		trimmed := strings.TrimSpace(text)
		block = block || trimmed != "" && strings.ContainsRune(":{([,", rune(trimmed[len(trimmed)-1]))
		if !more && (!block || trimmed == "") {
			return b.String(), nil
		}
	}
}

// line reads one line, which the end of the input may end.
func (n pad) line(within bool) (string, error) {
	if n.t.canAsk() {
		prompt := "> "
		if within {
			prompt = "| "
		}
		fmt.Fprint(n.t.err, prompt)
	}
	line, err := unlessEnded(n.t, func() (string, error) { return n.lines.ReadString('\n') })
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}
