package main

import (
	"context"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
)

func (t *terminal) mcpCommand() *cli.Command {
	return command("mcp", []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "give the client the role `ROLE`: agent, or caller for a program that no model drives", Value: string(govern.RoleAgent)},
		&cli.StringSliceFlag{Name: "dir", Usage: "the `DIR` of the work, outside of which no file is touched; none without, and may be repeated"},
		&cli.BoolFlag{Name: "offline", Usage: "let no tool use the network"},
		&cli.StringFlag{Name: "name", Usage: "the `NAME` of the client in the audit log", Value: "mcp"},
	}, t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectMuch }, t.mcp))
}

// mcp serves one client at standard input and output, until it closes them.
func (t *terminal) mcp(ctx context.Context, c *cli.Context, h *host.Host) error {
	p := govern.AdmitStarted(c.String("name"), govern.Role(c.String("as")))
	if p.By() == nil {
		return fault.Errorf(fault.KindUsage, "--as %s: the role of a client is agent or caller", c.String("as")).WithHint("people use the other commands")
	}
	if err := p.By().Check(); err != nil {
		return err
	}
	client := mcp.Client{Pass: p, Bounds: &invoke.Bounds{Offline: c.Bool("offline")}}
	for _, dir := range c.StringSlice("dir") {
		whole, err := absolute(dir)
		if err != nil {
			return err
		}
		client.Bounds.Roots = append(client.Bounds.Roots, whole)
	}
	if len(client.Bounds.Roots) > 0 {
		client.Workspace = client.Bounds.Roots[0]
	}
	return t.newMCP(h).Serve(ctx, client, t.in, t.out)
}

// newMCP makes the edge for models.
func (t *terminal) newMCP(h *host.Host) *mcp.Edge {
	return mcp.New(h.Log().Named("mcp"), mcp.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Explain: meaning.Of, Say: t.way, Refused: h.Govern().Tokens.Refused,
	}, mcp.Settings{Version: upkeep.ThisBuild().Version})
}

// mountMCP serves models at /mcp of the service, until end is called.
func (t *terminal) mountMCP(ctx context.Context, h *host.Host, edge *api.API) (end func()) {
	m := t.newMCP(h)
	edge.Mount(api.Mount{Path: "/mcp", Rights: []govern.Right{govern.RightCall}, Streams: mcp.IsStream, Handler: m.Handler(api.PassOf)})
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { m.Watch(ctx) })
	return func() {
		stop()
		watching.Wait()
		m.Close()
	}
}
