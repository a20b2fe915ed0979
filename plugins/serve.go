package plugins

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentgrpc"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/wire"
)

// ServeProvider is the whole main of a provider: it answers the host that started
// this process until the host stops it or is gone. What anything prints to
// standard output goes to the host's log, as standard error does. In a process
// that no host started it says so and ends it.
func ServeProvider(p provider.Provider) {
	serve(KindProvider, func(s *grpc.Server) { providergrpc.Register(s, p) })
}

// ServeAgent is the whole main of an agent. The rest is as for [ServeProvider].
func ServeAgent(a agent.Agent) {
	serve(KindAgent, func(s *grpc.Server) { agentgrpc.Register(s, a) })
}

// serve serves one plugin.
func serve(kind Kind, register func(*grpc.Server)) {
	c := cookie()
	if os.Getenv(c.MagicCookieKey) != c.MagicCookieValue {
		fmt.Fprintf(os.Stderr, "this program is a plugin for Skillet, a %s: Skillet starts it\n", kind)
		os.Exit(2)
	}
	printed := &outputs{stdout: os.Stdout, stderr: os.Stderr}
	if err := begin(); err != nil {
		fmt.Fprintln(os.Stderr, "[ERROR] serve:", err)
		os.Exit(1)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: c,
		Plugins:         goplugin.PluginSet{string(kind): &service{register: register}},
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, DisableTime: true}),
		GRPCServer:      printed.newServer,
	})
}

// begin has this process end with its host, keeps what it prints away from the
// handshake, and bounds it where the host cannot.
func begin() error {
	if host, err := strconv.Atoi(os.Getenv(envHost)); err == nil {
		go func() {
			confine.WaitParent(host)
			os.Exit(0)
		}()
	}
	stdout, err := confine.KeepOutput()
	if err != nil {
		return err
	}
	os.Stdout = stdout // for go-plugin, which takes it away when it has written to it
	limits := parseLimits(os.Getenv(envLimits))
	if limits.MemoryBytes > 0 {
		debug.SetMemoryLimit(int64(limits.MemoryBytes / 4 * 3))
	}
	return confine.LimitSelf(limits)
}

// parseLimits reads what environment has written. What is not a number means no limit.
func parseLimits(text string) (l confine.Limits) {
	fields := []*uint64{&l.MemoryBytes, &l.OpenFiles, &l.CPUSeconds}
	for i, part := range strings.Split(text, ",") {
		if i < len(fields) {
			*fields[i], _ = strconv.ParseUint(part, 10, 63)
		}
	}
	return l
}

// outputs are where this process prints. go-plugin has what is printed travel with
// the calls, which loses the last words of a plugin that dies.
type outputs struct {
	stdout, stderr *os.File
	once           sync.Once
}

// restore takes back what go-plugin has taken. It has when the first call comes.
func (o *outputs) restore() {
	o.once.Do(func() { os.Stdout, os.Stderr = o.stdout, o.stderr })
}

// newServer is a gRPC server that survives what panics in a call.
func (o *outputs) newServer(given []grpc.ServerOption) *grpc.Server {
	options := append(given, wire.ServerOptions()...)
	return grpc.NewServer(append(options,
		grpc.ChainUnaryInterceptor(func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (a any, err error) {
			o.restore()
			defer recovered(&err)
			return h(ctx, q)
		}),
		grpc.ChainStreamInterceptor(func(s any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
			o.restore()
			defer recovered(&err)
			return h(s, stream)
		}))...)
}

// recovered turns a panic into an error of the call, and writes down where it was.
func recovered(err *error) {
	if v := recover(); v != nil {
		fmt.Fprintf(os.Stderr, "[ERROR] panic in a call: %v\n%s", v, debug.Stack())
		*err = status.Errorf(codes.Internal, "panic: %v", v)
	}
}
