package plugins

import (
	"context"
	"errors"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
)

// providerClient is a provider that is started when it is asked.
type providerClient struct{ plugin *supervised }

// ask makes one call. Its error has no secrets of the plugin.
func (c *providerClient) ask(ctx context.Context, call func(p provider.Provider) error) error {
	conn, done, err := c.plugin.use(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer done()
	err = conn.output.clean.err(call(providergrpc.NewClient(conn.conn, c.plugin.settings.Timeouts)))
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassUnavailable {
		return err
	}
	if death := c.plugin.death(conn); death != "" {
		return &provider.Error{Class: e.Class, Message: death, RetryAfter: c.plugin.settings.Restart.First}
	}
	return err
}

// unavailable is a plugin that could not be started, as a provider says it. A
// crash loop says when it is tried again.
func unavailable(err error) error {
	e := &provider.Error{Class: provider.ClassUnavailable, Message: err.Error()}
	switch {
	case errors.Is(err, context.Canceled):
		e.Class = provider.ClassCancelled
	case errors.Is(err, context.DeadlineExceeded):
		e.Class = provider.ClassTimeout
	case errors.Is(err, ErrCrashLoop):
		e.RetryAfter = time.Second
	}
	return e
}

// Info implements provider.Provider.
func (c *providerClient) Info(ctx context.Context) (info provider.Info, err error) {
	err = c.ask(ctx, func(p provider.Provider) error {
		info, err = p.Info(ctx)
		return err
	})
	return info, err
}

// Models implements provider.Provider.
func (c *providerClient) Models(ctx context.Context) (models []provider.Model, err error) {
	err = c.ask(ctx, func(p provider.Provider) error {
		models, err = p.Models(ctx)
		return err
	})
	return models, err
}

// Generate implements provider.Provider.
func (c *providerClient) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (answer provider.Response, err error) {
	err = c.ask(ctx, func(p provider.Provider) error {
		answer, err = p.Generate(ctx, r, emit)
		return err
	})
	return answer, err
}

// Embed implements provider.Provider.
func (c *providerClient) Embed(ctx context.Context, r provider.EmbedRequest) (answer provider.EmbedResponse, err error) {
	err = c.ask(ctx, func(p provider.Provider) error {
		answer, err = p.Embed(ctx, r)
		return err
	})
	return answer, err
}

// Load implements provider.Provider.
func (c *providerClient) Load(ctx context.Context, model string) error {
	return c.ask(ctx, func(p provider.Provider) error { return p.Load(ctx, model) })
}

// Unload implements provider.Provider.
func (c *providerClient) Unload(ctx context.Context, model string) error {
	return c.ask(ctx, func(p provider.Provider) error { return p.Unload(ctx, model) })
}

// Health implements provider.Provider.
func (c *providerClient) Health(ctx context.Context) error {
	return c.ask(ctx, func(p provider.Provider) error { return p.Health(ctx) })
}
