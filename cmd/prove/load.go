package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A demand is how much is asked of the service.
type demand struct {
	tasks, clients, rate int
	time                 time.Duration
}

// load asks a service for tasks and calls while many follow its events, for minutes. Nothing may be
// lost, and memory may not grow.
func load(ctx context.Context, s *stage) (err error) {
	d := demand{tasks: 1000, clients: 50, rate: 200, time: 10 * time.Minute}
	if s.short {
		d.tasks, d.time = 50, 10*time.Second
	}
	if err := errors.Join(s.install(ctx, "echo", "1.0.0", 1, "--yes"), s.work(ctx)); err != nil {
		return err
	}
	tokens, err := s.tokens(ctx, "caller", "operator")
	if err != nil {
		return err
	}
	v, err := s.serve(ctx, "--set", "tasks.queue_limit=2000", "--set", "budget.day.tokens=0", "--set", "budget.month.tokens=0")
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			err = errors.Join(err, v.stop())
		}
	}()
	runs, events, err := s.steady(ctx, v, d, tokens)
	if err != nil {
		return err
	}
	ended = true
	if err := v.stop(); err != nil {
		return err
	}
	if err := errors.Join(s.onRecord(ctx, runs), s.kept(ctx, events)); err != nil {
		return err
	}
	return s.overload(ctx, tokens)
}

// tokens makes a token of each of some roles.
func (s *stage) tokens(ctx context.Context, roles ...string) (map[string]string, error) {
	all := map[string]string{}
	var err error
	for _, role := range roles {
		if all[role], err = s.token(ctx, role, role); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// steady makes the demand, and returns the runs of the calls, and the numbers of the events.
func (s *stage) steady(ctx context.Context, v *service, d demand, tokens map[string]string) (runs []string, events []uint64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := followAll(ctx, v, d.clients, tokens["operator"])
	begin := time.Now()
	for n := range d.tasks {
		if _, err := v.ask(ctx, http.DefaultClient, tokens["caller"], "POST", "/v1/tasks", fmt.Sprintf(`{"goal":"count the words of \"this is text number %d\"","tools":["echo"]}`, n)); err != nil {
			return nil, nil, fmt.Errorf("task %d: %w", n, err)
		}
	}
	s.say("load: %d tasks handed in, in %s; %d clients follow the events, half of them with a new connection every few seconds", d.tasks, time.Since(begin).Round(time.Millisecond), d.clients)
	memory := v.sampled(ctx)
	calls := openLoop(ctx, v, http.DefaultTransport, tokens["caller"], d.rate, d.time, echoing)
	usage := memory()
	s.say("load: %s at %d calls a second: %s", d.time, d.rate, calls)
	s.say("load: resident memory, MiB, in tenths of the time: %v", usage)
	if calls.failed > 0 {
		return nil, nil, fmt.Errorf("%d calls failed: %w", calls.failed, calls.why)
	}
	if calls.shed > 0 && !s.short { // a machine that is busy with something else may be too slow
		return nil, nil, fmt.Errorf("%d calls were turned away", calls.shed)
	}
	if n := len(usage); !s.short && usage[n-1] > usage[n/3]*5/4+16 {
		return nil, nil, fmt.Errorf("memory grows: %v MiB", usage)
	}
	if err := v.untilDone(ctx, tokens["operator"]); err != nil {
		return nil, nil, err
	}
	events, err = all.check(ctx, s, d, cancel)
	return calls.runs, events, err
}

// echoing is a call of the skill echo.
func echoing(n int) (path, body string) {
	return "/v1/skills/echo/tools/echo/invoke", fmt.Sprintf(`{"input":{"call":%d}}`, n)
}

// untilDone waits until no task waits or is worked on.
func (v *service) untilDone(ctx context.Context, token string) error {
	for {
		left := 0
		for _, state := range []string{"queued", "running"} {
			b, err := v.ask(ctx, http.DefaultClient, token, "GET", "/v1/tasks?limit=1000&state="+state, "")
			if err != nil {
				return err
			}
			var page struct{ Items []json.RawMessage }
			if err := json.Unmarshal(b, &page); err != nil {
				return err
			}
			left += len(page.Items)
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// calls are what came of many calls.
type calls struct {
	mu           sync.Mutex
	runs         []string
	took         []time.Duration // from when each was due
	shed, failed int
	why          error
	span         time.Duration
}

func (c *calls) String() string {
	slices.Sort(c.took)
	return fmt.Sprintf("%d answered (%.0f a second), %d turned away, %d failed; p50 %s, p99 %s, longest %s", len(c.took), c.perSecond(), c.shed, c.failed, c.at(0.5), c.at(0.99), c.at(1))
}

// perSecond is how many were answered.
func (c *calls) perSecond() float64 { return float64(len(c.took)) / c.span.Seconds() }

// at is the time that a part of the calls took at most.
func (c *calls) at(part float64) time.Duration { return quantile(c.took, part) }

// quantile is the time within which a part of those that are given in order ended; 0 for none.
func quantile(took []time.Duration, part float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[min(len(took)-1, int(part*float64(len(took))))].Round(time.Microsecond)
}

// runOf is the run of a call that was answered with b; an error when the tool did not answer.
func runOf(b []byte, err error) (string, error) {
	var got struct {
		OK  bool   `json:"ok"`
		Run string `json:"run_id"`
	}
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err == nil && !got.OK {
		err = fmt.Errorf("the tool did not answer: %.300s", b)
	}
	return got.Run, err
}

// had puts what came of a call with the others.
func (c *calls) had(run string, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refused *refusal
	switch {
	case err == nil:
		c.runs, c.took = append(c.runs, run), append(c.took, took)
	case errors.As(err, &refused) && refused.status == http.StatusTooManyRequests && refused.wait != "":
		c.shed++
	default:
		c.failed++
		c.why = cmp.Or(c.why, err)
	}
}

// openLoop makes calls at a rate, whether or not those before were answered.
func openLoop(ctx context.Context, v *service, through http.RoundTripper, token string, rate int, span time.Duration, what func(int) (path, body string), headers ...string) *calls {
	c := &calls{span: span}
	client := &http.Client{Transport: through, Timeout: time.Minute}
	var running sync.WaitGroup
	begin := time.Now()
	for n := range int(span.Seconds() * float64(rate)) {
		due := begin.Add(time.Duration(n) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			path, body := what(n)
			run, err := runOf(v.ask(ctx, client, token, "POST", path, body, headers...))
			c.had(run, time.Since(due), err)
		})
	}
	running.Wait()
	return c
}

// closedLoop has callers call one time after another.
func closedLoop(ctx context.Context, v *service, through http.RoundTripper, token string, callers int, span time.Duration, what func(int) (path, body string), headers ...string) *calls {
	client := &http.Client{Transport: through, Timeout: time.Minute}
	return loop(ctx, callers, span, func(n int) (string, error) {
		path, body := what(n)
		return runOf(v.ask(ctx, client, token, "POST", path, body, headers...))
	})
}

// loop is closedLoop for any call, which returns its run.
func loop(ctx context.Context, callers int, span time.Duration, call func(n int) (run string, err error)) *calls {
	c := &calls{span: span}
	var running sync.WaitGroup
	end := time.Now().Add(span)
	for caller := range callers {
		running.Go(func() {
			for n := caller; time.Now().Before(end) && ctx.Err() == nil; n += callers {
				begin := time.Now()
				run, err := call(n)
				c.had(run, time.Since(begin), err)
			}
		})
	}
	running.Wait()
	return c
}

// sampled looks at the memory of the service until the returned function is called, which
// returns the mean of each tenth of the time, in MiB.
func (v *service) sampled(ctx context.Context) func() []int {
	ctx, cancel := context.WithCancel(ctx)
	var all []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			all = append(all, v.memory())
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() []int {
		cancel()
		<-done
		var means []int
		for part := range 10 {
			sum, of := 0, all[part*len(all)/10:(part+1)*len(all)/10]
			for _, m := range of {
				sum += m
			}
			means = append(means, sum/max(1, len(of)))
		}
		return means
	}
}

// memory is the resident memory of the service, in MiB; 0 where the system does not say.
func (v *service) memory() int {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(v.cmd.Process.Pid) + "/status")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, _ := strconv.Atoi(f[1])
			return n / 1024
		}
	}
	return 0
}

// followers follow the events of a home.
type followers struct {
	all  []*follower
	done sync.WaitGroup
}

type follower struct {
	last  atomic.Uint64
	seen  []uint64 // the numbers of the events
	types map[string]int
	times int // how often it connected
	err   error
}

// followAll has clients follow the events. Every other one connects again now and then.
func followAll(ctx context.Context, v *service, n int, token string) *followers {
	f := &followers{}
	for i := range n {
		one := &follower{types: map[string]int{}}
		f.all = append(f.all, one)
		f.done.Go(func() {
			for ctx.Err() == nil && one.err == nil {
				span := 24 * time.Hour
				if i%2 == 1 {
					span = time.Second + time.Duration(i)*100*time.Millisecond
				}
				one.follow(ctx, v, token, span)
			}
		})
	}
	return f
}

// follow reads events for a time.
func (f *follower) follow(ctx context.Context, v *service, token string, span time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.address+"/v1/events", nil)
	if err != nil {
		f.err = err
		return
	}
	f.times++
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Last-Event-ID", strconv.FormatUint(f.last.Load(), 10))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			f.err = err
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.err = fmt.Errorf("the events: %s", resp.Status)
		return
	}
	if err := f.read(resp.Body); err != nil && ctx.Err() == nil {
		f.err = err
	}
}

// read reads messages until their end. What was not read to the end of a message is read again.
func (f *follower) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 8<<20)
	var id uint64
	kind := ""
	for lines.Scan() {
		line := lines.Text()
		switch name, value, _ := strings.Cut(line, ": "); {
		case name == "id":
			id, _ = strconv.ParseUint(value, 10, 64)
		case name == "event":
			kind = value
		case line == "" && id > 0:
			if id <= f.last.Load() {
				return fmt.Errorf("event %d after event %d", id, f.last.Load())
			}
			f.seen = append(f.seen, id)
			f.types[kind]++
			f.last.Store(id)
			id = 0
		}
	}
	return lines.Err()
}

// check waits until all have the last event, ends them and compares what they saw, which it returns.
func (f *followers) check(ctx context.Context, s *stage, d demand, cancel func()) ([]uint64, error) {
	for settled := 0; settled < 10 && ctx.Err() == nil; settled++ {
		time.Sleep(200 * time.Millisecond)
		first := f.all[0].last.Load()
		if slices.ContainsFunc(f.all, func(o *follower) bool { return o.last.Load() != first }) {
			settled = 0
		}
	}
	cancel()
	f.done.Wait()
	first, times := f.all[0], 0
	for i, one := range f.all {
		times += one.times
		if one.err != nil || !slices.Equal(one.seen, first.seen) {
			return nil, fmt.Errorf("client %d saw %d events, the first one %d: %w", i, len(one.seen), len(first.seen), one.err)
		}
	}
	s.say("load: each of %d clients, which connected %d times in all, saw all %d events, each once and in order: %d tasks created, %d completed, %d failed",
		len(f.all), times, len(first.seen), first.types["task.created"], first.types["task.completed"], first.types["task.failed"])
	if first.types["task.created"] != d.tasks || first.types["task.completed"] != d.tasks {
		return nil, fmt.Errorf("of %d tasks: %v", d.tasks, first.types)
	}
	return first.seen, nil
}

// kept checks that the events that somebody saw are those that the home has. Numbers have gaps.
func (s *stage) kept(ctx context.Context, seen []uint64) error {
	text, err := s.skillet(ctx, "events", "--json")
	if err != nil {
		return err
	}
	var all []uint64
	for lines := json.NewDecoder(strings.NewReader(text)); ; {
		var e struct{ Seq uint64 }
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if e.Seq <= seen[len(seen)-1] { // that it ended, nobody could see
			all = append(all, e.Seq)
		}
	}
	if len(all) == 0 || len(all) > len(seen) || !slices.Equal(all, seen[len(seen)-len(all):]) {
		return fmt.Errorf("the home has %d events, of %d that were seen", len(all), len(seen))
	}
	s.say("load: these are the %d events that the home has", len(all))
	return nil
}

// recorded has how often each run is in the audit log.
func (s *stage) recorded(ctx context.Context) (map[string]int, error) {
	text, err := s.skillet(ctx, "audit", "--limit", "10000000", "--json")
	if err != nil {
		return nil, err
	}
	var log []struct {
		Kind string
		Run  struct {
			ID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, e := range log {
		if e.Kind == "run" {
			seen[e.Run.ID]++
		}
	}
	return seen, nil
}

// onRecord checks that each run is in the audit log once, and that the log verifies.
func (s *stage) onRecord(ctx context.Context, runs []string) error {
	seen, err := s.recorded(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if seen[run] != 1 {
			return fmt.Errorf("run %s is on record %d times", run, seen[run])
		}
	}
	if _, err := s.skillet(ctx, "audit", "verify"); err != nil {
		return err
	}
	s.say("load: %d calls answered, each on record once; the log verifies", len(runs))
	return nil
}

// work installs a skill whose calls take some milliseconds.
func (s *stage) work(ctx context.Context) error {
	wasm, err := os.ReadFile(filepath.Join(s.bench, "compute-rust.wasm"))
	if err != nil {
		return err
	}
	at := filepath.Join(s.dir, "work")
	manifest := `{"name":"work","version":"1.0.0","description":"computes","type":"code_inline","command":"main.wasm","tools":[{"name":"spin","description":"turns so often"}]}`
	if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "main.wasm"), wasm, 0o644), os.WriteFile(filepath.Join(at, "skill.json"), []byte(manifest), 0o644)); err != nil {
		return err
	}
	_, err = s.skillet(ctx, "install", "./work", "--allow-unsigned", "--yes")
	return err
}

// spinning is a call that computes for some milliseconds.
func spinning(int) (path, body string) {
	return "/v1/skills/work/tools/spin/invoke", `{"input":4000000}`
}

// overload offers five times what the service can do, most of it of low priority. Those calls are
// turned away, and the others take no longer than twice what they take when the service is
// full and no more is asked.
func (s *stage) overload(ctx context.Context, tokens map[string]string) (err error) {
	const places = 16 // of which calls may take 14
	span := 30 * time.Second
	if s.short {
		span = 3 * time.Second
	}
	v, err := s.serve(ctx, "--no-tasks", "--set", "service.in_flight="+strconv.Itoa(places), "--set", "service.token_rate=100000", "--set", "service.rate=100000")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	through := &http.Transport{MaxIdleConnsPerHost: 512}
	defer through.CloseIdleConnections()
	const callers = places * 7 / 8
	closedLoop(ctx, v, through, tokens["caller"], callers, span/10, spinning) // to warm up
	full := closedLoop(ctx, v, through, tokens["caller"], callers, span, spinning)
	capacity := float64(len(full.took)) / span.Seconds()
	s.say("overload: with %d places, and as many callers as calls may have of them: %s", places, full)
	var more, less *calls
	var both sync.WaitGroup
	both.Go(func() {
		more = closedLoop(ctx, v, through, tokens["caller"], callers, span, spinning)
	})
	both.Go(func() {
		less = openLoop(ctx, v, through, tokens["operator"], int(4*capacity), span, spinning, "Priority", "u=6")
	})
	both.Wait()
	s.say("overload: the same callers, while four times as many calls of low priority come in (%.0f a second):\n  usual: %s\n  low: %s", 4*capacity, more, less)
	switch {
	case more.failed+less.failed > 0:
		return fmt.Errorf("calls failed: %w", cmp.Or(more.why, less.why))
	case less.shed < len(less.took) || len(more.took) == 0:
		return errors.New("calls of low priority were not turned away first")
	case !s.short && more.at(0.99) > 2*full.at(0.99):
		return fmt.Errorf("p99 is %s, without overload %s", more.at(0.99), full.at(0.99))
	}
	return nil
}
