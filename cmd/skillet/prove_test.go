package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// rounds is how often a proof is repeated: a few times in every test run, and
// full times when SKILLET_PROVE=1.
func rounds(short, full int) int {
	if os.Getenv("SKILLET_PROVE") == "1" {
		return full
	}
	return short
}

// long skips a test that takes long and is rarely what a change breaks, where only
// the others are wanted: make test leaves it out, make test LONG=1 and .ci/run do not.
func long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why + "; make test LONG=1 runs it")
	}
}

// person runs the real program in a home of its own.
type person struct {
	t             *testing.T
	program, work string
	home          string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	p := &person{t: t, work: work, program: filepath.Join(work, "skillet"), home: filepath.Join(work, "home")}
	if err := os.Symlink(program.path, p.program); err != nil { // TestMain runs main for this name
		t.Fatal(err)
	}
	return p
}

func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir = p.work
	cmd.Env = []string{"SKILLET_HOME=" + p.home, "HOME=" + p.work, "USER=ada", "SKILLET_SECRET_KEY=file", "NO_COLOR=1", "PAGER=cat", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run runs a command to its end.
func (p *person) run(args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (p *person) must(code int, args ...string) string {
	p.t.Helper()
	got, out, errs := p.run(args...)
	if got != code {
		p.t.Fatalf("skillet %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	return out
}

func (p *person) write(path string, content []byte) {
	p.t.Helper()
	path = filepath.Join(p.work, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) pack(dir, name, version, permissions string) {
	p.t.Helper()
	p.write(dir+"/main.wasm", echo())
	p.write(dir+"/skill.json", fmt.Appendf(nil, `{"name":%q,"version":%q,"description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"answers"}],"security":{"permissions":{%s}}}`, name, version, permissions))
}

// packNeeding is pack for a skill that asks for something, and needs others.
func (p *person) packNeeding(dir, name string, others ...string) {
	p.t.Helper()
	var needs []string
	for _, o := range others {
		needs = append(needs, fmt.Sprintf("%q:%q", o, "^1"))
	}
	p.write(dir+"/main.wasm", echo())
	p.write(dir+"/skill.json", fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"echo","description":"answers"}],"security":{"permissions":{"notify":{"reason":"r"}}},"dependencies":{%s}}`, name, strings.Join(needs, ",")))
	p.write("found/.keep", nil)
}

// pending is the id of the only proposal that waits.
func (p *person) pending() string {
	p.t.Helper()
	var ps []struct{ ID string }
	if err := json.Unmarshal([]byte(p.must(0, "approvals", "list", "--json")), &ps); err != nil || len(ps) != 1 {
		p.t.Fatalf("%d proposals wait, %v", len(ps), err)
	}
	return ps[0].ID
}

// at makes the home a copy of another.
func (p *person) at(template string) {
	p.t.Helper()
	if err := errors.Join(os.RemoveAll(p.home), copyTree(template, p.home)); err != nil {
		p.t.Fatalf("copy the home: %v", err)
	}
}

// copyTree copies directories and files with their modes.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, rel), info.Mode().Perm())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	})
}

// keep puts the home aside as a template.
func (p *person) keep(name string) string {
	p.t.Helper()
	template := filepath.Join(p.work, name)
	if err := os.Rename(p.home, template); err != nil {
		p.t.Fatal(err)
	}
	return template
}

// summary is the state as commands show it, without what differs each time.
func (p *person) summary() string {
	p.t.Helper()
	var b strings.Builder
	for _, args := range [][]string{{"list", "--all"}, {"tree"}, {"approvals", "list", "--all"}, {"permission", "show", "kept"}, {"permission", "show", "back"}} {
		_, out, errs := p.run(args...)
		fmt.Fprintf(&b, "%s\n%s%s\n", strings.Join(args, " "), out, errs)
	}
	_, out, errs := p.run("audit", "--json")
	fmt.Fprintf(&b, "%d runs %s\n", strings.Count(out, `"kind": "run"`), errs)
	return b.String()
}

// A killed command leaves the home as it was before it or as it is after it;
// and as it is after it, once it has said so.
func TestKilledCommandsLeaveNothingHalfDone(t *testing.T) {
	long(t, "it kills a command over and over")
	p := newPerson(t)
	p.pack("kept", "kept", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("new", "new", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("fresh", "fresh", "1.0.0", `"kv":{"reason":"r"}`) // not "new": what a model proposed is decided, not installed
	p.must(0, "install", "./kept", "--yes")
	p.pack("back", "back", "1.0.0", `"kv":{"reason":"r"}`)
	p.must(0, "install", "./back", "--yes")
	// One grant each: grants of the same moment are listed in any order.
	p.pack("back", "back", "1.1.0", `"notify":{"reason":"r"}`)
	p.must(0, "install", "./back", "--yes")
	p.pack("kept", "kept", "1.1.0", `"notify":{"reason":"r"}`)
	p.must(6, "install", "./new", "--generated-by", "m")
	id := p.pending()
	p.packNeeding("whole", "whole", "part", "other")
	p.packNeeding("part", "part", "other")
	p.packNeeding("other", "other")
	p.must(0, "pack", "./part", "-o", "found/part-1.0.0.skill")
	p.must(0, "pack", "./other", "-o", "found/other-1.0.0.skill")
	p.must(0, "run", "kept", "--input", "warm")
	template := p.keep("template")

	for _, c := range []struct {
		name string
		args []string
	}{
		{"install", []string{"install", "./fresh", "--yes"}},
		{"run", []string{"run", "kept", "--input", "x"}},
		{"approve", []string{"approvals", "approve", id, "--yes"}},
		{"remove", []string{"remove", "kept", "--yes"}},
		{"update", []string{"update", "kept", "--yes"}},
		{"rollback", []string{"rollback", "back"}},
		{"closure", []string{"install", "./whole", "--find", "./found", "--yes"}},
	} {
		t.Run(c.name, func(t *testing.T) { killed(t, p, template, c.args) })
	}
}

func killed(t *testing.T, p *person, template string, args []string) {
	p.at(template)
	before := p.summary()
	start := time.Now()
	p.must(0, args...)
	when := moments{time.Since(start) * 5 / 4}
	after := p.summary()

	n, acknowledged, done := rounds(4, 50), 0, 0
	for range n {
		p.at(template)
		said := p.kill(when.next(), args)
		when.had(said)
		if said {
			acknowledged++
		}
		got := p.summary()
		switch {
		case sameState(got, after):
			done++
		case !sameState(got, before):
			t.Fatalf("half done:\n%s\nbefore:\n%s\nafter:\n%s", got, before, after)
		case said:
			t.Fatalf("acknowledged and lost:\n%s", got)
		}
		p.must(0, "audit", "verify")
		p.must(0, "doctor")
		p.must(0, "verify", "--all")
		p.must(0, "run", "back", "--input", "x")
	}
	t.Logf("proof: %s killed %d times: %d were done, %d of them acknowledged, none lost, none half done", args[0], n, done, acknowledged)
}

// moments are when commands that take about as long are killed: anywhere in them, and now
// and then behind their end. A machine becomes busier or less busy meanwhile, so what became of
// the last one moves the span.
type moments struct{ span time.Duration }

func (m *moments) next() time.Duration { return rand.N(m.span) }

func (m *moments) had(ended bool) {
	if ended {
		m.span -= m.span / 20
	} else {
		m.span += m.span / 50
	}
}

// kill runs a command, kills it after a time, and says whether it had ended
// well before that.
func (p *person) kill(after time.Duration, args []string) (acknowledged bool) {
	cmd := p.command(p.t.Context(), args...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// sameState compares summaries but for times.
func sameState(a, b string) bool { return withoutTimes(a) == withoutTimes(b) }

func withoutTimes(s string) string {
	words := strings.Fields(s)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return len(w) >= 5 && (strings.Count(w, ":") == 1 && len(w) == 5 || strings.Count(w, "-") == 2 && w[0] == '2')
	}), " ")
}

// One flipped bit anywhere in the home: every command still tells the truth,
// or says that something is damaged and what to do.
func TestFlippedBitsAreNeverAWrongAnswer(t *testing.T) {
	long(t, "it alters a home over and over")
	p := newPerson(t)
	p.pack("kept", "kept", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("new", "new", "1.0.0", "")
	p.must(0, "install", "./kept", "--yes")
	p.must(6, "install", "./new", "--generated-by", "m")
	p.must(0, "permission", "grant", "kept", "notify", "--reason", "because")
	p.must(0, "run", "kept", "--input", "warm")
	template := p.keep("template")
	p.at(template)
	truth := p.answers()

	outcomes := map[string]int{}
	n := rounds(10, 200)
	for range n {
		p.at(template)
		where := p.flip()
		for i, a := range p.answers() {
			switch {
			case a.code == truth[i].code && withoutTimes(a.text) == withoutTimes(truth[i].text):
				outcomes["right"]++
			case a.code == fault.KindVerification.ExitCode() && strings.Contains(a.stderr, "hint:"):
				outcomes["refused"]++
			default:
				t.Errorf("%s: %s: exit code %d\n%s%s\nwant exit code %d\n%s", where, a.name, a.code, a.text, a.stderr, truth[i].code, truth[i].text)
			}
		}
	}
	t.Logf("proof: %d flipped bits, %d answers right, %d refused as damaged, none wrong", n, outcomes["right"], outcomes["refused"])
}

// An answer is what one command said.
type answer struct {
	name         string
	code         int
	text, stderr string
}

func (p *person) answers() []answer {
	p.t.Helper()
	var as []answer
	for _, args := range [][]string{
		{"list", "--all"}, {"permission", "show", "kept"}, {"approvals", "list", "--all"},
		{"audit", "--limit", "3"}, {"run", "kept", "--input", "the question"},
	} {
		code, out, errs := p.run(args...)
		if args[0] == "audit" {
			out = "" // times of runs differ; that it reads is what counts
		}
		as = append(as, answer{strings.Join(args, " "), code, out, errs})
	}
	return as
}

// flip changes one bit of what is really stored in the home, chosen evenly.
func (p *person) flip() string {
	p.t.Helper()
	type place struct {
		path string
		size int64
	}
	var places []place
	var total int64
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := written(p.t, path, info.Size())
		places, total = append(places, place{path, size}), total+size
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	// Half of the flips go to a file chosen evenly, so that small files, which
	// matter most, are not left out.
	if rand.IntN(2) == 0 {
		pl := places[rand.IntN(len(places))]
		if pl.size > 0 {
			return flipBit(p.t, pl.path, rand.Int64N(pl.size))
		}
	}
	at := rand.Int64N(total)
	for _, pl := range places {
		if at < pl.size {
			return flipBit(p.t, pl.path, at)
		}
		at -= pl.size
	}
	return ""
}

// written is the size of a file without the zeros at its end.
func written(t *testing.T, path string, size int64) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return min(size, int64(len(bytes.TrimRight(b, "\x00"))))
}

func flipBit(t *testing.T, path string, at int64) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bit := byte(1) << rand.IntN(8)
	b[at] ^= bit
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, byte %d, bit %#x", path, at, bit)
}

// Commands that run at the same time neither block each other for long nor
// lose each other's work.
func TestCommandsAtTheSameTime(t *testing.T) {
	p := newPerson(t)
	const n = 6
	for i := range n {
		p.pack(fmt.Sprintf("s%d", i), fmt.Sprintf("s%d", i), "1.0.0", `"kv":{"reason":"r"}`)
	}
	done := make(chan string, n)
	for i := range n {
		go func() {
			code, out, errs := p.run("install", fmt.Sprintf("./s%d", i), "--yes")
			if code == 0 {
				code, out, errs = p.run("run", fmt.Sprintf("s%d", i), "--input", "x")
			}
			done <- fmt.Sprintf("%d %s %s", code, out, errs)
		}()
	}
	for range n {
		if said := <-done; !strings.HasPrefix(said, "0 x") {
			t.Error(said)
		}
	}
	if got := strings.Count(p.must(0, "list"), "1.0.0*"); got != n {
		t.Errorf("%d skills installed, want %d", got, n)
	}
	p.must(0, "doctor")
}
