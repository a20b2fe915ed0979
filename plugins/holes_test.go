//go:build unix

package plugins

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
)

// Each test here shows a hole of go-plugin as it comes, and that ours is closed.

// open starts a plugin with go-plugin as it comes.
func open(t *testing.T, args ...string) (*goplugin.Client, asked) {
	t.Helper()
	c, p, err := defaults(socketDir(t), exec.Command(os.Args[0], args...))
	t.Cleanup(c.Kill)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func TestHoleEnvironment(t *testing.T) {
	long(t)
	t.Parallel()
	if _, p := open(t, "bare"); !strings.Contains(must(t, p, "!environment"), "SKILLET_TEST_KEY=of the host") {
		t.Error("go-plugin keeps the host's environment to itself: the hole is gone")
	}
	s := spec("parrot")
	s.Env = []string{"MINE=1"}
	variable := regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
	names := map[string]string{}
	for _, found := range variable.FindAllStringSubmatch(must(t, start(t, newSupervisor(t, quick()), s), "!environment"), -1) {
		names[found[1]] = found[2]
		if !regexp.MustCompile(`^(PLUGIN_\w+|SKILLET_PLUGIN\w*|HOME|TMPDIR|LANG|MINE)$`).MatchString(found[1]) {
			t.Errorf("the plugin finds %s=%s", found[1], found[2])
		}
	}
	if names["MINE"] != "1" {
		t.Error("the plugin does not find what it was given")
	}
}

// host starts a host in another process, with input, and returns the first words
// that it prints.
func host(t *testing.T, way, plugin, question string) (cmd *exec.Cmd, words []string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "host", way, plugin, question, socketDir(t))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		left, _ := filepath.Glob(filepath.Join(scratchBase(), fmt.Sprintf("%s%d-*", scratchPrefix, cmd.Process.Pid)))
		for _, dir := range left { // the next host leaves them for an hour
			os.RemoveAll(dir)
		}
	})
	if _, err := io.WriteString(in, "for the host"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.Fields(line)
}

func TestHoleStdin(t *testing.T) {
	long(t)
	t.Parallel()
	_, words := host(t, "defaults", "bare", "!stdin")
	if !strings.Contains(strings.Join(words, " "), "for the host") {
		t.Errorf("go-plugin keeps the host's input to itself: the hole is gone: %q", words)
	}
	if pid, err := strconv.Atoi(words[0]); err == nil { // it would outlive its host
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, words := host(t, "ours", "bare", "!stdin"); strings.Join(words[1:], " ") != `"" EOF <nil>` {
		t.Errorf("the plugin reads %q", words[1:])
	}
}

func TestHoleHugeReply(t *testing.T) {
	long(t)
	t.Parallel()
	if _, p := open(t, "bare"); len(must(t, p, "!huge 20")) != 20<<20 {
		t.Error("go-plugin bounds replies: the hole is gone")
	}
	p := start(t, newSupervisor(t, quick()), spec("bare"))
	_, err := say(t.Context(), p, "!huge 20")
	wantClass(t, err, provider.ClassInternal)
	_, err = say(t.Context(), p, "!stream")
	wantClass(t, err, provider.ClassInternal)
	if said := must(t, p, "still there"); said != "still there" {
		t.Error(said)
	}
}

func wantClass(t *testing.T, err error, class provider.Class) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != class {
		t.Fatalf("%v, want class %s", err, class)
	}
	return e
}

func TestHoleGrandchildren(t *testing.T) {
	long(t)
	t.Parallel()
	c, p := open(t, "bare")
	left, _ := strconv.Atoi(must(t, p, "!child group"))
	c.Kill()
	if !confine.Exists(left) || zombie(left) {
		t.Error("go-plugin kills what a plugin has started: the hole is gone")
	}
	_ = syscall.Kill(left, syscall.SIGKILL)
	for _, how := range []string{"group", "session"} {
		v := newSupervisor(t, quick())
		pid, err := strconv.Atoi(must(t, start(t, v, spec("bare")), "!child "+how))
		if err != nil {
			t.Fatal(err)
		}
		v.Close()
		gone(t, pid)
	}
}

// Also when the plugin ends by itself, nothing of it is left.
func TestGrandchildrenOfTheDead(t *testing.T) {
	long(t)
	t.Parallel()
	p := start(t, newSupervisor(t, quick()), spec("parrot"))
	pid, _ := strconv.Atoi(must(t, p, "!child session"))
	_, err := say(t.Context(), p, "!die")
	wantClass(t, err, provider.ClassUnavailable)
	gone(t, pid)
}

func TestHoleHostKilled(t *testing.T) {
	long(t)
	t.Parallel()
	for _, c := range []struct {
		way, plugin string
		lives       bool
	}{{"defaults", "bare", true}, {"ours", "bare", false}, {"ours", "parrot", false}} {
		cmd, words := host(t, c.way, c.plugin, "hello")
		pid, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatalf("%q", words)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if !c.lives {
			gone(t, pid)
			continue
		}
		time.Sleep(200 * time.Millisecond)
		if !confine.Exists(pid) || zombie(pid) {
			t.Error("go-plugin's plugins end with their host: the hole is gone")
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// What a plugin had started when its host was killed is found by the next host.
func TestOrphansOfAKilledHost(t *testing.T) {
	long(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows environments")
	}
	cmd, words := host(t, "ours", "bare", "!child session")
	pid, err := strconv.Atoi(words[1])
	if err != nil {
		t.Fatalf("%q", words)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	start(t, newSupervisor(t, quick()), spec("parrot"))
	gone(t, pid)
}

// Where the system does not kill it, a plugin in Go watches its host.
func TestPluginWatchesItsHost(t *testing.T) {
	long(t)
	t.Parallel()
	cmd := exec.Command(os.Args[0], "parrot")
	cmd.Env = append(os.Environ(), "SKILLET_PLUGIN="+cookie().MagicCookieValue, envHost+"=1", // who is not its parent
		goplugin.EnvUnixSocketDir+"="+socketDir(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// swap is a hash that replaces a file when its sum is taken: the moment between
// the check of a program and its start.
type swap struct {
	hash.Hash
	swap func()
}

func (s swap) Sum(b []byte) []byte {
	s.swap()
	return s.Hash.Sum(b)
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := digestOf(f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// impostor is a program that is not the one that was approved: it says so.
const impostor = "#!/bin/sh\necho the impostor runs >&2\n"

// programs copies this test's program, and the impostor beside it.
func programs(t *testing.T) (good, bad string) {
	t.Helper()
	dir := t.TempDir()
	good, bad = filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	if err := copyFile(os.Args[0], good, sumOf(t, os.Args[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte(impostor), 0o700); err != nil {
		t.Fatal(err)
	}
	return good, bad
}

func TestHoleChecksumRace(t *testing.T) {
	long(t)
	t.Parallel()
	good, bad := programs(t)
	want := sha256.New()
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	want.Write(b)
	var said strings.Builder
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: cookie(), Plugins: goplugin.PluginSet{string(KindProvider): &service{}}, Cmd: exec.Command(good, "bare"), Stderr: &said,
		SecureConfig:     &goplugin.SecureConfig{Checksum: want.Sum(nil), Hash: swap{sha256.New(), func() { _ = os.Rename(bad, good) }}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
	})
	_, err = c.Client()
	c.Kill()
	if err == nil || !strings.Contains(said.String(), "the impostor runs") {
		t.Errorf("go-plugin executes what it has checked: the hole is gone: %v %s", err, said.String())
	}

	good, bad = programs(t)
	s := Settings{Dir: t.TempDir()}.orDefaults()
	e, err := newExecution(newSupervisor(t, s).log, &Spec{Name: "p", Kind: KindProvider, Program: good, Digest: sumOf(t, good), Args: []string{"bare"}}, s)
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := filepath.Glob(filepath.Join(s.Dir, "*"))
	if err := errors.Join(os.WriteFile(bad+"2", []byte(impostor), 0o700), os.Rename(bad, good), os.Rename(bad+"2", kept[0])); err != nil {
		t.Fatal(err)
	}
	identity, certificate, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	e.certificate = string(certificate)
	connection := &connection{execution: e, client: e.newClient(s, identity)}
	defer connection.client.Kill()
	defer e.abandon()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := connection.dial(ctx); err != nil {
		t.Errorf("what was checked is not what runs: %v %q", err, e.output.tail())
	}
}

// The length of a line, and what is printed before the handshake, do not break it.
func TestHoleLongLine(t *testing.T) {
	long(t)
	t.Parallel()
	c, _, err := defaults(socketDir(t), exec.Command(os.Args[0], "printer"))
	c.Kill()
	if err == nil {
		t.Error("go-plugin takes long lines before the handshake: the hole is gone")
	}
	p := start(t, newSupervisor(t, quick()), spec("printer"))
	for range 20 { // and afterwards
		must(t, p, "!print "+strings.Repeat("x", 100<<10))
	}
}

func TestHoleHungCall(t *testing.T) {
	long(t)
	t.Parallel()
	_, p := open(t, "bare")
	returned := make(chan struct{})
	go func() {
		_, _ = say(context.Background(), p, "!hang")
		close(returned)
	}()
	s := quick()
	s.Timeouts = providergrpc.Timeouts{Work: 300 * time.Millisecond}
	_, err := say(context.Background(), start(t, newSupervisor(t, s), spec("bare")), "!hang")
	wantClass(t, err, provider.ClassTimeout)
	select {
	case <-returned:
		t.Error("go-plugin bounds calls: the hole is gone")
	default:
	}
}

// A plugin that cannot even be asked to stop is killed.
func TestHoleStopped(t *testing.T) {
	long(t)
	t.Parallel()
	s := quick()
	s.StopTimeout = 300 * time.Millisecond
	v := newSupervisor(t, s)
	p := start(t, v, spec("bare"))
	pid := v.Status()[0].PID
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := say(ctx, p, "!stop")
	wantClass(t, err, provider.ClassTimeout)
	v.Close()
	gone(t, pid)
}
