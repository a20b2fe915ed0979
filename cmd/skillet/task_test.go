package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/internal/reexec"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/provider"
)

// TestTaskOffline: the local provider and bundled skills reach a goal, with nothing
// but the files that were allowed.
func TestTaskOffline(t *testing.T) {
	p := newPerson(t)
	borrow(t, p.home)
	p.must(0, "install", "--yes", p.build("files"), p.build("text"), p.build("markdown"))
	p.write("notes/README.md", []byte("# Boats\n\nBoats float on water. Boats are made of wood. A boat of wood floats for years.\n\n"+
		"Read [the manual](https://example.com/manual) and [the plan](plan.md).\n"))
	allow := "fs.read:" + filepath.Join(real(t, p.work), "notes") + "/**"
	const goal = "Summarise README.md and list its links"

	out := p.must(0, "task", "run", goal, "--dir", "notes", "--allow", allow)
	for _, want := range []string{"Boats", "https://example.com/manual", "plan.md"} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer does not have %q:\n%s", want, out)
		}
	}
	p.must(0, "permission", "reset", "files", "--yes") // what installing it granted
	// Without the permission it fails, and says what would allow it.
	code, out, errs := p.run("task", "run", goal, "--dir", "notes")
	if code == 0 || !strings.Contains(errs, "skillet permission grant files") {
		t.Errorf("not allowed: exit code %d\n%s%s", code, out, errs)
	}
	// At a terminal it asks, and goes on; each thing once, although a call is tried again.
	asked := p.sit("task", "run", goal, "--dir", "notes")
	asked.sees("Allow it once, for this task, for 24 hours, always, or not? [o/t/h/a/N] ")
	asked.types("n\n")
	if got := asked.ends(code); strings.Count(got, "Allow it once") != 1 {
		t.Errorf("refused, and shown is\n%s", got)
	}
	asked = p.sit("task", "run", goal, "--dir", "notes")
	asked.sees("[o/t/h/a/N] ")
	asked.types(ctrlC)
	asked.ends(interrupted)
	asked = p.sit("task", "run", goal, "--dir", "notes")
	asked.sees("[o/t/h/a/N] ")
	asked.types("t\n")
	if got := asked.ends(0); !strings.Contains(got, "Boats") {
		t.Errorf("allowed for the task, and shown is\n%s", got)
	}
	if got := p.must(0, "permission", "show", "files"); !strings.Contains(got, "is granted: nothing") {
		t.Errorf("after the task, granted is\n%s", got)
	}
	// Each thing is said once: what was denied, and what would allow it.
	for _, said := range []string{"was denied fs.read:", "skillet permission grant files", "[warning]"} {
		if n := strings.Count(errs, said); n > 1 || said == "[warning]" && n > 0 {
			t.Errorf("%q is said %d times:\n%s", said, n, errs)
		}
	}
	// So is what waits, and what it waits for.
	code, _, errs = p.run("task", "run", "Save a summary of README.md to summary.txt", "--dir", "notes", "--allow", allow)
	if code != 6 || strings.Count(errs, "waits for you") != 1 || strings.Count(errs, "files__write_text with") != 1 {
		t.Errorf("waits: exit code %d\n%s", code, errs)
	}
	// The permission reaches no further than the directory of the work.
	code, out, errs = p.run("task", "run", "Summarise ../secret.txt", "--dir", "notes", "--allow", "fs.read:/**")
	if code == 0 || !strings.Contains(out+errs, "whatever was granted") {
		t.Errorf("outside: exit code %d\n%s%s", code, out, errs)
	}
	// As events, one a line, with the run at the end.
	lines := strings.Split(strings.TrimSpace(p.must(0, "task", "run", goal, "--dir", "notes", "--allow", allow, "--json")), "\n")
	var r task.Run
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.State != task.Completed || r.Report == nil {
		t.Errorf("last line: %v %s", err, lines[len(lines)-1])
	}
	if !strings.Contains(lines[0], `"type":"task.created"`) || len(lines) < 8 {
		t.Errorf("%d events, the first is %s", len(lines)-1, lines[0])
	}
	p.approvesWithAllow(filepath.Join(real(t, p.work), "notes"))
}

// approvesWithAllow: who approves a call says with it what is allowed, although a service
// works on what is queued; and the command that had the task wait says how.
func (p *person) approvesWithAllow(notes string) {
	t := p.t
	t.Helper()
	needsSocket(t)
	allow := []string{"--allow", "fs.read:" + notes + "/**", "--allow", "fs.write:" + notes + "/**"}
	end, err := begin(p.command(context.WithoutCancel(t.Context()), "serve", "--listen", "127.0.0.1:0"), p.home)
	if err != nil {
		t.Fatal(err)
	}
	defer end(os.Kill)

	code, _, errs := p.run(append([]string{"task", "run", "Save a summary of README.md to summary.txt", "--dir", "notes"}, allow...)...)
	id := regexp.MustCompile(`then .skillet task approve (\w+) --allow 'fs\.read:` + regexp.QuoteMeta(notes) + `/\*\*' --allow 'fs\.write:.*'. lets it be done`).FindStringSubmatch(errs)
	if code != 6 || id == nil {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	if code, _, errs := p.run("task", "approve", id[1], "--allow", "nothing"); code != 2 || !strings.Contains(errs, "--allow") {
		t.Errorf("what is not a capability: exit code %d, %s", code, errs)
	}
	p.must(0, append([]string{"task", "approve", id[1]}, allow...)...)
	if text := string(read(t, filepath.Join(notes, "summary.txt"))); !strings.Contains(text, "Boats") {
		t.Errorf("it wrote %q", text)
	}
}

func real(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// taskView is what --json prints of a task.
type taskView = work.TaskView

// tenSteps is a provider that plans ten steps that append a line each, three of them
// by an agent, and has that agent call the tool.
type tenSteps struct{ provider.Provider }

const (
	tenModel   = "ten-1"
	appendTool = "files__write_text"
)

var tenProvider = func() { plugins.ServeProvider(tenSteps{}) }

func (tenSteps) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "ten", Version: "1.0.0", Local: true}, nil
}

func (tenSteps) Health(context.Context) error { return nil }

func (tenSteps) Models(context.Context) ([]provider.Model, error) {
	return []provider.Model{{Name: tenModel, Tiers: []string{"fast", "balanced", "smart", "code", "conversation"}, Text: true, Tools: true, JSONSchema: true, ContextTokens: 100_000}}, nil
}

var wantedLine = regexp.MustCompile(`append line (\d+)$`)

func (tenSteps) Generate(_ context.Context, r provider.Request, _ func(provider.Delta) error) (provider.Response, error) {
	answer := provider.Response{Model: tenModel, Finish: provider.FinishStop, Usage: provider.Usage{InputTokens: 10, OutputTokens: 10}, Text: "done"}
	goal, called := "", false
	for _, m := range r.Messages {
		if m.Role == provider.RoleUser {
			goal = m.Text
		}
		called = called || m.Role == provider.RoleTool
	}
	line := wantedLine.FindStringSubmatch(strings.TrimSpace(goal))
	switch {
	case r.Schema != nil && strings.Contains(goal, mixedGoal):
		answer.Text = mixedPlan()
	case r.Schema != nil:
		answer.Text = tenPlan()
	case line != nil && !called && len(r.Tools) > 0:
		answer.Text, answer.Finish = "", provider.FinishTools
		answer.Calls = []provider.ToolCall{{ID: "call-" + line[1], Name: appendTool, Input: appended(line[1])}}
	}
	return answer, nil
}

// ask writes settings by which a provider of these tests is asked, and others, and
// returns where its program is.
func (p *person) ask(name, others string) (program string) {
	p.t.Helper()
	program = filepath.Join(real(p.t, p.work), name)
	copyFile(p.t, p.program, program)
	sum := sha256.Sum256(read(p.t, program))
	p.write("home/config.yaml", fmt.Appendf(nil, "%sproviders:\n  %s:\n    kind: plugin\n    program: %s\n    digest: sha256:%s\n", others, name, program, hex.EncodeToString(sum[:])))
	return program
}

// paid is a provider elsewhere whose models cost something.
type paid struct{ tenSteps }

var paidProvider = func() { plugins.ServeProvider(paid{}) }

func (paid) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "paid", Version: "1.0.0"}, nil
}

func (p paid) Models(ctx context.Context) ([]provider.Model, error) {
	all, err := p.tenSteps.Models(ctx)
	for i := range all {
		all[i].InputUSD, all[i].OutputUSD = 100, 100
	}
	return all, err
}

func appended(n string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"path":"out.txt","text":"%s\n","mode":"append"}`, n))
}

func tenPlan() string {
	var steps []string
	for n := range 10 {
		step := fmt.Sprintf(`"tool":%q,"input":%s`, appendTool, appended(strconv.Itoa(n)))
		if n%3 == 2 {
			step = fmt.Sprintf(`"agent":"general","goal":"append line %d"`, n)
		}
		after := ""
		if n > 0 {
			after = fmt.Sprintf(`,"after":["s%d"]`, n-1)
		}
		steps = append(steps, fmt.Sprintf(`{"id":"s%d","title":"line %d",%s%s}`, n, n, step, after))
	}
	return `{"steps":[` + strings.Join(steps, ",") + `]}`
}

const (
	mixedGoal   = "Write five lines into out.txt and look into in.txt meanwhile"
	mixedWrites = 5
)

// mixedPlan writes and reads, with nothing said of what comes after what: reads may run
// side by side, and writes keep their order.
func mixedPlan() string {
	var steps []string
	for n := range mixedWrites {
		steps = append(steps, fmt.Sprintf(`{"id":"r%d","title":"look","tool":"files__read_text","input":{"path":"in.txt"}}`, n),
			fmt.Sprintf(`{"id":"w%d","title":"line %d","tool":%q,"input":%s}`, n, n, appendTool, appended(strconv.Itoa(n))))
	}
	return `{"steps":[` + strings.Join(steps, ",") + `]}`
}

// TestTaskKilled kills the host, an agent or the provider somewhere in a task of ten
// steps, each of which appends a line, and goes on with it: it always ends, no line is
// there twice, a step that counts as done has its line, and no process is left.
func TestTaskKilled(t *testing.T) {
	long(t, "it kills a task over and over")
	if runtime.GOOS != "linux" || underRace {
		t.Skip("it looks for processes in /proc")
	}
	p := newPerson(t)
	borrow(t, p.home)
	p.must(0, "install", "--yes", p.build("files"))
	ten := p.ask("ten", "tasks:\n  approve_risk: never\n  takeover_seconds: 1\n")

	began := time.Now()
	full := p.tenSteps("out-whole", 0, "")
	took := time.Since(began)
	if got := linesOf(t, p, "out-whole"); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) || full.State != task.Completed {
		t.Fatalf("without a kill: %s, lines %q", full.State, got)
	}
	victims := []string{"host", reexec.Plugin.Word + " builtin", ten}
	n := rounds(3, 200)
	outcomes := map[string]int{}
	for i := range n {
		victim := victims[i%len(victims)]
		dir := fmt.Sprintf("out-%d", i)
		r := p.tenSteps(dir, rand.N(took), victim)
		got := linesOf(t, p, dir)
		if twice := slices.Compact(slices.Sorted(slices.Values(got))); len(twice) != len(got) {
			t.Fatalf("%s killed: a line is there twice: %q", victim, got)
		}
		for _, s := range r.Steps {
			line, planned := strings.CutPrefix(s.ID, "s") // others answer, or try in another way
			// An agent may say that it is done although the result of its call was that
			// nobody knows; then that is counted.
			told := s.Agent != "" && r.Telemetry.Uncertain > 0
			if planned && s.State == task.StepDone && !told && !slices.Contains(got, line) {
				t.Fatalf("%s killed: the step %s counts as done, and its line is missing: %q", victim, s.ID, got)
			}
		}
		outcomes[fmt.Sprintf("%s: %s", filepath.Base(victim), r.State)]++
	}
	t.Logf("proof: tasks of ten steps killed %d times: %v; no step with an effect ran twice, none that was acknowledged is lost, no process is left", n, outcomes)
}

// tenSteps runs a task in a directory, kills the victim after a while, and goes on
// with the task until it has ended.
func (p *person) tenSteps(dir string, after time.Duration, victim string) task.Run {
	p.t.Helper()
	id := p.detached("Write ten lines into out.txt, step by step, as a plan", dir)
	for try := range 20 {
		now := p.resume(id, dir, func(host *os.Process) {
			if try == 0 && victim != "" {
				time.Sleep(after)
				killProcess(host, victim)
			}
		})
		if now.run.State.Final() {
			return now.run
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("the task %s does not end after a kill of %s:\n%s", id, victim, p.must(0, "task", "show", id))
	return task.Run{}
}

// detached is a task in a directory, with an empty file to write to, that nobody works on.
func (p *person) detached(goal, dir string) (id string) {
	p.t.Helper()
	p.write(filepath.Join(dir, "out.txt"), nil)
	return strings.TrimSpace(p.must(0, "task", "run", goal, "--plan", "always", "--dir", dir, "--detach"))
}

// resumed is what became of a task that a host went on with.
type resumed struct {
	run    task.Run // as it is recorded
	killed bool     // the host did not end by itself
	stderr string
}

// resume goes on with a task, in which its directory may be read and written, until the
// host has ended, by itself or by what is done to it meanwhile.
func (p *person) resume(id, dir string, meanwhile func(host *os.Process)) resumed {
	p.t.Helper()
	work := filepath.Join(real(p.t, p.work), dir)
	said, err := os.Create(filepath.Join(p.work, "stderr")) // no pipe, which a process that is left would hold
	if err != nil {
		p.t.Fatal(err)
	}
	defer said.Close()
	cmd := p.command(p.t.Context(), "task", "resume", id, "--allow", "fs.read:"+work+"/**", "--allow", "fs.write:"+work+"/**", "--json")
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	below := watchKin(cmd.Process.Pid)
	go meanwhile(cmd.Process)
	_ = cmd.Wait() // how it ended is in the record
	if left := below.left(); len(left) > 0 {
		p.t.Fatalf("processes are left: %q", left)
	}
	var shown taskView
	if err := json.Unmarshal([]byte(p.must(0, "task", "show", id, "--json")), &shown); err != nil {
		p.t.Fatal(err)
	}
	return resumed{shown.Run, !cmd.ProcessState.Exited(), string(read(p.t, said.Name()))}
}

// TestParallelTaskKilled kills the host of tasks whose steps read side by side and write
// one after the other, each in a home of its own: they end, no line is there twice or
// before its turn, and at most one write for each kill is uncertain, which had begun. The
// proof does so without compiled code and with the processors busy.
func TestParallelTaskKilled(t *testing.T) {
	long(t, "it kills a task over and over")
	if runtime.GOOS != "linux" || underRace {
		t.Skip("it looks for processes in /proc")
	}
	p := newPerson(t)
	borrow(t, p.home)
	p.must(0, "install", "--yes", p.build("files"))
	p.ask("ten", "tasks:\n  approve_risk: never\n  takeover_seconds: 1\n")
	if os.Getenv("SKILLET_PROVE") == "1" {
		if err := os.RemoveAll(filepath.Join(p.home, "cache")); err != nil {
			t.Fatal(err)
		}
		defer load()()
	}
	template := filepath.Join(p.work, "template")
	if err := os.Rename(p.home, template); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if r, _ := p.mixedTask(template, "whole"); r.State != task.Completed || len(linesOf(t, p, "whole")) != mixedWrites {
		t.Fatalf("without a kill: %s, lines %q", r.State, linesOf(t, p, "whole"))
	}
	took := time.Since(began)
	n, kills, uncertain, i := rounds(2, 200), 0, 0, 0
	outcomes := map[task.State]int{}
	for ; kills < n; i++ {
		dir := fmt.Sprint("killed-", i)
		moments := []func(){p.somewhere(dir, took, i), p.somewhere(dir, took, i+1)}
		r, killed := p.mixedTask(template, dir, moments[:min(len(moments), n-kills)]...)
		kills, uncertain = kills+killed, uncertain+r.Telemetry.Uncertain
		outcomes[r.State]++
		got := linesOf(t, p, dir)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("lines are there twice, or before their turn: %q", got)
		}
		for _, s := range r.Steps {
			if line, write := strings.CutPrefix(s.ID, "w"); write && s.State == task.StepDone && !slices.Contains(got, line) {
				t.Errorf("the step %s counts as done, and its line is missing: %q", s.ID, got)
			}
		}
	}
	t.Logf("proof: the hosts of %d tasks with steps side by side killed %d times: %v, %d writes uncertain; none was made twice or before its turn, and none is uncertain that had not begun", i, kills, outcomes, uncertain)
}

// somewhere waits for a moment to kill a host in: any at all, or, every other time, one
// near a write.
func (p *person) somewhere(dir string, took time.Duration, i int) func() {
	after, written := rand.N(took), rand.N(mixedWrites)
	if i%2 == 0 {
		return func() { time.Sleep(after) }
	}
	return func() {
		for end := time.Now().Add(2 * took); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if b, _ := os.ReadFile(filepath.Join(p.work, dir, "out.txt")); bytes.Count(b, []byte("\n")) >= written {
				break
			}
		}
		time.Sleep(after / 20)
	}
}

// mixedTask runs a task in a copy of a home, kills its host at the moments, one after the
// other, and goes on with it until it has ended. Killed is how often the host had not
// ended by itself.
func (p *person) mixedTask(template, dir string, moments ...func()) (r task.Run, killed int) {
	p.t.Helper()
	p.at(template)
	p.write(filepath.Join(dir, "in.txt"), []byte("something\n"))
	id := p.detached(mixedGoal, dir)
	for try := range 20 {
		before := r.Steps
		now := p.resume(id, dir, func(host *os.Process) {
			if try < len(moments) {
				moments[try]()
				_ = host.Kill() // unless it has ended
			}
		})
		r = now.run
		if strings.Contains(now.stderr, "panic") || strings.Contains(now.stderr, "goroutine ") {
			p.t.Errorf("the host of %s panicked:\n%s", dir, now.stderr)
		}
		for _, s := range r.Steps {
			if s.State == task.StepUncertain && !begun(before, s.ID) {
				p.t.Errorf("%s: the step %s is uncertain, and had not begun when the host was killed", dir, s.ID)
			}
		}
		if now.killed {
			killed++
		}
		if r.Telemetry.Uncertain > killed {
			p.t.Errorf("%s: %d calls are uncertain after %d kills", dir, r.Telemetry.Uncertain, killed)
		}
		if r.State.Final() {
			return r, killed
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("the task %s does not end:\n%s", id, p.must(0, "task", "show", id))
	return r, killed
}

// begun reports whether a step had begun when a task was recorded.
func begun(steps []task.Step, id string) bool {
	i := slices.IndexFunc(steps, func(s task.Step) bool { return s.ID == id })
	return i >= 0 && steps[i].State != task.StepPending
}

// load keeps all processors busy until it is called off.
func load() (off func()) {
	ctx, off := context.WithCancel(context.Background())
	for range runtime.NumCPU() {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	return off
}

// A process is one of a host's, by its number and when it was started.
type process struct {
	pid   int
	start string
}

// descendants are the processes below another.
func descendants(of int) []process {
	parents, starts := map[int]int{}, map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ") // proc(5): the name is in parentheses
		if f := strings.Fields(rest); len(f) > 19 {
			parents[pid], _ = strconv.Atoi(f[1])
			starts[pid] = f[19]
		}
	}
	var found []process
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == of {
				found = append(found, process{pid, starts[pid]})
				break
			}
		}
	}
	return found
}

func (p process) alive() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	return err == nil && len(f) > 19 && f[19] == p.start && f[0] != "Z"
}

func (p process) line() string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	return strings.ReplaceAll(string(line), "\x00", " ")
}

// A kin is what a host had started, as it was seen.
type kin struct {
	seen map[process]bool
	done chan struct{}
	over chan struct{}
}

// watchKin looks at the processes of a host until stop is called.
func watchKin(host int) *kin {
	k := &kin{map[process]bool{}, make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(k.over)
		for {
			for _, d := range descendants(host) {
				k.seen[d] = true
			}
			select {
			case <-k.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return k
}

// left are the processes that are still there a while after their host has ended.
func (k *kin) left() []string {
	close(k.done)
	<-k.over
	var alive []string
	for range 100 {
		alive = alive[:0]
		for p := range k.seen {
			if p.alive() {
				alive = append(alive, p.line())
			}
		}
		if len(alive) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return alive
}

// killProcess kills a host, or a plugin of it by its command line.
func killProcess(host *os.Process, victim string) {
	below := descendants(host.Pid)
	if victim == "host" {
		_ = host.Kill()
		return
	}
	for _, p := range below {
		if strings.Contains(p.line(), victim) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

func linesOf(t *testing.T, p *person, dir string) []string {
	t.Helper()
	return strings.Fields(string(read(t, filepath.Join(p.work, dir, "out.txt"))))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, read(t, from), 0o700); err != nil {
		t.Fatal(err)
	}
}
