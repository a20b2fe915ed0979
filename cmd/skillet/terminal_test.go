package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A session is a command at a pseudo-terminal, and the person in front of it.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu     sync.Mutex
	screen strings.Builder // everything that reached the terminal
	closed chan struct{}   // closed when nothing more will
}

// sit starts a command at a terminal.
func (p *person) sit(args ...string) *session {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	p.t.Cleanup(cancel)
	return p.sitAt(p.command(ctx, args...))
}

// sitAt starts any command at a terminal.
func (p *person) sitAt(cmd *exec.Cmd) *session {
	p.t.Helper()
	hands, terminal := openPTY(p.t)
	return p.sitBetween(cmd, hands, terminal)
}

// sitBetween starts a command at a terminal whose other end is in a person's hands.
func (p *person) sitBetween(cmd *exec.Cmd, hands, terminal *os.File) *session {
	p.t.Helper()
	s := &session{t: p.t, cmd: cmd, keys: hands, closed: make(chan struct{})}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = terminal, terminal, terminal
	s.cmd.SysProcAttr = controlling()
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	terminal.Close()
	go func() {
		defer close(s.closed)
		buf := make([]byte, 4096)
		for {
			n, err := hands.Read(buf)
			s.mu.Lock()
			s.screen.Write(buf[:n])
			s.mu.Unlock()
			if err != nil { // EIO: the program has let go of the terminal
				return
			}
		}
	}()
	return s
}

func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

// sees waits until text is on the terminal.
func (s *session) sees(text string) {
	s.t.Helper()
	for range 3000 {
		if strings.Contains(s.shown(), text) {
			return
		}
		select {
		case <-s.closed:
			if !strings.Contains(s.shown(), text) {
				s.t.Fatalf("never saw %q in\n%s", text, s.shown())
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.t.Fatalf("no %q after 30 s in\n%s", text, s.shown())
}

func (s *session) types(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// hides waits until the terminal does not show any more what is typed.
func (s *session) hides() {
	s.t.Helper()
	for echoes(s.t, s.keys) {
		time.Sleep(10 * time.Millisecond)
	}
}

// ends waits for the end of the command, and returns all that was shown.
func (s *session) ends(code int) string {
	s.t.Helper()
	<-s.closed
	_ = s.cmd.Wait() // the exit code says all
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("%v: exit code %d, want %d\n%s", s.cmd.Args, got, code, s.shown())
	}
	return s.shown()
}

const ctrlC = "\x03"

func TestInstallAsks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("asks", "asks", "1.0.0", `"kv":{"reason":"to remember what it saw"}`)

	s := p.sit("install", "./asks")
	s.sees("Install and grant this? [y/N]")
	for _, want := range []string{"asks@1.0.0", "keep data of its own between calls: to remember what it saw", "answer d to see the rest"} {
		if !strings.Contains(s.shown(), want) {
			t.Errorf("the question does not show %q:\n%s", want, s.shown())
		}
	}
	// What comes before the summary is short, so that the summary is what is seen.
	before, _, found := strings.Cut(s.shown(), "in short, install asks@1.0.0:")
	if n := strings.Count(before, "\n"); !found || n > 4 {
		t.Errorf("%d lines stand above the summary:\n%s", n, s.shown())
	}
	short := len(s.shown())
	s.types("d\n")
	for _, want := range []string{"because: to remember what it saw", "limits:", "tool echo", "policies say:", "in short, install asks@1.0.0:", "Install and grant this? [y/N]"} {
		s.seesAfter(short, want)
	}
	s.types("n\n")
	if got := s.ends(3); !strings.Contains(got, "you did not say yes") || !strings.Contains(got, "hint: nothing was changed") {
		t.Errorf("no refusal in\n%s", got)
	}
	if got := p.must(0, "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("refused, and there is\n%s", got)
	}
	if got := p.must(0, "approvals", "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("refused, and there waits\n%s", got)
	}

	for _, no := range []string{"\n", "maybe\n", "\x04"} { // only yes is yes; \x04 is the end of input
		s := p.sit("install", "./asks")
		s.sees("[y/N]")
		s.types(no)
		s.ends(3)
	}

	s = p.sit("install", "./asks")
	s.sees("[y/N]")
	s.types(ctrlC)
	if got := s.ends(interrupted); !strings.Contains(got, "skillet: interrupted") || strings.Contains(got, "canceled") {
		t.Errorf("interrupted, it says\n%s", got)
	}
	if got := p.must(0, "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("interrupted, and there is\n%s", got)
	}

	s = p.sit("install", "./asks")
	s.sees("[y/N]")
	s.types("y\n")
	s.ends(0)
	if got := p.must(0, "permission", "show", "asks"); !strings.Contains(got, "(kv)") {
		t.Errorf("agreed, and granted is\n%s", got)
	}
}

func TestApproveShowsAndAsks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("gen", "gen", "1.0.0", `"network":[{"url":"https://api.example.com/*","reason":"the data is there"}]`)
	// At a terminal, too, what a model wrote waits.
	s := p.sit("install", "./gen", "--generated-by", "some-model", "--rationale", "asked thrice")
	s.sees("Look at it now? [y/N]")
	s.types("n\n")
	if got := s.ends(6); strings.Count(got, "waits for approval") != 1 {
		t.Errorf("shown is\n%s", got)
	}
	id := p.pending()

	s = p.sit("approvals", "approve", id[:6])
	s.sees("Approve this? [y/N]")
	for _, want := range []string{"model:some-model", "because: asked thrice", "send GET requests to https://api.example.com", "digest sha256:", "answer d to see the rest", "nobody signed it, from "} {
		if !strings.Contains(s.shown(), want) {
			t.Errorf("the question does not show %q:\n%s", want, s.shown())
		}
	}
	short := len(s.shown())
	if strings.Contains(s.shown(), "limits:") {
		t.Errorf("in short it is\n%s", s.shown())
	}
	s.types("d\n")
	for _, want := range []string{"limits:", "added", "main.wasm", "in short, install gen@1.0.0:", "Approve this? [y/N]"} {
		s.seesAfter(short, want)
	}
	s.types("n\n")
	s.ends(3)
	s = p.sit("approvals", "approve", id)
	s.sees("[y/N]")
	s.types(ctrlC)
	s.ends(interrupted)
	if p.pending() != id {
		t.Error("it does not wait any more")
	}

	s = p.sit("approvals", "approve", id)
	s.sees("[y/N]")
	s.types("yes\n")
	s.ends(0)
	p.must(0, "run", "gen", "--input", "x")

	s = p.sit("remove", "gen")
	s.sees("Remove gen@1.0.0 and end all grants? [y/N]")
	s.types("y\n")
	s.ends(0)
	p.must(5, "run", "gen", "--input", "x")
}

func TestSecretIsNotShown(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.sit("secret", "set", "github")
	s.sees("value of github (not shown): ")
	s.hides()
	s.types("hunter2hunter2\n")
	if got := s.ends(0); strings.Contains(got, "hunter2") {
		t.Errorf("the secret was shown:\n%s", got)
	}
	if got := p.must(0, "secret", "list"); !strings.Contains(got, "\ngithub  ") {
		t.Errorf("secrets are\n%s", got)
	}

	// Ctrl-C at the prompt ends the command, sets nothing, and the terminal echoes again.
	s = p.sit("secret", "set", "other")
	s.sees("(not shown)")
	s.hides()
	s.types(ctrlC)
	s.ends(interrupted)
	if got := p.must(0, "secret", "list"); strings.Contains(got, "other") {
		t.Errorf("secrets are\n%s", got)
	}
}

// What has no bound, and what is taken back although nobody named it, is asked about.
func TestGrantsAreAskedAbout(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("asks", "asks", "1.0.0", `"kv":{"reason":"r"}`)
	p.must(0, "install", "./asks", "--yes")
	for _, no := range []string{"n\n", "\n"} {
		s := p.sit("permission", "grant", "asks", "fs.read:/**")
		s.sees("asks@1.0.0 could then read every file on this computer. Grant it? [y/N]")
		s.types(no)
		s.ends(3)
	}
	if got := p.must(0, "permission", "show", "asks"); strings.Contains(got, "fs.read:/**") {
		t.Errorf("refused, and granted is\n%s", got)
	}
	s := p.sit("permission", "grant", "asks", "fs.read:/**")
	s.sees("[y/N]")
	s.types("y\n")
	s.ends(0)
	p.sit("permission", "grant", "asks", "fs.read:/data/**", "fs.write:/data/**").ends(0) // it has a bound
	p.sit("permission", "grant", "asks", "fs.write:/**", "--yes").ends(0)

	s = p.sit("permission", "revoke", "asks", "fs.read:/**")
	s.sees("asks@1.0.0 loses fs.read:/data/** too, which --exact leaves. Take them back? [y/N]")
	s.types("n\n")
	s.ends(3)
	p.sit("permission", "revoke", "asks", "fs.read:/**", "--exact").ends(0)
	p.sit("permission", "revoke", "asks", "fs.write:/**", "--yes").ends(0)
	if got := p.must(0, "permission", "show", "asks"); !strings.Contains(got, "(fs.read:/data/**)") || strings.Contains(got, "fs.write") || strings.Contains(got, "every file") {
		t.Errorf("granted is\n%s", got)
	}
	p.sit("permission", "revoke", "asks", "fs.read:/data/**").ends(0) // nothing else goes
}

// installWants installs a skill that wants to read the file data.
func (p *person) installWants() {
	p.t.Helper()
	p.pack("wants", "wants", "1.0.0", `"file_read":[]`)
	p.write("wants/main.wasm", modules["wants"]())
	p.write("data", []byte("x"))
	p.must(0, "install", "./wants", "--yes")
}

// A call that is refused something asks for it at a terminal, and goes on.
func TestRefusedRunAsks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.installWants()
	asks := func(args ...string) *session {
		t.Helper()
		s := p.sit(append([]string{"run"}, args...)...)
		s.sees("wants to read ")
		s.sees("/N] ")
		return s
	}
	ends := func(s *session, keys string, code int) string {
		t.Helper()
		s.types(keys)
		return s.ends(code)
	}
	grants := func() string { return p.must(0, "permission", "show", "wants") }

	// No, nothing said, and Ctrl-C grant nothing.
	for keys, code := range map[string]int{"n\n": 3, "\n": 3, "r\n": 3, "yes please\n": 3, ctrlC: interrupted} {
		if got := ends(asks("wants:echo"), keys, code); strings.Contains(got, "was read") {
			t.Errorf("%q: it ran all the same:\n%s", keys, got)
		}
	}
	// Once is this call alone.
	if got := ends(asks("wants:echo"), "o\n", 0); !strings.HasSuffix(got, "was read\r\n") {
		t.Errorf("once: shown is %q", got)
	}
	if got := grants(); strings.Contains(got, "(fs.read") {
		t.Errorf("after once, granted is\n%s", got)
	}
	// For the calls of a run, and no other.
	ends(asks("wants:echo", "--run", "7"), "r\n", 0)
	p.sit("run", "wants:echo", "--run", "7").ends(0)
	// A directory can be allowed something once.
	s := asks("./wants:echo")
	if got := ends(s, "a\n", 3); strings.Contains(got, "always") {
		t.Errorf("what is not installed could be granted something:\n%s", got)
	}
	ends(asks("./wants:echo"), "o\n", 0)
	// For a day, for which it ends; and who cannot be asked is refused.
	p.must(3, "run", "wants:echo")
	p.must(3, "run", "wants:echo", "--json")
	if got := ends(asks("wants:echo"), "h\n", 0); !strings.Contains(got, "granted wants@1.0.0: read ") {
		t.Errorf("for a day: shown is\n%s", got)
	}
	if got := grants(); !strings.Contains(got, "until") {
		t.Errorf("for a day, granted is\n%s", got)
	}
	p.must(0, "run", "wants:echo")
	p.must(0, "permission", "reset", "wants", "--yes")
	ends(asks("wants:echo"), "a\n", 0)
	p.sit("run", "wants:echo").ends(0)
	if got := p.must(0, "audit", "--kind", "grant"); strings.Count(got, "human:") != 3 {
		t.Errorf("the audit log does not say who granted it:\n%s", got)
	}
}

// What an administrator forbids is not asked about.
func TestForbiddenIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.installWants()
	p.write("home/policies/no.cedar", []byte(`@id("no-files") forbid (principal, action == Action::"fs.read", resource);`))
	if got := p.sit("run", "wants:echo").ends(3); strings.Contains(got, "Allow it") {
		t.Errorf("asked about what policies forbid:\n%s", got)
	}
}

func TestCtrlCEndsARun(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("spin.wasm", modules["spin"]())
	s := p.sit("run", "./spin.wasm")
	s.sees("running ./spin.wasm")
	s.types(ctrlC)
	if got := s.ends(interrupted); !strings.Contains(got, "skillet: interrupted") || !strings.Contains(got, "nothing is half done") || strings.Contains(got, "canceled") {
		t.Errorf("no word about it in\n%s", got)
	}
	s = p.sit("run", "./spin.wasm", "--json")
	time.Sleep(500 * time.Millisecond)
	s.types(ctrlC)
	if got := s.ends(interrupted); strings.Contains(got, "running ./spin.wasm") {
		t.Errorf("progress among JSON:\n%s", got)
	}
	if got := p.must(0, "audit", "--json"); strings.Count(got, `"kind": "run"`) != 2 {
		t.Errorf("the audit log is\n%s", got)
	}
}

func TestRunAtATerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	s := p.sit("install", "./echo")
	s.ends(0)
	s = p.sit("run", "echo", "--input", "the answer")
	if got := s.ends(0); !strings.HasSuffix(got, "the answer\r\n") {
		t.Errorf("shown is %q", got)
	}
	s = p.sit("run", "echo", "--input", "-")
	s.types("typed by hand\n\x04")
	if got := s.ends(0); strings.Count(got, "typed by hand") != 2 { // the echo of the terminal, and the answer
		t.Errorf("shown is %q", got)
	}
}

// hostile is text that would take over a terminal: it clears it, sets its
// title, turns text around, overwrites a line, and makes one that looks ours.
const hostile = "a\x1b[2J\x1b]0;owned\x07\u009b2J\u202eevil\u2066\rskillet: ok\x08\x7f"

// forbidden are the parts of hostile that must not reach a terminal.
var forbidden = []string{"\x1b[2J", "\x1b]0;", "\u009b", "\u202e", "\u2066", "\rskillet: ok", "\x08", "\x7f", "\x07"}

func clean(t *testing.T, what, shown string) {
	t.Helper()
	for _, f := range forbidden {
		if strings.Contains(shown, f) {
			t.Errorf("%s: %q reached the terminal in %q", what, f, shown)
		}
	}
	if !strings.Contains(shown, "evil") {
		t.Errorf("%s: the text itself is not there: %q", what, shown)
	}
}

// Nothing that a skill, its author or a model wrote can do anything to a
// terminal but appear on it.
func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	borrow(t, p.home)
	p.must(6, "install", p.guest("gen", "gen"), "--generated-by", "m"+hostile, "--rationale", hostile)
	p.must(0, "install", p.guest("guest", "guest"), "--yes")
	in, err := json.Marshal(map[string]string{"title": "t" + hostile, "text": hostile})
	if err != nil {
		t.Fatal(err)
	}
	p.write("input.json", in)
	p.write("hostile.txt", []byte(hostile))
	p.write("echo.wasm", echo())
	id := p.pending()

	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"output", 0, []string{"run", "echo.wasm", "--input", "@hostile.txt"}},
		{"log", 0, []string{"run", "guest:log", "--input", "@input.json"}},
		{"notification", 0, []string{"run", "guest:tell", "--input", "@input.json", "--allow", "notify"}},
		{"error", 1, []string{"run", "guest:fail", "--input", "@input.json"}},
		{"proposals", 0, []string{"approvals", "list", "-o", "wide"}},
		{"proposal", 0, []string{"approvals", "show", id}},
		{"whole proposal", 0, []string{"approvals", "show", id, "--full"}},
		{"audit", 0, []string{"audit"}},
		{"argument", 2, []string{"run", hostile}},
		{"path", 5, []string{"run", "./" + hostile}},
		{"flag", 2, []string{"run", "--" + hostile}},
		{"grant", 0, []string{"permission", "grant", "guest", "kv", "--reason", hostile, "--json"}},
	} {
		clean(t, c.name, p.sit(c.args...).ends(c.code))
	}

	s := p.sit("approvals", "approve", id)
	s.sees("[y/N]")
	clean(t, "question", s.shown())
	s.types("y\n")
	s.ends(0)
}

// Who upgrades at a terminal is shown what is different, and sees every character
// of it.
func TestUpgradeShowsWhatIsDifferent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("v1", "notes", "1.0.0", "")
	p.write("v1/README.md", []byte("Reads notes.\nAnd no more.\n"))
	p.must(0, "install", "./v1")
	p.pack("v2", "notes", "2.0.0", `"kv":{"reason":"to remember"}`)
	p.write("v2/README.md", []byte("Reads notes.\n"+hostile+"\n"))
	p.must(0, "pack", "./v2")
	for _, args := range [][]string{{"install", "./v2"}, {"install", "notes-2.0.0.skill", "--full"}} {
		s := p.sit(args...)
		s.sees("Install and grant this? [y/N]")
		short := len(s.shown())
		s.types("d\n")
		s.seesAfter(short, "Install and grant this? [y/N]")
		for _, want := range []string{"replaces 1.0.0", "+ keep data", "-And no more.", `+a\u{1b}[2J`, `\u{202e}evil`, `-{"name":"notes","version":"1.0.0"`} {
			if !strings.Contains(s.shown(), want) {
				t.Errorf("%v: %q is not shown in\n%s", args, want, s.shown())
			}
		}
		clean(t, "difference", s.shown())
		s.types("n\n")
		s.ends(3)
	}
	clean(t, "info", p.sit("info", "./v2", "--diff").ends(0))
}

// guest writes a package of the test guest, and returns its directory.
func (p *person) guest(dir, name string) string {
	p.t.Helper()
	wasm := filepath.Join(p.work, dir, "main.wasm")
	p.write(dir+"/skill.json", fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"log","description":"logs"},{"name":"tell","description":"tells"},{"name":"fail","description":"fails"}],
		"security":{"permissions":{"network":[],"file_read":[],"file_write":[],"secrets":[],"kv":{},"notify":{}}}}`, name))
	buildGuest(p.t, wasm, "./testdata/guest", "-buildmode=c-shared")
	return "./" + dir
}

// Who wants to see everything gets it in their pager, and is asked again when that ends.
func TestDetailsAreShownInAPager(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("asks", "asks", "1.0.0", `"kv":{"reason":"to remember"}`)
	cmd := p.command(t.Context(), "install", "./asks")
	cmd.Env = append(cmd.Env, "PAGER=sed s/^/page:/")
	s := p.sitAt(cmd)
	s.sees("[y/N]")
	before := len(s.shown())
	s.types("d\n")
	for _, want := range []string{"page:asks@1.0.0", "page:  limits:", "page:in short, install asks@1.0.0:", "Install and grant this? [y/N]"} {
		s.seesAfter(before, want)
	}
	s.types(ctrlC)
	s.ends(interrupted)
	if got := p.must(0, "list", "--json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("interrupted, and there is\n%s", got)
	}
}
