package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) mcpAdd() *cli.Command {
	return command("add", packageFlags(
		&cli.StringFlag{Name: "url", Usage: "the server is at this `URL`"},
		&cli.StringFlag{Name: "secret", Usage: "send the stored secret `NAME` to the URL, as a bearer token"},
		&cli.StringSliceFlag{Name: "env", Usage: "a variable of the program's environment, `NAME=VALUE`; may be repeated"},
		&cli.StringSliceFlag{Name: "env-secret", Usage: "a variable with a stored secret, `NAME=SECRET`; may be repeated"},
		&cli.StringSliceFlag{Name: "read", Usage: "let the program read this file or `DIR`; may be repeated"},
		&cli.StringSliceFlag{Name: "write", Usage: "let the program read and change this file or `DIR`; may be repeated"},
		&cli.StringSliceFlag{Name: "pin", Usage: "a file or `DIR` that the program is started with: it reads it, and is not started when it changed; may be repeated"},
		&cli.BoolFlag{Name: "unconfined", Usage: "let the program do whatever you can: the network, all files"},
		shadowFlag(), overrideFlag(),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
		yesFlag("install it, and grant what it asks for"),
	), t.withState(t.addMCP))
}

func shadowFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "shadow", Usage: "of an MCP server, take the `TOOL` although another skill has one of its name; may be repeated"}
}

func overrideFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "override", Usage: "of an MCP server, take the `TOOL` although the scan found something in it; may be repeated"}
}

// unusual are the tools that are taken all the same.
func unusual(c *cli.Context) admit.Unusual {
	return admit.Unusual{Shadows: c.StringSlice("shadow"), Overridden: c.StringSlice("override")}
}

// addMCP makes a package of an MCP server, and installs it.
func (t *terminal) addMCP(ctx context.Context, c *cli.Context, h *host.Host) error {
	name, line := c.Args().First(), c.Args().Tail()
	if name == "" || len(line) == 0 && !c.IsSet("url") {
		return fault.Errorf(fault.KindUsage, "mcp add takes a name, and a command or --url").WithHint("`skillet mcp add NAME -- COMMAND ARG...`")
	}
	of := admit.MCPServer{
		Name: name, URL: c.String("url"), Secret: c.String("secret"), Read: c.StringSlice("read"), Write: c.StringSlice("write"),
		Pin: c.StringSlice("pin"), Unconfined: c.Bool("unconfined"), Unusual: unusual(c),
	}
	if len(line) > 0 {
		of.Command, of.Args = line[0], line[1:]
	}
	var err error
	if of.Env, err = assignments("env", c.StringSlice("env")); err != nil {
		return err
	}
	if of.Secrets, err = assignments("env-secret", c.StringSlice("env-secret")); err != nil {
		return err
	}
	done := t.waiting("asking %s for its tools", name)
	made, err := h.Admit().MakeServer(ctx, t.person(), of, c.Bool("dry-run"))
	done()
	if err != nil {
		return err
	}
	return errors.Join(t.installMade(ctx, c, h, made), made.Close())
}

// assignments reads NAME=VALUE.
func assignments(flag string, all []string) (map[string]string, error) {
	m := map[string]string{}
	for _, p := range all {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fault.Errorf(fault.KindUsage, "--%s %s: it is written NAME=VALUE", flag, p)
		}
		m[name] = value
	}
	return m, nil
}

func (t *terminal) installMade(ctx context.Context, c *cli.Context, h *host.Host, made *admit.MadeServer) error {
	if !t.json {
		t.noteMade(made)
	}
	return t.installEach(ctx, c, h, []string{made.Path}, c.Bool("dry-run"))
}

// noteMade says what a server offers.
func (t *terminal) noteMade(made *admit.MadeServer) { printAll(t.note, offerLines(made)) }

// offerLines say what a server offers, and what of it is not called.
func offerLines(made *admit.MadeServer) []string {
	all := []string{fmt.Sprintf("%s: %s of %s, as a set %s", plain(made.Name), count(made.Tools, "tool"), plain(made.Server), made.Set)}
	for _, o := range made.Odd {
		all = append(all, "  left out: "+plain(o))
	}
	for _, s := range made.Shadowing {
		all = append(all, fmt.Sprintf("  left out: %s has the name of %s, and a model may take one for the other; --shadow %s takes it", plain(s.Tool), plain(s.Other), plain(s.Tool)))
	}
	for _, s := range made.Suspicious {
		all = append(all, fmt.Sprintf("  left out: %s: %s %s; --override %s takes it", plain(s.Tool), s.Rule, plain(s.Message), plain(s.Tool)))
	}
	for _, d := range made.Differences {
		all = append(all, fmt.Sprintf("  %s: %s", d.Kind, plain(d.Words())))
	}
	return all
}

// serverNow is what an installed MCP server offers now; nil for what is not one.
func (t *terminal) serverNow(ctx context.Context, h *host.Host, in admit.Info) (*admit.MadeServer, error) {
	if in.Installed == nil || !in.Manifest.Type.IsMCP() {
		return nil, nil
	}
	made, err := h.Admit().RefreshServer(ctx, t.person(), in.Manifest.Name, admit.Unusual{}, true)
	if err != nil {
		return nil, err
	}
	return made, made.Close()
}

func (t *terminal) mcpCheck() *cli.Command {
	return command("check", nil, t.withState(one("name of an MCP server", t.checkMCP)))
}

// checkMCP compares what a server offers with what was approved.
func (t *terminal) checkMCP(ctx context.Context, _ *cli.Context, h *host.Host, name string) error {
	made, err := h.Admit().RefreshServer(ctx, t.person(), name, admit.Unusual{}, true)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	if err := t.answer(made, func() { t.noteMade(made) }); err != nil {
		return err
	}
	if made.Same {
		if !t.json {
			t.say("%s is as it was approved", plain(name))
		}
		return nil
	}
	if t.json {
		return reported{fault.KindVerification}
	}
	return fault.Errorf(fault.KindVerification, "%s is not as it was approved", name).WithHint("`skillet update %s` shows it and asks; until then what changed is not called", name)
}

// refreshServers makes the packages anew of MCP servers that are to be updated.
func (t *terminal) refreshServers(ctx context.Context, c *cli.Context, h *host.Host, skills []string) error {
	if c.IsSet("from") || c.IsSet("to") || c.Bool("promote") {
		return nil
	}
	for _, name := range skills {
		server, err := h.Admit().IsServer(ctx, t.person(), name)
		if err != nil || !server {
			continue // the update says what is wrong
		}
		made, err := h.Admit().RefreshServer(ctx, t.person(), name, unusual(c), c.Bool("dry-run"))
		if err != nil {
			return err
		}
		if !t.json {
			t.noteMade(made)
		}
		if err := made.Close(); err != nil {
			return err
		}
	}
	return nil
}
