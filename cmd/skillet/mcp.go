package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/mcpclient"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
)

func (t *terminal) mcpCommand() *cli.Command {
	c := command("mcp", []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "give the client the role `ROLE`: agent, or caller for a program that no model drives", Value: string(govern.RoleAgent)},
		&cli.StringSliceFlag{Name: "dir", Usage: "the `DIR` of the work, outside of which no file is touched; none without, and may be repeated"},
		&cli.BoolFlag{Name: "offline", Usage: "let no tool use the network"},
		&cli.StringFlag{Name: "name", Usage: "the `NAME` of the client in the audit log", Value: "mcp"},
	}, t.inService(t.mcpInService, t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectMuch }, t.mcp)))
	c.Subcommands = []*cli.Command{t.mcpInstall(), t.mcpAdd(), t.mcpCheck(), t.mcpLogin(), t.mcpLogout()}
	return c
}

// mcp serves one client at standard input and output, until it closes them.
func (t *terminal) mcp(ctx context.Context, c *cli.Context, h *host.Host) error {
	start, err := mcpStartOf(c)
	if err != nil {
		return err
	}
	client, err := start.client()
	if err != nil {
		return err
	}
	m := t.newMCP(h, false)
	defer m.Close()
	return m.Serve(ctx, client, t.in, t.out)
}

// newMCP makes the edge for models; with goals where something works on tasks.
func (t *terminal) newMCP(h *host.Host, goals bool) *mcp.Edge {
	return mcp.New(h.Log().Named("mcp"), mcp.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Code: h.Code(), Work: h.Work(), Explain: meaning.Of, Say: t.way, Decided: h.Decided, Refused: h.Govern().Tokens.Refused,
	}, mcp.Settings{Version: upkeep.ThisBuild().Version, Goals: goals})
}

// mountMCP serves models at /mcp of the service, until end is called.
func (t *terminal) mountMCP(ctx context.Context, h *host.Host, edge *api.API, goals bool) (end func()) {
	m := t.newMCP(h, goals)
	edge.Mount(api.Mount{Path: "/mcp", Rights: []govern.Right{govern.RightCall}, Streams: mcp.IsStream, Handler: m.Handler(api.PassOf)})
	ctx, stop := context.WithCancel(ctx)
	clients := serveMCPClients(ctx, m, edge)
	var watching sync.WaitGroup
	watching.Go(func() { m.Watch(ctx) })
	return func() {
		stop()
		clients()
		watching.Wait()
		m.Close()
	}
}

func (t *terminal) mcpInstall() *cli.Command {
	return command("install", []cli.Flag{
		yesFlag("write it"),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be written"},
		&cli.BoolFlag{Name: "remove", Usage: "take it out again"},
		&cli.StringFlag{Name: "config", Usage: "the configuration to change, a `FILE` in place of the client's own"},
	}, t.withoutHome(t.installMCP))
}

// mcpConfigured is what mcp install prints.
type mcpConfigured struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	// Lines are what goes, after "-", and what comes, after "+"; none when nothing changes.
	Lines   []string `json:"lines"`
	Written bool     `json:"written"`
}

// installMCP writes into the configuration of a client how it starts `skillet mcp`, or takes it out.
func (t *terminal) installMCP(_ context.Context, c *cli.Context) error {
	client, ok := mcpclient.Find(c.Args().First())
	if !ok {
		return fault.Errorf(fault.KindUsage, "mcp install takes the name of a client").WithHint("one of %s", strings.Join(mcpclient.Names(), ", "))
	}
	v := mcpConfigured{Client: client.Name, Path: c.String("config"), Lines: []string{}}
	if v.Path == "" {
		v.Path = client.Path(runtime.GOOS, t.getenv("HOME"), t.getenv)
	}
	old, err := mcpclient.Read(v.Path)
	if err != nil {
		return fault.Errorf(fault.KindUsage, "mcp install: %w", err)
	}
	text, err := t.mcpConfiguration(c, client, old)
	if err != nil {
		return fault.Errorf(fault.KindUsage, "%s is not changed, because it is not read for sure: %w", v.Path, err).WithHint("mend it, or write it yourself: --dry-run with --config and a new file shows what")
	}
	v.Lines = append(v.Lines, mcpclient.Difference(old, text)...)
	if !t.json {
		for _, line := range v.Lines {
			t.note("%s", plain(line))
		}
	}
	if len(v.Lines) > 0 && !c.Bool("dry-run") {
		if err := t.writeMCP(c, v.Path, old, text); err != nil {
			return err
		}
		v.Written = true
	}
	return t.answer(v, func() {
		switch {
		case len(v.Lines) == 0:
			t.say("%s is as it was", plain(v.Path))
		case !v.Written:
			t.say("%s would be changed", plain(v.Path))
		default:
			t.say("%s was changed; start %s again", plain(v.Path), client.Name)
		}
	})
}

func (t *terminal) writeMCP(c *cli.Context, path, old, text string) error {
	if !c.Bool("yes") {
		if err := t.confirm("mcp install", "Change "+plain(path)+"?"); err != nil {
			return err
		}
	}
	err := mcpclient.Write(path, old, text)
	if errors.Is(err, mcpclient.ErrChanged) {
		return fault.Errorf(fault.KindConflict, "%s: %w", path, err).WithHint("look at it again")
	}
	return err
}

// mcpConfiguration is what becomes of the configuration of a client.
func (t *terminal) mcpConfiguration(c *cli.Context, client mcpclient.Client, old string) (string, error) {
	if c.Bool("remove") {
		text, _, err := client.Remove(old)
		return text, err
	}
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	e := mcpclient.Entry{Command: program, Args: []string{"mcp"}}
	if c.IsSet("home") || t.getenv("SKILLET_HOME") != "" {
		home, err := t.home(c)
		if err != nil {
			return "", err
		}
		e.Args = append(e.Args, "--home", home)
	}
	e.Args = append(e.Args, c.Args().Tail()...)
	return client.Set(old, e)
}
