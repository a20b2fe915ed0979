package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
	"github.com/skillet-run/skillet/host/base/task"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
)

// victimEnv names the directory in which this program, started again, works on the
// task of victimTask until it has ended or is killed.
const (
	victimEnv  = "SKILLET_ORCHESTRATOR_VICTIM"
	victimTask = "SKILLET_ORCHESTRATOR_TASK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		if err := workTask(dir, os.Getenv(victimTask)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// effects are the numbers that a ten-step task sends: each may be sent once.
const effects = 8

// killPorts are the ports of a task that is killed: tools whose effects are lines of a file,
// and agents that ask the same each time.
type killPorts struct{ dir string }

func (f killPorts) List(context.Context, task.Task) ([]Tool, error) {
	return []Tool{{Skill: "lab", Tool: "look", ReadOnly: true}, {Skill: "lab", Tool: "send"}, {Skill: "lab", Tool: "put", Idempotent: true}}, nil
}

// Call appends the call to two files, which are synced, between short pauses: to one when
// it is loaded, and to the other as its effect.
func (f killPorts) Call(_ context.Context, c task.ToolCall, _ *budget.Lease, begins func() error) task.Result {
	pause := func() { time.Sleep(rand.N(6 * time.Millisecond)) }
	pause()
	defer pause()
	for _, do := range []func() error{
		func() error { return f.write(c, ".loaded") }, begins, func() error { pause(); return f.write(c, "."+c.Tool) },
	} {
		if err := do(); err != nil {
			return failing(fault.KindInternal, err.Error())
		}
	}
	return ok(string(c.Args))
}

func (f killPorts) write(c task.ToolCall, end string) error {
	file, err := os.OpenFile(filepath.Join(f.dir, c.Task+end), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s\n", c.Args, c.Key)
	return errors.Join(err, file.Sync(), file.Close())
}

func (f killPorts) Definitions(context.Context) ([]Definition, error) {
	var all []Definition
	for _, name := range []string{"general", "planner"} {
		all = append(all, Definition{AnyTool: true, Definition: agentdef.Definition{Name: name, Tier: agentdef.TierFast, SystemPrompt: "p", MaxIterations: 20}})
	}
	return all, nil
}

func (f killPorts) Agent(context.Context, string) (agent.Agent, error) {
	return script{run: sendAll, plan: func(context.Context, agent.Task, agent.Host) (agent.Plan, error) { return tenSteps(), nil }}, nil
}

func (f killPorts) Generate(context.Context, llm.Ask) (llm.Answer, error) {
	time.Sleep(rand.N(4 * time.Millisecond))
	return said("go on"), nil
}

// tenSteps is a plan whose steps with an effect wait for others, and for nobody.
func tenSteps() agent.Plan {
	step := func(id, tool string, n int, after ...string) agent.Step {
		return agent.Step{ID: id, Title: id, Tool: "lab__" + tool, Input: fmt.Appendf(nil, `{"n":%d}`, n), After: after}
	}
	return agent.Plan{Steps: []agent.Step{
		step("a", "look", 100), step("b", "send", 0), step("c", "send", 1, "a"), step("d", "put", 101), step("e", "send", 2, "b", "c"),
		step("f", "look", 102, "e"), step("g", "send", 3, "d"), step("h", "send", 4, "f"), step("i", "put", 103, "h"),
		{ID: "j", Title: "the rest", Agent: "general", Goal: "send the rest", After: []string{"g", "i"}},
	}}
}

// sendAll thinks and sends every number that the goal asks for: in the last step of the
// plan the rest, in another attempt all of them.
func sendAll(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	first := 0
	if t.Goal == "send the rest" {
		first = 5
	}
	unsure := 0
	for n := first; n < effects; n++ {
		if _, err := h.Think(ctx, agent.Thought{Purpose: strconv.Itoa(n)}); err != nil {
			return agent.Report{}, err
		}
		res, err := h.Call(ctx, agent.Call{Tool: "lab__send", Input: fmt.Appendf(nil, `{"n":%d}`, n)})
		if err != nil {
			return agent.Report{}, err
		}
		if !res.OK {
			unsure++
		}
	}
	return agent.Report{Done: true, Answer: fmt.Sprintf("%d unsure", unsure), Confidence: 1}, nil
}

// workTask submits the task unless it is there, says so in a file, and works on it.
func workTask(dir, id string) error {
	log := hclog.NewNullLogger()
	s, err := badgerstore.OpenShared(log, filepath.Join(dir, "store"), badgerstore.Options{FreeBytes: -1, Linger: time.Minute})
	if err != nil {
		return err
	}
	f := killPorts{dir}
	bus := event.NewBus(log, s)
	o := New(log, s, bus, Ports{Models: f, Tools: f, Agents: f, Budget: budget.Open(log, s.KV(), bus, budget.Settings{})}, Settings{Lease: 250 * time.Millisecond})
	ctx := context.Background()
	_, notAcknowledged := os.Stat(filepath.Join(dir, id+".acknowledged"))
	_, err = o.Submit(ctx, task.Task{ID: id, Goal: "send all", Owner: "human:ada", Planning: task.PlanAlways})
	switch {
	case err == nil && notAcknowledged == nil:
		return errors.New("the task was acknowledged, and is lost")
	case err == nil:
		err = os.WriteFile(filepath.Join(dir, id+".acknowledged"), nil, 0o600)
	}
	if err != nil && fault.AsError(err).Kind != fault.KindConflict {
		return err
	}
	r, err := o.Get(ctx, id)
	if err == nil && !r.State.Final() { // it was killed after the end
		r, err = o.Run(ctx, id)
	}
	if err == nil && !r.State.Final() {
		err = fmt.Errorf("the task is %s", r.State)
	}
	if err == nil || r.State.Final() {
		err = errors.Join(os.WriteFile(filepath.Join(dir, id+".ended"), []byte(r.State), 0o600), s.Close())
	}
	return err
}

// A task whose process is killed at random points, again and again, ends; nothing with
// an effect is done twice; what nobody knows of is said; and a task that was
// acknowledged is there.
func TestKilled(t *testing.T) {
	kills := 8
	if os.Getenv("SKILLET_PROVE") != "" {
		kills = 200
	}
	dir := t.TempDir()
	var killed, tasks, uncertain, recovered int
	for killed < kills {
		id := fmt.Sprintf("task%d", tasks)
		tasks++
		for try := 0; ; try++ {
			if try > 100 {
				t.Fatal("the task does not end")
			}
			died := killSoon(t, dir, id, killed < kills)
			if died {
				killed++
			}
			if _, err := os.Stat(filepath.Join(dir, id+".ended")); err == nil {
				break
			}
		}
		u, rec := checkEnded(t, dir, id)
		uncertain += u
		recovered += rec
	}
	if !t.Failed() {
		t.Logf("proof: %d kills in %d tasks: none lost, %d calls uncertain, %d ways of recovery, nothing done twice", killed, tasks, uncertain, recovered)
	}
}

// killSoon starts the victim, and kills it after a while unless it ends before.
func killSoon(t *testing.T, dir, id string, kill bool) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+dir, victimTask+"="+id)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !kill {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		return false
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		return false
	case <-time.After(100*time.Millisecond + rand.N(500*time.Millisecond)):
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-ended
	return true
}

// checkEnded looks at what a task that has ended left.
func checkEnded(t *testing.T, dir, id string) (uncertain, recovered int) {
	t.Helper()
	s, err := badgerstore.Open(nil, filepath.Join(dir, "store"), badgerstore.Options{FreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := New(hclog.NewNullLogger(), s, event.NewBus(hclog.NewNullLogger(), s), Ports{}, Settings{})
	r, err := o.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("an acknowledged task is lost: %v", err)
	}
	if !r.State.Final() || r.Report == nil || r.State == task.Failed {
		text, _ := json.MarshalIndent(r, "", " ")
		t.Fatalf("%s is %s: %s", id, r.State, text)
	}
	sent, err := os.ReadFile(filepath.Join(dir, id+".send"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers, keys []string
	for l := range strings.Lines(string(sent)) {
		args, key, _ := strings.Cut(strings.TrimSpace(l), " ")
		if slices.Contains(numbers, args) || slices.Contains(keys, key) {
			t.Errorf("%s: %s was sent twice:\n%s", id, args, sent)
		}
		numbers, keys = append(numbers, args), append(keys, key)
	}
	uncertain = r.Report.Telemetry.Uncertain
	checkUncertain(t, o, dir, id)
	if len(numbers) > effects || len(numbers)+uncertain < effects {
		t.Errorf("%s: %d of %d were sent, and %d are uncertain:\n%s", id, len(numbers), effects, uncertain, sent)
	}
	if uncertain > 0 && !strings.Contains(strings.Join(r.Report.NextSteps, " "), "effect") {
		t.Errorf("%s: the report does not say what is uncertain: %v", id, r.Report.NextSteps)
	}
	return uncertain, len(r.Recovery)
}

// checkUncertain looks whether everything of which nobody knows had been loaded at least:
// what was killed before has not begun.
func checkUncertain(t *testing.T, o *Orchestrator, dir, id string) {
	t.Helper()
	loaded, err := os.ReadFile(filepath.Join(dir, id+".loaded"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := o.transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	log.each(func(k exchange) {
		if k.Uncertain && k.Reused == "" && !strings.Contains(string(loaded), " "+id+"/"+k.position()+"\n") {
			t.Errorf("%s: nobody knows whether %s happened, which had not begun", id, k.position())
		}
	})
}

// A call that is given up while its skill is loaded has not begun: it is made when the
// task goes on, and nothing is uncertain.
func TestGivenUpWhileLoading(t *testing.T) {
	for _, name := range []string{"interrupted", "paused"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil, Settings{Grace: time.Millisecond})
			loading := make(chan struct{})
			var once sync.Once
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var id string
			l.load = func(ctx context.Context) {
				once.Do(func() {
					if name == "paused" {
						if _, err := l.Pause(context.Background(), id, "human:ada"); err != nil {
							t.Error(err)
						}
					} else {
						stop()
					}
					close(loading)
					select { // as a module that is compiled
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond): // a pause lets calls go on
					}
				})
			}
			l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				_, err := call(h, "lab__send", `{}`)
				return agent.Report{Done: err == nil, Answer: "sent", Confidence: 1}, err
			}})
			id = l.submit(nil)
			if r, err := l.Run(ctx, id); err != nil || r.State.Final() {
				t.Fatalf("%+v, %v", r, err)
			}
			<-loading
			if name == "paused" {
				if _, err := l.Resume(t.Context(), id, "human:ada"); err != nil {
					t.Fatal(err)
				}
			}
			r := l.run(id)
			wantState(t, r, task.Completed)
			if got := l.called(); len(got) != 1 || r.Telemetry.Uncertain != 0 {
				t.Errorf("called %v, %d uncertain", got, r.Telemetry.Uncertain)
			}
		})
	}
}

// Two processes never work on one task, and one that lost it writes nothing more.
func TestOneWorkerAtATime(t *testing.T) {
	l := newLab(t, nil, Settings{})
	begun, release := make(chan struct{}), make(chan struct{})
	l.agent("general", script{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		close(begun)
		<-release
		_, err := call(h, "lab__send", `{}`)
		return agent.Report{Done: err == nil, Confidence: 1}, err
	}})
	id := l.submit(nil)
	ended := make(chan error)
	go func() {
		_, err := l.Run(context.Background(), id)
		ended <- err
	}()
	<-begun
	if _, err := l.Run(t.Context(), id); fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("two work on it: %v", err)
	}
	if p, err := l.Pending(t.Context()); err != nil || len(p) != 0 {
		t.Errorf("%v %v", p, err)
	}
	// Another process takes it over, as if this one had been away for too long.
	r, revision, _, err := read[task.Run](t.Context(), l.kv, runKey+id)
	if err != nil {
		t.Fatal(err)
	}
	r.Fence += 1000
	if err := write(t.Context(), l.kv, runKey+id, r, revision); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	if err := <-ended; fault.AsError(err).Kind != fault.KindConflict {
		t.Errorf("it was lost: %v", err)
	}
	if now, err := l.Get(t.Context(), id); err != nil || now.State != task.Running || now.Fence != r.Fence || len(l.called()) != 0 {
		t.Errorf("%+v, %v, called %v", now, err, l.called())
	}
}
