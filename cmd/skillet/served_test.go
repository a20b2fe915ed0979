package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/edge/api"
)

func needsSocket(t *testing.T) {
	t.Helper()
	if !api.LocalSocket {
		t.Skip("no local sockets on " + runtime.GOOS)
	}
}

// begin begins a service, and returns what ends it.
func begin(cmd *exec.Cmd, home string) (end func(os.Signal), err error) {
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		b, err := os.ReadFile(filepath.Join(home, "serve.json"))
		if err == nil && strings.Contains(string(b), fmt.Sprintf(`"pid":%d,`, cmd.Process.Pid)) {
			break
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the service ended: %w\n%s", err, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func(with os.Signal) {
		_ = cmd.Process.Signal(with) // it may have ended
		<-ended
	}, nil
}

// serves begins a service of the person's home.
func (p *person) serves(args ...string) func(os.Signal) {
	p.t.Helper()
	end, err := begin(p.command(context.WithoutCancel(p.t.Context()), append([]string{"serve", "--listen", "127.0.0.1:0", "--no-tasks"}, args...)...), p.home)
	if err != nil {
		p.t.Fatal(err)
	}
	var once sync.Once
	stop := func(with os.Signal) { once.Do(func() { end(with) }) }
	p.t.Cleanup(func() { stop(os.Kill) })
	return stop
}

// service is the process that serves the home.
func (p *person) service() int {
	p.t.Helper()
	var s struct{ PID int }
	b, err := os.ReadFile(filepath.Join(p.home, "serve.json"))
	if err = errors.Join(err, json.Unmarshal(b, &s)); err != nil {
		p.t.Fatal(err)
	}
	return s.PID
}

// worked is how long a process has worked, in hundredths of seconds.
func worked(t *testing.T, pid int) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])[11], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// self is a flag with which a command does its work itself: the settings are not those of
// the service any more, as far as it can tell.
const self = "--set=log_format=text"

// varying is what is another at every call: names, times and what was measured.
var varying = regexp.MustCompile(`(?s)"figures": \{.*?\}|"(run_id|started_at|finished_at)": "[^"]*"|"duration_ms": [0-9.e+-]+`)

// recordsAtOnce has a service sync the record of a call before it answers: what it writes
// later, another process that looks at once does not see.
const recordsAtOnce = "audit_sync: each\n"

// callers are who made the calls that are on record, the last first.
func (p *person) callers(n int) []string {
	p.t.Helper()
	var es []struct{ Actor string }
	if err := json.Unmarshal([]byte(p.must(0, "audit", "--json", "--limit", fmt.Sprint(n))), &es); err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, e := range es {
		all = append(all, e.Actor)
	}
	return all
}

// tool packs a skill of one kind of module.
func (p *person) tool(name, module, tool, more string) {
	p.t.Helper()
	p.write(name+"/main.wasm", modules[module]())
	p.write(name+"/skill.json", fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":%q,"description":"d"}]%s}`, name, tool, more))
	p.must(0, "install", "./"+name, "--yes")
}

// A command prints and ends alike whether a service does it or not, and the audit log says
// which of the two it was.
func TestServedIsAlike(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.tool("echo", "echo", "echo", "")
	p.tool("spin", "spin", "spin", "")
	p.tool("trap", "trap", "trap", "")
	p.write("in.json", []byte(`{"a": [1, 2]}`))
	p.write("bytes", []byte("\xff\x00"))
	p.write("home/config.yaml", []byte(recordsAtOnce))
	p.serves()
	const record = 1 // the call is on record
	for _, c := range []struct {
		line   string
		served int
	}{
		{"run echo --input hello", record},
		{"run echo@1.0.0:echo --input @in.json --json", record},
		{"run echo --input @bytes", record},
		{"run echo --input @bytes --json", record},
		{"run echo --no-cache", record},
		{"run spin --max-fuel 100000", record},
		{"run spin --max-fuel 100000 --json", record},
		{"run spin --max-memory-mb 4096 --max-fuel 100000", record},
		{"run spin --timeout 100ms", record},
		{"run trap", record},
		{"run trap --json", record},
		{"list", 0}, {"list --all --json", 0},
		// What is wrong with a call is found out by the command, and nothing is on record.
		{"run ecko", 0}, {"run ecko --json", 0}, {"run in.json", 0},
		{"run echo:ecko", record},
		{"run echo a=b", 0}, {"run echo --input x a=b", 0}, {"run echo --input @missing", 0},
		{"run echo --workspace missing", 0}, {"run spin --max-memory-mb 4097", 0}, {"run spin --max-fuel 0", 0},
	} {
		args := strings.Fields(c.line)
		code, out, errs := p.run(args...)
		by := p.callers(1)
		code2, out2, errs2 := p.run(append(args, self)...)
		by2 := p.callers(1)
		plain := func(s string) string { return varying.ReplaceAllString(s, "-") }
		if code != code2 || plain(out) != plain(out2) || plain(errs) != plain(errs2) {
			t.Errorf("%s:\nby the service %d\n%s%s\nitself %d\n%s%s", c.line, code, out, errs, code2, out2, errs2)
		}
		if c.served == record && (by[0] != "program:local" || !strings.HasPrefix(by2[0], "human:")) {
			t.Errorf("%s: on record are %s, %s", c.line, by, by2)
		}
	}
}

// Without a service that answers, and does the same, a command does its work itself.
func TestDoneWithoutService(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.tool("echo", "echo", "echo", "")
	runs := func(by string) {
		t.Helper()
		if out := p.must(0, "run", "echo", "--input", "hello"); out != "hello" {
			t.Errorf("it answers %q", out)
		}
		if got := p.callers(1); !strings.HasPrefix(got[0], by) {
			t.Errorf("by %s, want %s", got, by)
		}
	}
	p.write("home/config.yaml", []byte(recordsAtOnce))
	end := p.serves()
	runs("program:local")
	p.write("home/config.yaml", []byte(recordsAtOnce+"max_fuel: 123456789\n")) // which the service does not have
	runs("human:")
	end(os.Kill)
	if _, err := os.Lstat(filepath.Join(p.home, "serve.sock")); err != nil {
		t.Fatal(err)
	}
	runs("human:")

	other := newPerson(t)
	other.must(0, "list")
	other.serves()
	for _, name := range []string{"serve.sock", "serve.json"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(p.home, name)), os.Symlink(filepath.Join(other.home, name), filepath.Join(p.home, name))); err != nil {
			t.Fatal(err)
		}
	}
	runs("human:")

	// One that takes connections and ends them without an answer, as one that is about to end.
	if err := os.Remove(filepath.Join(p.home, "serve.sock")); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(p.home, "serve.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan struct{}, 1)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Read(make([]byte, 1))
			c.Close()
			asked <- struct{}{}
		}
	}()
	runs("human:")
	select {
	case <-asked:
	default:
		t.Error("the listener was not asked")
	}
}

// Ctrl-C ends a call that a service makes, and the call of nobody else.
func TestCancelledInService(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.tool("spin", "spin", "spin", "")
	p.tool("echo", "echo", "echo", "")
	p.serves()
	service := p.service()
	for _, with := range [][]string{nil, {self}} {
		cmd := p.command(t.Context(), append([]string{"run", "spin", "--max-fuel", "10000000000000", "--timeout", "10m"}, with...)...)
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		spins := cmd.Process.Pid
		if with == nil {
			spins = service
		}
		for began := worked(t, spins); worked(t, spins) < began+150; { // a command has begun by then, and the guest runs
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "interrupted") {
			t.Errorf("%v: exit code %d, %s", with, code, said.String())
		}
		if out := p.must(0, "run", "echo", "--input", "y"); out != "y" {
			t.Errorf("another call answers %q", out)
		}
	}
}

// When the service is killed during a call, the command says that the call may have been made.
func TestServiceKilledInACall(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.tool("spin", "spin", "spin", "")
	kill := p.serves()
	service := p.service()
	cmd := p.command(t.Context(), "run", "spin", "--max-fuel", "10000000000000", "--timeout", "10m")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for began := worked(t, service); worked(t, service) < began+150; { // the guest runs by then
		time.Sleep(10 * time.Millisecond)
	}
	kill(os.Kill)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 10 || !strings.Contains(said.String(), "the call may have been made all the same; `skillet audit` shows it") {
		t.Errorf("exit code %d, %s", code, said.String())
	}
}

// Calls of many commands at once are answered each with its own.
func TestManyServed(t *testing.T) {
	t.Parallel()
	needsSocket(t)
	p := newPerson(t)
	p.tool("echo", "echo", "echo", "")
	p.serves()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 1000)
			if code, out, errs := p.run("run", "echo", "--input", text); code != 0 || out != text {
				t.Errorf("%d: %d %.20s %s", i, code, out, errs)
			}
		})
	}
	all.Wait()
}
