package plugins

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/skillet-run/skillet/plugins/wire"
)

// A connection is a process of a plugin that answers.
type connection struct {
	*execution
	client *goplugin.Client
	conn   *grpc.ClientConn
	since  time.Time
	calls  sync.WaitGroup
}

// connect starts a process and connects to it. What goes wrong, or takes longer
// than it may, leaves no process behind.
func connect(ctx context.Context, log hclog.Logger, spec *Spec, s Settings) (*connection, error) {
	e, err := newExecution(log, spec, s)
	if err != nil {
		return nil, err
	}
	identity, certificate, err := newIdentity()
	if err != nil {
		return nil, errors.Join(err, e.clean())
	}
	e.certificate = string(certificate)
	ctx, cancel := context.WithTimeoutCause(ctx, s.StartTimeout, fmt.Errorf("%w: not within %v", ErrHandshake, s.StartTimeout))
	defer cancel()
	c := &connection{execution: e, client: e.newClient(s, identity), since: time.Now()}
	given := context.AfterFunc(ctx, e.kill)
	err = c.dial(ctx)
	if given(); err == nil && ctx.Err() == nil {
		return c, nil
	}
	c.abandon()
	c.client.Kill() // of a process that is gone: what go-plugin keeps
	return nil, e.because(ctx, err)
}

// because is why a start went wrong: what the plugin said, or that it was not
// waited for any longer, or what go-plugin makes of it.
func (e *execution) because(ctx context.Context, err error) error {
	if problem := e.reason(); problem != nil {
		err = problem
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else if e.how != "" {
		err = fmt.Errorf("%w: it ended before that: %s", ErrHandshake, e.how)
	}
	return &StartError{Kind: e.spec.Kind, Name: e.spec.Name, Reason: e.output.clean.err(err), Output: e.output.tail()}
}

// service is the plugin as go-plugin sees it: a connection, which the contracts
// are spoken over.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	register func(*grpc.Server)
}

// GRPCServer implements go-plugin's GRPCPlugin.
func (s *service) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	s.register(server)
	return nil
}

// GRPCClient implements go-plugin's GRPCPlugin.
func (s *service) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// newClient is go-plugin's side of a process, with nothing of what it does by
// itself.
func (e *execution) newClient(s Settings, identity *tls.Config) *goplugin.Client {
	return goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  cookie(),
		Plugins:          goplugin.PluginSet{string(e.spec.Kind): &service{}},
		RunnerFunc:       func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) { return e.handOver(cmd), nil },
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        identity,
		SkipHostEnv:      true,
		StartTimeout:     s.StartTimeout + time.Second, // ours is first
		Logger:           hclog.NewNullLogger(),
		Stderr:           io.Discard,
		SyncStdout:       e.output,
		SyncStderr:       e.output,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: e.dir},
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(wire.CallOptions()...)},
	})
}

// handOver takes what go-plugin tells the plugin in its environment, and nothing
// else of the command that it made.
func (e *execution) handOver(cmd *exec.Cmd) *execution {
	e.cmd.Env = append(e.environment(), cmd.Env...)
	return e
}

// dial waits for the handshake, and until the plugin says that it is there.
func (c *connection) dial(ctx context.Context) error {
	protocol, err := c.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(string(c.spec.Kind))
	if err != nil {
		return err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return errors.New("it has no connection")
	}
	c.conn = conn
	return c.check(ctx)
}

// check asks the plugin whether it is there.
func (c *connection) check(ctx context.Context) error {
	answer, err := grpc_health_v1.NewHealthClient(c.conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if s := answer.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("it says that it is %s", s)
	}
	return nil
}

// stop waits for the calls to end, asks the process to, kills it when it has not
// until ctx ends, and waits until nothing is left of it.
func (c *connection) stop(ctx context.Context) {
	idle := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	stopped := context.AfterFunc(ctx, c.kill)
	defer stopped()
	c.client.Kill()
	c.kill()
	<-c.ended
}
