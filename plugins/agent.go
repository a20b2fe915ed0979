package plugins

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentgrpc"
)

// Agent starts an agent, unless it runs already, and returns it. An agent that
// dies is started again when it is next asked: what it was working on fails with
// [agent.ErrExited]. The rest is as for [Supervisor.Provider].
func (s *Supervisor) Agent(ctx context.Context, spec Spec) (agent.Agent, error) {
	spec.Kind = KindAgent
	p, err := s.ready(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &agentClient{p}, nil
}

// agentClient is an agent that is started when it is asked.
type agentClient struct{ plugin *supervised }

// ask makes one call. Its error has no secrets of the plugin.
func (c *agentClient) ask(ctx context.Context, call func(a agent.Agent) error) error {
	conn, done, err := c.plugin.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = conn.output.clean.err(call(agentgrpc.NewClient(conn.conn)))
	if !errors.Is(err, agent.ErrExited) {
		return err
	}
	if death := c.plugin.death(conn); death != "" {
		return fmt.Errorf("%w: %s", agent.ErrExited, death)
	}
	return fmt.Errorf("agent %s: %w", c.plugin.spec.Name, err)
}

// Info implements agent.Agent.
func (c *agentClient) Info(ctx context.Context) (info agent.Info, err error) {
	err = c.ask(ctx, func(a agent.Agent) error {
		info, err = a.Info(ctx)
		return err
	})
	return info, err
}

// Plan implements agent.Agent.
func (c *agentClient) Plan(ctx context.Context, t agent.Task, h agent.Host) (plan agent.Plan, err error) {
	err = c.ask(ctx, func(a agent.Agent) error {
		plan, err = a.Plan(ctx, t, h)
		return err
	})
	return plan, err
}

// Run implements agent.Agent.
func (c *agentClient) Run(ctx context.Context, t agent.Task, h agent.Host) (report agent.Report, err error) {
	err = c.ask(ctx, func(a agent.Agent) error {
		report, err = a.Run(ctx, t, h)
		return err
	})
	return report, err
}

// Health implements agent.Agent.
func (c *agentClient) Health(ctx context.Context) error {
	return c.ask(ctx, func(a agent.Agent) error { return a.Health(ctx) })
}
