package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/service"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/api"
	"github.com/skillet-run/skillet/host/edge/mcp"
	"github.com/skillet-run/skillet/internal/strictjson"
)

// Where a service serves the client of a command, and the name of what is spoken there.
const (
	mcpPath     = "/v1/mcp/client"
	mcpProtocol = "skillet-mcp"
)

// An mcpStart is how `skillet mcp` was started: what a service has to know of its client.
type mcpStart struct {
	Name    string   `json:"name"`
	As      string   `json:"as"`
	Dirs    []string `json:"dirs,omitempty"` // absolute
	Offline bool     `json:"offline,omitempty"`
}

func mcpStartOf(c *cli.Context) (mcpStart, error) {
	s := mcpStart{Name: c.String("name"), As: c.String("as"), Offline: c.Bool("offline")}
	for _, dir := range c.StringSlice("dir") {
		whole, err := absolute(dir)
		if err != nil {
			return s, err
		}
		s.Dirs = append(s.Dirs, whole)
	}
	return s, nil
}

// client is the client that was started so.
func (s mcpStart) client() (mcp.Client, error) {
	p := govern.AdmitStarted(s.Name, govern.Role(s.As))
	if p.By() == nil {
		return mcp.Client{}, fault.Errorf(fault.KindUsage, "--as %s: the role of a client is agent or caller", s.As).WithHint("people use the other commands")
	}
	if err := p.By().Check(); err != nil {
		return mcp.Client{}, err
	}
	c := mcp.Client{Pass: p, Bounds: &invoke.Bounds{Offline: s.Offline, Roots: s.Dirs}}
	if len(s.Dirs) > 0 {
		c.Workspace = s.Dirs[0]
	}
	return c, nil
}

// mcpInService lets the service serve the client, which then shares the home with others.
func (t *terminal) mcpInService(ctx context.Context, c *cli.Context, conn *service.Conn) error {
	s, err := mcpStartOf(c)
	if err != nil {
		return service.ErrNone
	}
	err = conn.Speak(ctx, mcpPath, mcpProtocol, s, t.in, t.out)
	if errors.Is(err, service.ErrLost) {
		return fault.Errorf(fault.KindInternal, "mcp: %w", err).WithHint("start the client again")
	}
	return err
}

// serveMCPClients serves clients of commands at the local socket, until end is called.
func serveMCPClients(ctx context.Context, m *mcp.Edge, edge *api.API) (end func()) {
	var speaking sync.WaitGroup
	edge.Upgrade(api.Upgrade{Path: mcpPath, Protocol: mcpProtocol, Rights: []govern.Right{govern.RightCall}, Begin: func(body []byte) (func(context.Context, io.Reader, io.Writer) error, error) {
		var s mcpStart
		if err := strictjson.Unmarshal(body, &s); err != nil {
			return nil, fault.Wrap(fault.KindUsage, err)
		}
		client, err := s.client()
		return func(until context.Context, in io.Reader, out io.Writer) error {
			speaking.Add(1)
			defer speaking.Done()
			until, stop := context.WithCancel(until)
			defer stop()
			defer context.AfterFunc(ctx, stop)()
			return m.Serve(until, client, in, out)
		}, err
	}})
	return speaking.Wait
}
