package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A draining transport tells that its client has ended only when what that asked before is answered:
// the SDK's server ends at once, and with it the calls that it makes.
type draining struct{ sdk.Transport }

// Connect implements [sdk.Transport].
func (d draining) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	return &drainingConn{Connection: c, asked: map[jsonrpc.ID]bool{}, less: make(chan struct{}, 1), closed: make(chan struct{})}, err
}

type drainingConn struct {
	sdk.Connection
	less   chan struct{} // something was answered
	closed chan struct{}
	close  sync.Once

	mu    sync.Mutex
	asked map[jsonrpc.ID]bool // and not answered
}

// Read implements [sdk.Connection].
func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.drain(ctx)
	}
	if r, ok := m.(*jsonrpc.Request); ok && err == nil {
		c.note(r)
	}
	return m, err
}

// note notes what is to be answered.
func (c *drainingConn) note(r *jsonrpc.Request) {
	switch {
	case r.Method == "notifications/cancelled":
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(r.Params, &p) == nil {
			if id, err := jsonrpc.MakeID(p.ID); err == nil {
				c.forget(id)
			}
		}
	case r.IsCall() && r.Method != "subscriptions/listen": // which ends with its client
		c.mu.Lock()
		c.asked[r.ID] = true
		c.mu.Unlock()
	}
}

// Write implements [sdk.Connection].
func (c *drainingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.forget(r.ID)
	}
	return err
}

func (c *drainingConn) forget(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.asked, id)
	c.mu.Unlock()
	select {
	case c.less <- struct{}{}:
	default:
	}
}

// drain waits until all is answered.
func (c *drainingConn) drain(ctx context.Context) {
	for c.waits() {
		select {
		case <-c.less:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *drainingConn) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked) > 0
}

// Close implements [sdk.Connection].
func (c *drainingConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
