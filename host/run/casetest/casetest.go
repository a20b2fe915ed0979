// Package casetest runs the test cases of a skill, see package testcase.
//
// Each case is one call through the runner, by which every other call goes: the same
// checks, limits and policies. What stands behind its grants is a stage and nothing
// else: a workspace of its own that is deleted, a store in memory, made-up secrets,
// mocks in place of the network and of other skills and models, and a clock and
// randomness that are the same each time. No grant that a case writes down reaches a
// file, a server, a value or a secret of the machine, so cases of strangers can be run
// without asking anybody.
//
// The package decides about no installation and prints nothing: it returns a [Report].
package casetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies"
)

// A Tester runs test cases. It is safe for concurrent use.
type Tester struct {
	runner   *runner.Runner
	policies func() (*policies.Set, error)
}

// New makes a Tester. The runner should run what was never installed in worker
// processes: cases run code that nobody has looked at. They run under the built-in
// policies, so that a case comes to the same on every machine.
func New(r *runner.Runner) *Tester { return &Tester{r, sync.OnceValues(policies.Default)} }

// Options say what is run, and bound it. The zero value runs every case, as many at
// once as there are processors.
type Options struct {
	// Match selects the cases whose "file: name" it matches; nil selects all.
	Match *regexp.Regexp
	// Jobs is how many cases run at once; 0 means one a processor.
	Jobs int
	// MaxCases, MaxTime and MaxCaseTime bound how many cases are run, how long all of
	// them take and how long each takes; 0 means no bound of its own. What was left
	// out is in [Report.Note].
	MaxCases    int
	MaxTime     time.Duration
	MaxCaseTime time.Duration
	// Done is told of each result, in the order of the cases; nil is not told.
	Done func(Result)
}

// Bounds on the test cases of a package.
const (
	maxFile   = 1 << 20   // bytes of a file of cases
	maxFiles  = 4 << 20   // bytes of all of them
	maxParsed = 100_000   // cases of a package
	maxStates = 2_000_000 // of the automata of their regular expressions: nothing more is read then
)

// Cases reads the test cases of a package, in the order of its files. problems are
// the errors of files that cannot be read; the cases of the others are returned all
// the same.
func Cases(p *bundle.Package) (cases []testcase.Case, problems []error) {
	var total int64
	states := 0
	for _, f := range p.Files() {
		if !testcase.IsFile(f.Path) {
			continue
		}
		if states > maxStates {
			problems = append(problems, fmt.Errorf("read test cases %s: the regular expressions of those before it are too large together, and what follows is not read", f.Path))
			break
		}
		if total += f.Size; total > maxFiles {
			problems = append(problems, fmt.Errorf("read test cases %s: those of the package are larger than %d bytes together, and what follows is not read", f.Path, maxFiles))
			break
		}
		more, err := read(p, f)
		for i := range more {
			states += more[i].PatternStates()
		}
		if err == nil && len(cases)+len(more) > maxParsed {
			err = fmt.Errorf("read test cases %s: the package has more than %d cases", f.Path, maxParsed)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		cases = append(cases, more...)
	}
	return cases, problems
}

func read(p *bundle.Package, f bundle.File) ([]testcase.Case, error) {
	if f.Size > maxFile {
		return nil, fmt.Errorf("read test cases %s: it is %d bytes long; at most %d are read: put long texts into files of their own, such as tests/data/page.html", f.Path, f.Size, maxFile)
	}
	b, err := p.Read(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read test cases %s: %w", f.Path, err)
	}
	return testcase.Parse(b, f.Path)
}

// Run runs the test cases of a package. The error says that nothing could be run, or
// that ctx ended; what a case came to is in the report.
func (t *Tester) Run(ctx context.Context, p *bundle.Package, o Options) (Report, error) {
	began := time.Now()
	r := newReport(p)
	all, problems := Cases(p)
	for _, err := range problems {
		r.Problems = append(r.Problems, err.Error())
	}
	s := suite{tester: t, pkg: p, options: o, cases: r.choose(all, o)}
	if len(s.cases) == 0 || p.Manifest().Type.IsPlugin() {
		return r, ctx.Err()
	}
	var err error
	if s.policies, err = t.policies(); err != nil {
		return r, fmt.Errorf("run test cases: %w", err)
	}
	if s.dir, err = scratch(); err != nil {
		return r, err
	}
	defer os.RemoveAll(s.dir)
	if o.MaxTime > 0 {
		s.end = began.Add(o.MaxTime)
	}
	s.run(ctx, &r)
	r.DurationMS = duration.Milliseconds(time.Since(began))
	return r, ctx.Err()
}

// scratch makes the directory in which the cases have theirs.
func scratch() (string, error) {
	dir, err := os.MkdirTemp("", "skillet-test-")
	if err != nil {
		return "", fmt.Errorf("make a place for the test cases: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("make a place for the test cases: %w", err)
	}
	return dir, nil
}

// choose are the cases that are run.
func (r *Report) choose(all []testcase.Case, o Options) []testcase.Case {
	var cases []testcase.Case
	for _, c := range all {
		if o.Match == nil || o.Match.MatchString(c.File()+": "+c.Name) {
			cases = append(cases, c)
		}
	}
	r.Found = len(all)
	if o.MaxCases > 0 && len(cases) > o.MaxCases {
		r.note(fmt.Sprintf("%d of %d cases were not run: at most %d are", len(cases)-o.MaxCases, len(cases), o.MaxCases))
		cases = cases[:o.MaxCases]
	}
	return cases
}

// A suite is one run over the cases of a package.
type suite struct {
	tester   *Tester
	policies *policies.Set
	pkg      *bundle.Package
	options  Options
	cases    []testcase.Case
	dir      string
	end      time.Time // zero for none
}

// run runs the cases, several at once, and takes their results in order.
func (s *suite) run(ctx context.Context, r *Report) {
	jobs := s.options.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	results := make([]chan *Result, len(s.cases))
	for i := range results {
		results[i] = make(chan *Result, 1)
	}
	var wg sync.WaitGroup
	for range min(jobs, len(s.cases)) {
		wg.Go(func() {
			for i := range next {
				results[i] <- s.one(ctx, i)
			}
		})
	}
	go func() {
		for i := range s.cases {
			next <- i
		}
		close(next)
	}()
	left := 0
	for i := range results {
		res := <-results[i]
		if res == nil {
			left++
			continue
		}
		r.count(*res)
		if s.options.Done != nil {
			s.options.Done(*res)
		}
	}
	wg.Wait()
	if left > 0 {
		r.note(s.leftOut(ctx, left))
	}
}

// home is what the policies protect as the host's own directory. There is none.
func (s *suite) home() string { return filepath.Join(s.dir, "home") }

func (s *suite) leftOut(ctx context.Context, n int) string {
	if ctx.Err() != nil {
		return fmt.Sprintf("%d of %d cases were not run: interrupted", n, len(s.cases))
	}
	return fmt.Sprintf("%d of %d cases were not run: all of them may take %s", n, len(s.cases), s.options.MaxTime)
}

// one runs a case; nil is the result of one that is not run any more.
func (s *suite) one(ctx context.Context, i int) *Result {
	if ctx.Err() != nil || !s.end.IsZero() && time.Now().After(s.end) {
		return nil
	}
	c := s.cases[i]
	began := time.Now()
	r := Result{File: c.File(), Line: c.Line(), Name: c.Name, Tool: c.Tool}
	r.Golden, r.Section = c.Golden()
	if c.Skip != "" {
		r.Outcome, r.Detail = Skipped, c.Skip
		return &r
	}
	t := trial{suite: s, c: c, dir: filepath.Join(s.dir, fmt.Sprintf("case-%06d", i+1)), result: &r}
	t.run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	r.DurationMS = duration.Milliseconds(time.Since(began))
	return &r
}

// label names the package in messages.
func label(p *bundle.Package) string {
	return strings.Join([]string{p.Manifest().Name, p.Manifest().Version}, "@")
}
