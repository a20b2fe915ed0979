//go:build unix

package plugins

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
)

// roles are what this test's program is when it is started as a plugin, by its
// first argument.
func roles() map[string]func(args []string) {
	return map[string]func([]string){
		"parrot":  func([]string) { ServeProvider(&parrot{}) },
		"bare":    serveBare,
		"printer": printThenServe,
		"says":    printAndWait,
		"exits":   func(args []string) { fmt.Fprintln(os.Stderr, strings.Join(args, " ")); os.Exit(3) },
		"garbage": garbage,
		"once":    once,
		"host":    beHost,
		"agent":   func([]string) { ServeAgent(&mortal{builtin.New(hclog.NewNullLogger(), "1.0.0")}) },
		"lender":  func([]string) { ServeProvider(providertest.Reference{}) },
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles()[os.Args[1]]; ok {
			role(os.Args[2:])
			return
		}
	}
	os.Setenv("SKILLET_TEST_KEY", "of the host")
	os.Exit(m.Run())
}

// mortal is an agent that dies of one goal.
type mortal struct{ agent.Agent }

const deadly = "die"

func (m *mortal) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	if t.Goal == deadly {
		fmt.Fprintln(os.Stderr, "of that goal")
		os.Exit(5)
	}
	return m.Agent.Run(ctx, t, h)
}

// printAndWait prints its arguments and waits.
func printAndWait(args []string) {
	for _, line := range args {
		fmt.Println(line)
	}
	time.Sleep(time.Minute)
}

// garbage prints without end what is no handshake.
func garbage([]string) {
	for {
		fmt.Println(strings.Repeat("\xff|", 50))
	}
}

// once serves the first time, and says no afterwards. Its argument is a file that
// says whether it is the first time.
func once(args []string) {
	if _, err := os.Stat(args[0]); err == nil {
		fmt.Fprintln(os.Stderr, "never again")
		os.Exit(4)
	}
	if err := os.WriteFile(args[0], nil, 0o600); err != nil {
		panic(err)
	}
	ServeProvider(&parrot{})
}

// serveBare serves a parrot with go-plugin and nothing else.
func serveBare([]string) {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: cookie(),
		Plugins: goplugin.PluginSet{string(KindProvider): &service{register: func(s *grpc.Server) {
			providergrpc.Register(s, &parrot{})
		}}},
		Logger:     hclog.NewNullLogger(),
		GRPCServer: goplugin.DefaultGRPCServer,
	})
}

// beHost is a host of a plugin: its arguments are whose way it starts it, what the
// plugin is, what it is asked, and a directory for its socket. It prints what it is told and waits.
func beHost(args []string) {
	var p asked
	var err error
	pid := ""
	if args[0] == "ours" {
		v := New(hclog.NewNullLogger(), Settings{})
		p, err = v.Provider(context.Background(), spec(args[1]))
		pid = strconv.Itoa(v.Status()[0].PID)
	} else {
		var c *goplugin.Client
		if c, p, err = defaults(args[3], exec.Command(os.Args[0], args[1])); err == nil {
			pid = c.ID()
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	said, err := say(context.Background(), p, args[2])
	fmt.Println(pid, said, err)
	time.Sleep(time.Minute)
}

// socketDir is a directory with a short name that is removed when the test ends.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratchBase(), "skt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// defaults starts a plugin with go-plugin as it comes, but for where its socket is.
func defaults(sockets string, cmd *exec.Cmd) (*goplugin.Client, asked, error) {
	cmd.Env = append(cmd.Env, goplugin.EnvUnixSocketDir+"="+sockets)
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  cookie(),
		Plugins:          goplugin.PluginSet{string(KindProvider): &service{}},
		Cmd:              cmd,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	protocol, err := c.Client()
	if err != nil {
		return c, nil, err
	}
	conn, err := protocol.Dispense(string(KindProvider))
	if err != nil {
		return c, nil, err
	}
	return c, plainClient{providerpb.NewProviderClient(conn.(*grpc.ClientConn))}, nil
}

// plainClient calls as generated code does, with no bound of ours.
type plainClient struct{ remote providerpb.ProviderClient }

func (c plainClient) Generate(ctx context.Context, r provider.Request, _ func(provider.Delta) error) (a provider.Response, err error) {
	stream, err := c.remote.Generate(ctx, providergrpc.EncodeRequest(r))
	if err != nil {
		return a, err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return a, err
		}
		if whole := event.GetResponse(); whole != nil {
			return providergrpc.DecodeResponse(whole)
		}
	}
}

// parrot is a provider that answers with what it is asked, and does on demand what
// a plugin must not be able to do.
type parrot struct{}

func (*parrot) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "parrot", Version: "1.0.0", Local: true}, nil
}

func (*parrot) Models(context.Context) ([]provider.Model, error) {
	return []provider.Model{{Name: "echo", Text: true, Streaming: true, Loaded: true}}, nil
}

func (*parrot) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	text := r.Messages[len(r.Messages)-1].Text
	name, argument, _ := strings.Cut(text, " ")
	if trick, ok := tricks()[name]; ok {
		said, err := trick(ctx, argument, emit)
		return provider.Response{Model: r.Model, Text: said, Finish: provider.FinishStop}, err
	}
	for _, word := range strings.SplitAfter(text, " ") {
		if err := emit(provider.Delta{Text: word}); err != nil {
			return provider.Response{}, err
		}
	}
	return provider.Response{Model: r.Model, Text: text, Finish: provider.FinishStop}, nil
}

func (*parrot) Embed(context.Context, provider.EmbedRequest) (provider.EmbedResponse, error) {
	return provider.EmbedResponse{}, &provider.Error{Class: provider.ClassInvalid, Message: "a parrot embeds nothing"}
}

func (*parrot) Load(context.Context, string) error   { return nil }
func (*parrot) Unload(context.Context, string) error { return nil }
func (*parrot) Health(context.Context) error         { return nil }

// tricks are what the parrot does instead of answering.
func tricks() map[string]func(ctx context.Context, argument string, emit func(provider.Delta) error) (string, error) {
	return map[string]func(context.Context, string, func(provider.Delta) error) (string, error){
		"!environment": func(context.Context, string, func(provider.Delta) error) (string, error) {
			return strings.Join(os.Environ(), "\n"), nil
		},
		"!stdin": func(context.Context, string, func(provider.Delta) error) (string, error) {
			b := make([]byte, 100)
			n, err := os.Stdin.Read(b)
			return fmt.Sprintf("%q %v", b[:n], err), nil
		},
		"!huge": func(_ context.Context, megabytes string, _ func(provider.Delta) error) (string, error) {
			n, err := strconv.Atoi(megabytes)
			return strings.Repeat("x", n<<20), err
		},
		"!child": func(_ context.Context, how string, _ func(provider.Delta) error) (string, error) {
			return startChild(how)
		},
		"!die": func(_ context.Context, words string, _ func(provider.Delta) error) (string, error) {
			fmt.Fprintln(os.Stderr, words)
			os.Exit(7)
			return "", nil
		},
		"!kill": func(ctx context.Context, _ string, _ func(provider.Delta) error) (string, error) {
			err := syscall.Kill(os.Getpid(), syscall.SIGKILL)
			<-ctx.Done()
			return "", err
		},
		"!bomb": func(_ context.Context, seconds string, _ func(provider.Delta) error) (string, error) {
			for i := range 10 {
				cmd := exec.Command("/bin/sleep", seconds)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: i%2 == 0}
				if err := cmd.Start(); err != nil {
					return "", err
				}
			}
			os.Exit(8)
			return "", nil
		},
		"!panic": func(context.Context, string, func(provider.Delta) error) (string, error) { panic("on demand") },
		"!hang": func(context.Context, string, func(provider.Delta) error) (string, error) {
			select {}
		},
		"!wait": func(ctx context.Context, file string, _ func(provider.Delta) error) (string, error) {
			<-ctx.Done()
			return "", os.WriteFile(file, []byte(ctx.Err().Error()), 0o600)
		},
		"!fetch": func(ctx context.Context, url string, _ func(provider.Delta) error) (string, error) {
			return "", fetch(ctx, url)
		},
		"!print": func(_ context.Context, words string, _ func(provider.Delta) error) (string, error) {
			fmt.Println(words)
			return "printed", nil
		},
		"!flood": func(_ context.Context, lines string, _ func(provider.Delta) error) (string, error) {
			n, err := strconv.Atoi(lines)
			for range n {
				fmt.Fprintln(os.Stderr, strings.Repeat("y", 20<<10))
			}
			return "flooded", err
		},
		"!stream": func(_ context.Context, _ string, emit func(provider.Delta) error) (string, error) {
			for {
				if err := emit(provider.Delta{Text: strings.Repeat("z", 1<<20)}); err != nil {
					return "", err
				}
			}
		},
		"!stop": func(ctx context.Context, _ string, _ func(provider.Delta) error) (string, error) {
			err := syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-ctx.Done()
			return "", err
		},
		"!limits": func(context.Context, string, func(provider.Delta) error) (string, error) {
			b, err := os.ReadFile("/proc/self/limits")
			return string(b), err
		},
		"!status": func(context.Context, string, func(provider.Delta) error) (string, error) {
			b, err := os.ReadFile("/proc/self/status")
			return string(b), err
		},
		"!directory": func(context.Context, string, func(provider.Delta) error) (string, error) { return os.Getwd() },
		"!descriptors": func(context.Context, string, func(provider.Delta) error) (string, error) {
			var all []string
			files, err := filepath.Glob("/proc/self/fd/*")
			for _, f := range files {
				to, _ := os.Readlink(f)
				all = append(all, to)
			}
			return strings.Join(all, "\n"), err
		},
	}
}

// fetch asks a server as providers do, and fails with what it says.
func fetch(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+os.Getenv("PARROT_API_KEY"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "[WARN] %s: %s\n", answer.Status, body)
	return &provider.Error{Class: provider.ClassAuth, Message: answer.Status + ": " + string(body)}
}

// startChild starts a process that outlives what starts it, and says its number.
func startChild(how string) (string, error) {
	cmd := exec.Command("/bin/sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "session"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

// printThenServe prints before it is served what libraries print.
func printThenServe([]string) {
	fmt.Println("loading weights")
	fmt.Println(strings.Repeat("=", 100<<10))
	fmt.Println("done | 100 % | really")
	ServeProvider(&parrot{})
}

// long leaves a test out of short runs, which are those with the race detector: it
// starts many processes, and little happens at a time in this one.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts many processes")
	}
}

// spec is this test's program as a plugin.
func spec(args ...string) Spec {
	return Spec{Name: args[0], Args: args}
}

// quick are settings for tests that let plugins die.
func quick() Settings {
	return Settings{StopTimeout: 2 * time.Second, Restart: Restart{First: time.Millisecond, Longest: 50 * time.Millisecond, Attempts: 3}}
}

// newSupervisor is closed when the test ends.
func newSupervisor(t *testing.T, s Settings) *Supervisor {
	t.Helper()
	v := New(hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Debug}), s)
	t.Cleanup(v.Close)
	return v
}

// start starts a plugin that is a provider.
func start(t *testing.T, v *Supervisor, s Spec) provider.Provider {
	t.Helper()
	p, err := v.Provider(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asked is the part of a provider that the tests ask.
type asked interface {
	Generate(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error)
}

// say asks a parrot.
func say(ctx context.Context, p asked, text string) (string, error) {
	r, err := p.Generate(ctx, provider.Request{Model: "echo", Messages: []provider.Message{{Role: provider.RoleUser, Text: text}}}, nil)
	return r.Text, err
}

// must asks a parrot that has to answer.
func must(t *testing.T, p asked, text string) string {
	t.Helper()
	said, err := say(t.Context(), p, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return said
}

// gone fails the test when a process is still there after a while.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 200 {
		if !confine.Exists(pid) || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// zombie reports whether a process has ended and was not waited for by whoever
// has to.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(b), ") ")
	return err == nil && ok && strings.HasPrefix(rest, "Z")
}
