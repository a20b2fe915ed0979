//go:build unix

package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/provider"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, spec("parrot"))
	var pieces []string
	r, err := p.Generate(t.Context(), provider.Request{Model: "echo", Messages: []provider.Message{{Role: "user", Text: "one two"}}},
		func(d provider.Delta) error { pieces = append(pieces, d.Text); return nil })
	if err != nil || r.Text != "one two" || len(pieces) != 2 {
		t.Fatalf("%+v, pieces %q, %v", r, pieces, err)
	}
	_, err = p.Embed(t.Context(), provider.EmbedRequest{Texts: []string{"a"}})
	wantClass(t, err, provider.ClassInvalid)
	info, err := p.Info(t.Context())
	models, err2 := p.Models(t.Context())
	if err := errors.Join(err, err2, p.Health(t.Context()), p.Load(t.Context(), "echo"), p.Unload(t.Context(), "echo")); err != nil ||
		info.Name != "parrot" || len(models) != 1 {
		t.Errorf("%+v %+v %v", info, models, err)
	}
}

// The same plugin is one process, however many ask for it at once.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			p, err := v.Provider(t.Context(), spec("parrot"))
			if err != nil {
				t.Error(err)
				return
			}
			if said, err := say(t.Context(), p, "hello"); said != "hello" {
				t.Errorf("%q, %v", said, err)
			}
		})
	}
	wait.Wait()
	if s := v.Status(); len(s) != 1 || s[0].Starts != 1 || s[0].State != StateRunning || s[0].Calls != 0 {
		t.Errorf("%+v", s)
	}
}

// refusedStart is the failure of a plugin that cannot be started, quickly.
func refusedStart(t *testing.T, s Spec, reason error, text string) {
	t.Helper()
	set := quick()
	set.Dir = t.TempDir()
	set.StartTimeout = 20 * time.Second
	if s.Name == "silent" {
		set.StartTimeout = 300 * time.Millisecond
	}
	_, err := newSupervisor(t, set).Provider(t.Context(), s)
	var start *StartError
	if !errors.As(err, &start) || !errors.Is(err, reason) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v with %q", err, reason, text)
	}
}

func TestRefusedHandshakes(t *testing.T) {
	long(t)
	t.Parallel()
	cert := strings.Repeat("A", 200)
	named := func(name string, args ...string) Spec { return Spec{Name: name, Args: args} }
	for _, c := range []struct {
		spec   Spec
		reason error
		text   string
	}{
		{named("silent", "says"), ErrHandshake, "not within"},
		{named("exits", "exits", "there is no key"), ErrHandshake, `exit status 3; it said last: "there is no key"`},
		{named("garbage", "garbage"), ErrHandshake, "none of them a handshake"},
		{named("version", "says", "1|2|unix|/s|grpc|"+cert), ErrVersion, "2, this host 1"},
		{named("core", "says", "2|1|unix|/s|grpc|"+cert), ErrVersion, "handshake 2"},
		{named("rpc", "says", "1|1|unix|/s|netrpc|"+cert), ErrHandshake, "netrpc"},
		{named("plain", "says", "1|1|unix|/s|grpc|"), ErrHandshake, "no certificate"},
		{named("elsewhere", "says", "1|1|unix|/tmp/s|grpc|"+cert), ErrHandshake, "own directory"},
		{named("network", "says", "1|1|tcp|127.0.0.1:80|grpc|"+cert), ErrHandshake, "own directory"},
		{named("short", "says", "1|1|unix|/s|grpc"), ErrHandshake, "5 parts"},
	} {
		t.Run(c.spec.Name, func(t *testing.T) {
			t.Parallel()
			refusedStart(t, c.spec, c.reason, c.text)
		})
	}
}

func TestRefusedPrograms(t *testing.T) {
	long(t)
	t.Parallel()
	good, bad := programs(t)
	digest := sumOf(t, good)
	for name, c := range map[string]struct {
		spec   Spec
		reason error
		text   string
	}{
		"another program": {Spec{Program: bad, Digest: digest}, ErrDigest, "bad"},
		"no file":         {Spec{Program: good + "2", Digest: digest}, os.ErrNotExist, "good2"},
		"a directory":     {Spec{Program: filepath.Dir(good), Digest: digest}, nil, "not a regular file"},
		"no digest":       {Spec{Program: good}, nil, "no digest of"},
		"half a digest":   {Spec{Program: good, Digest: "sha256:12"}, nil, "is not a digest"},
		"relative":        {Spec{Program: "good", Digest: digest}, nil, "absolute"},
		"the loader":      {Spec{Env: []string{"LD_PRELOAD=/x"}}, nil, `"LD_PRELOAD" cannot be set`},
		"the handshake":   {Spec{Env: []string{"PLUGIN_CLIENT_CERT=x"}}, nil, "cannot be set"},
		"no script":       {Spec{Program: "/bin/sh", Script: &Script{Main: "x"}}, nil, "not among its files"},
		"script outside":  {Spec{Program: "/bin/sh", Script: &Script{Files: map[string]string{"../x": digest}}}, nil, "no local name"},
		"another script": {Spec{Program: "/bin/sh", Script: &Script{
			Dir: filepath.Dir(bad), Main: "bad", Files: map[string]string{"bad": digest},
		}}, ErrDigest, "bad"},
		"another interpreter": {Spec{Program: "/bin/sh", Digest: digest, Script: &Script{
			Dir: filepath.Dir(good), Main: "good", Files: map[string]string{"good": digest},
		}}, ErrDigest, "/bin/sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.spec.Name = "p"
			if c.reason == nil {
				var any *StartError
				_, err := newSupervisor(t, Settings{Dir: t.TempDir()}).Provider(t.Context(), c.spec)
				if !errors.As(err, &any) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, want %q", err, c.text)
				}
				return
			}
			refusedStart(t, c.spec, c.reason, c.text)
		})
	}
}

// A program runs from a private copy, which outlives what it was copied from and
// is made again when it was changed.
func TestCopies(t *testing.T) {
	long(t)
	t.Parallel()
	good, bad := programs(t)
	s := quick()
	s.Dir = filepath.Join(t.TempDir(), "programs")
	v := newSupervisor(t, s)
	p := start(t, v, Spec{Name: "p", Program: good, Digest: sumOf(t, good), Args: []string{"parrot"}})
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	kept, _ := filepath.Glob(filepath.Join(s.Dir, "*"))
	if len(kept) != 1 {
		t.Fatalf("%q", kept)
	}
	dead := func() {
		_, err := say(t.Context(), p, "!die")
		wantClass(t, err, provider.ClassUnavailable)
	}
	dead()
	swapped := good + "-away"
	if err := os.Rename(good, swapped); err != nil {
		t.Fatal(err)
	}
	must(t, p, "from the copy")
	dead()
	if err := errors.Join(os.Rename(bad, kept[0]), os.Rename(swapped, good)); err != nil {
		t.Fatal(err)
	}
	must(t, p, "from a new copy")
	other := filepath.Join(s.Dir, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	copies(s.Dir).prune(time.Now().Add(unusedFor + time.Hour))
	if kept, _ := filepath.Glob(filepath.Join(s.Dir, "*")); len(kept) != 1 || kept[0] != other {
		t.Errorf("left: %q, want only what is no copy", kept)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, spec("parrot"))
	before := v.Status()[0].PID
	_, err := say(t.Context(), p, "!die of boredom")
	if e := wantClass(t, err, provider.ClassUnavailable); !strings.Contains(e.Message, `exit status 7; it said last: "of boredom"`) {
		t.Errorf("%v", err)
	}
	must(t, p, "alive")
	s := v.Status()[0]
	if s.PID == before || s.Starts != 2 || s.Deaths != 1 || s.Problem == "" {
		t.Errorf("%+v", s)
	}
}

func TestCrashLoop(t *testing.T) {
	t.Parallel()
	s := quick()
	s.Restart.Longest = time.Hour
	s.Restart.First = 10 * time.Millisecond
	v := newSupervisor(t, s)
	p := start(t, v, spec("once", filepath.Join(t.TempDir(), "started")))
	_, err := say(t.Context(), p, "!die")
	wantClass(t, err, provider.ClassUnavailable)
	for range 2 {
		_, err := say(t.Context(), p, "again")
		wantClass(t, err, provider.ClassUnavailable)
	}
	v.plugins[key{KindProvider, "once"}].state.next = time.Now().Add(time.Hour)
	_, err = say(t.Context(), p, "and again")
	if e := wantClass(t, err, provider.ClassUnavailable); !strings.Contains(e.Message, ErrCrashLoop.Error()) || !strings.Contains(e.Message, "never again") || e.RetryAfter == 0 {
		t.Errorf("%v", err)
	}
	if s := v.Status()[0]; s.State != StateFailed || s.Deaths != 3 || len(s.Output) == 0 || s.Output[0] != "never again" {
		t.Errorf("%+v", s)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	r := Settings{}.orDefaults().Restart
	for deaths, want := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond, 9: 25600 * time.Millisecond, 10: 30 * time.Second, 1000: 30 * time.Second} {
		if d := r.delay(deaths); d != want {
			t.Errorf("after %d deaths %v, want %v", deaths, d, want)
		}
	}
}

// What panics is one call; the others and the plugin go on.
func TestPanic(t *testing.T) {
	long(t)
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, spec("parrot"))
	_, err := say(t.Context(), p, "!panic")
	wantClass(t, err, provider.ClassInternal)
	must(t, p, "hello")
	if s := v.Status()[0]; s.Starts != 1 {
		t.Errorf("%+v", s)
	}
}

func TestCancelReachesThePlugin(t *testing.T) {
	t.Parallel()
	p := start(t, newSupervisor(t, quick()), spec("parrot"))
	file := filepath.Join(t.TempDir(), "told")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := say(ctx, p, "!wait "+file)
	wantClass(t, err, provider.ClassCancelled)
	for range 200 {
		if b, _ := os.ReadFile(file); string(b) == context.Canceled.Error() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the plugin was not told")
}

// Calls that run may finish before a plugin stops, and none begin.
func TestStop(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, spec("parrot"))
	pid := v.Status()[0].PID
	file := filepath.Join(t.TempDir(), "told")
	finished := make(chan error)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	go func() {
		_, err := say(ctx, p, "!wait "+file)
		finished <- err
	}()
	for v.Status()[0].Calls == 0 {
		time.Sleep(time.Millisecond)
	}
	stopped := make(chan struct{})
	go func() {
		v.Stop(context.Background())
		close(stopped)
	}()
	if err := <-finished; err != nil { // then it is its own end, and not that of the connection
		wantClass(t, err, provider.ClassTimeout)
	}
	<-stopped
	gone(t, pid)
	_, err := say(t.Context(), p, "hello")
	wantClass(t, err, provider.ClassUnavailable)
	if _, err := v.Provider(t.Context(), spec("parrot")); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
	if s := v.Status()[0]; s.State != StateStopped {
		t.Errorf("%+v", s)
	}
}

// Close ends what is being started, and nothing outlives it.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	var wait sync.WaitGroup
	for i := range 4 {
		s := spec("parrot")
		s.Name = fmt.Sprint("parrot", i)
		wait.Go(func() { _, _ = v.Provider(t.Context(), s) })
	}
	time.Sleep(20 * time.Millisecond)
	v.Close()
	wait.Wait()
	for _, s := range v.Status() {
		if s.PID != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	start(t, v, spec("parrot"))
	before := v.Status()[0].PID
	s := spec("parrot")
	s.Env = []string{"A=1", "B=2"}
	if said := must(t, start(t, v, s), "!environment"); !strings.Contains(said, "A=1") {
		t.Error(said)
	}
	gone(t, before)
	pid := v.Status()[0].PID
	s.Env = []string{"B=2", "A=1"}
	if start(t, v, s); v.Status()[0].PID != pid {
		t.Error("the order of variables makes another plugin")
	}
	v.Remove(t.Context(), KindProvider, "parrot")
	v.Remove(t.Context(), KindProvider, "parrot")
	gone(t, pid)
	if s := v.Status(); len(s) != 0 {
		t.Errorf("%+v", s)
	}
}

// An idle plugin that does not answer any more is killed, and started again.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := quick()
	s.Watch = 50 * time.Millisecond
	v := newSupervisor(t, s)
	p := start(t, v, spec("parrot"))
	pid := v.Status()[0].PID
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _ = say(ctx, p, "!stop")
	gone(t, pid)
	for v.Status()[0].PID == pid { // until it is seen
		time.Sleep(5 * time.Millisecond)
	}
	must(t, p, "hello")
}

func TestOutput(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	v := New(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info}), quick())
	defer v.Close()
	p := start(t, v, spec("parrot"))
	must(t, p, "!print [ERROR] of a library")
	must(t, p, "!flood 700")
	for range 300 {
		if text := log.String(); strings.Contains(text, "[ERROR] parrot: of a library") && strings.Count(text, "yyyy\n") >= 100 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > maxLine+100 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if s := v.Status()[0]; len(s.Output) != keptLines {
		t.Errorf("%d lines are kept", len(s.Output))
	}
	if n := strings.Count(log.String(), "yyyy"); n == 0 {
		t.Error("nothing of the flood is in the log")
	}
}

// lockedBuffer is text that is written and read at a time.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestConfinement(t *testing.T) {
	long(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows a process's bounds")
	}
	s := spec("bare") // which does nothing about it itself
	s.Limits = confine.Limits{MemoryBytes: 3 << 30, OpenFiles: 77, CPUSeconds: 1000}
	p := start(t, newSupervisor(t, quick()), s)
	limits := strings.Join(strings.Fields(must(t, p, "!limits")), " ")
	for _, want := range []string{"Max data size 3221225472 3221225472", "Max open files 77 77", "Max cpu time 1000 1000", "Max core file size 0 0"} {
		if !strings.Contains(limits, want) {
			t.Errorf("%s: want %s", limits, want)
		}
	}
	if status := must(t, p, "!status"); !strings.Contains(status, "NoNewPrivs:\t1") {
		t.Error(status)
	}
	for line := range strings.Lines(must(t, p, "!descriptors")) {
		if to := strings.TrimSpace(line); strings.HasPrefix(to, "/") && to != "/dev/null" && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			t.Errorf("the plugin holds %s", to)
		}
	}
}

// A plugin that takes more memory than it may dies, and nothing else does.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux holds memory to its bound")
	}
	if raceDetector {
		t.Skip("the race detector takes more memory than the bound")
	}
	s := spec("bare")
	s.Limits.MemoryBytes = 256 << 20
	p := start(t, newSupervisor(t, quick()), s)
	_, err := say(t.Context(), p, "!huge 1000")
	wantClass(t, err, provider.ClassUnavailable)
	must(t, p, "hello")
}

func TestDirectory(t *testing.T) {
	long(t)
	t.Parallel()
	v := newSupervisor(t, quick())
	own := must(t, start(t, v, spec("parrot")), "!directory")
	s := spec("bare")
	s.Dir = t.TempDir()
	if dir := must(t, start(t, v, s), "!directory"); dir != s.Dir {
		t.Errorf("%s, want %s", dir, s.Dir)
	}
	v.Close()
	if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", own, err)
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add("1|1|unix|/tmp/skp1/s|grpc|" + strings.Repeat("A", 200))
	f.Add("1|1|tcp|127.0.0.1:1|grpc|x|true")
	f.Add("[WARN] x | y | z | 1")
	f.Fuzz(func(t *testing.T, line string) {
		if !isHandshake(line) || checkHandshake(line, "/tmp/skp1") != nil {
			return
		}
		if parts := strings.Split(line, "|"); parts[0] != "1" || parts[4] != "grpc" || !strings.HasPrefix(filepath.Clean(parts[3]), "/tmp/skp1/") {
			t.Errorf("%q", line)
		}
	})
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("[WARN] a\r\n\xff\n\n" + strings.Repeat("x", maxLine+1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := newLines(strings.NewReader(string(b)))
		o := output{log: hclog.NewNullLogger(), clean: newScrubber([]string{"a-secret"})}
		for {
			line, err := in.next()
			if err != nil {
				break
			}
			if len(line) > 3*maxLine || strings.Contains(line, "\n") {
				t.Errorf("%q", line)
			}
			o.take(line)
		}
		if _, err := o.Write(b); err != nil || len(o.tail()) > keptLines {
			t.Error(err)
		}
	})
}
