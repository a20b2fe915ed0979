package evidence

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// Tests are the results of the test cases of a package, each run with nothing
// granted.
type Tests struct {
	Results []Result `json:"results"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	// Fuel and PeakMemoryBytes are the most that one of them used.
	Fuel            uint64 `json:"fuel"`
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	// Note says what was left out; empty for nothing.
	Note string `json:"note,omitempty"`
}

// An Outcome says how a test case ended.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// A Result is how one test case ended.
type Result struct {
	File    string  `json:"file"`
	Name    string  `json:"name"`
	Tool    string  `json:"tool"`
	Outcome Outcome `json:"outcome"`
	// Detail says why it did not pass; empty for one that did.
	Detail          string  `json:"detail,omitempty"`
	Fuel            uint64  `json:"fuel,omitempty"`
	PeakMemoryBytes uint64  `json:"peak_memory_bytes,omitempty"`
	DurationMS      float64 `json:"duration_ms,omitempty"`
}

// Bounds on the tests of one package.
const (
	maxCases     = 64
	maxTestFile  = 1 << 20
	maxTestTime  = 20 * time.Second // all of them
	maxCaseTime  = 5 * time.Second
	maxDetail    = 300 // characters
	maxCaseWords = 100 // characters of a name
)

// A testCase is one entry of a file tests/*.json, which holds a list of them.
type testCase struct {
	Name  string          `json:"name"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Expect is what the answer must hold: an object at least these members, a
	// list exactly these items.
	Expect json.RawMessage `json:"expect"`
	// ErrorKind is the kind of the error that the call must end with.
	ErrorKind string `json:"error_kind"`
	// Grants, Files and Serve are what a case needs beyond the package; such a
	// case is skipped here.
	Grants json.RawMessage `json:"grants"`
	Files  json.RawMessage `json:"files"`
	Serve  json.RawMessage `json:"serve"`

	file string
}

// test runs the test cases of a package.
func (c *Collector) test(ctx context.Context, p *bundle.Package) Tests {
	t := Tests{Results: []Result{}}
	cases, problems := casesOf(p)
	t.Note = strings.Join(problems, "; ")
	if !p.Manifest().Type.IsCode() {
		return t
	}
	end := time.Now().Add(maxTestTime)
	for i, tc := range cases {
		if i == maxCases || time.Now().After(end) || ctx.Err() != nil {
			t.Note = joined(t.Note, fmt.Sprintf("%d more were not run", len(cases)-i))
			break
		}
		t.count(c.run(ctx, p, tc))
	}
	return t
}

func joined(a, b string) string { return strings.TrimPrefix(a+"; "+b, "; ") }

func (t *Tests) count(r Result) {
	t.Results = append(t.Results, r)
	t.Fuel, t.PeakMemoryBytes = max(t.Fuel, r.Fuel), max(t.PeakMemoryBytes, r.PeakMemoryBytes)
	switch r.Outcome {
	case Passed:
		t.Passed++
	case Failed:
		t.Failed++
	default:
		t.Skipped++
	}
}

// casesOf reads the test cases of a package, and says which files are none.
func casesOf(p *bundle.Package) (cases []testCase, problems []string) {
	for _, f := range p.Files() {
		if !strings.HasPrefix(f.Path, "tests/") || !strings.HasSuffix(f.Path, ".json") {
			continue
		}
		if f.Size > maxTestFile {
			problems = append(problems, f.Path+" is too long")
			continue
		}
		b, err := p.Read(f.Path)
		if err == nil {
			var more []testCase
			more, err = parseCases(f.Path, b)
			cases = append(cases, more...)
		}
		if err != nil {
			problems = append(problems, cut(fmt.Sprintf("%s: %v", f.Path, err), maxDetail))
		}
	}
	return cases, problems
}

// parseCases reads one file of test cases: a list of them, or one alone. A member
// that nobody knows is an error: it might be what the case is about.
func parseCases(file string, b []byte) ([]testCase, error) {
	var cases []testCase
	if b = bytes.TrimSpace(b); bytes.HasPrefix(b, []byte("{")) {
		cases = make([]testCase, 1)
		if err := strictly(b, &cases[0]); err != nil {
			return nil, err
		}
	} else if err := strictly(b, &cases); err != nil {
		return nil, err
	}
	for i := range cases {
		cases[i].file = file
	}
	return cases, nil
}

func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("no test cases: %w", err)
	}
	if d.More() {
		return fmt.Errorf("no test cases: something follows them")
	}
	return nil
}

// run runs one case, with nothing granted and in a process of its own.
func (c *Collector) run(ctx context.Context, p *bundle.Package, tc testCase) Result {
	r := Result{File: tc.file, Name: cut(tc.Name, maxCaseWords), Tool: cut(tc.Tool, maxCaseWords)}
	switch {
	case len(tc.Grants)+len(tc.Files)+len(tc.Serve) > 0:
		r.Outcome, r.Detail = Skipped, "it needs grants, files or a server, and here it has nothing"
		return r
	case (tc.Expect == nil) == (tc.ErrorKind == ""):
		r.Outcome, r.Detail = Skipped, "it says neither what to expect nor which error, or both"
		return r
	}
	m := p.Manifest()
	res := c.runner.Run(ctx, runner.Call{
		Target: runner.Target{Label: m.Name + "@" + m.Version, Package: p, Origin: registry.OriginPath},
		Tool:   tc.Tool, Input: tc.Input, Caller: "host:evidence", Limits: runner.Limits{Wall: maxCaseTime}, NoCache: true,
	})
	r.Fuel, r.PeakMemoryBytes, r.DurationMS = res.Fuel, res.PeakMemoryBytes, res.DurationMS
	r.Outcome = Passed
	if why := tc.judge(res); why != "" {
		r.Outcome, r.Detail = Failed, cut(why, maxDetail)
	}
	return r
}

// judge says why a result is not what the case expects; "" when it is.
func (tc testCase) judge(res task.Result) string {
	switch {
	case tc.ErrorKind != "" && res.OK:
		return "it answers, and should end with an error of the kind " + tc.ErrorKind
	case tc.ErrorKind != "" && string(res.Error.Kind) != tc.ErrorKind:
		return fmt.Sprintf("it ends with an error of the kind %s, and should with %s: %s", res.Error.Kind, tc.ErrorKind, res.Error.Message)
	case tc.ErrorKind != "":
		return ""
	case !res.OK:
		return fmt.Sprintf("it ends with an error of the kind %s: %s", res.Error.Kind, res.Error.Message)
	}
	var want, got any
	if err := json.Unmarshal(tc.Expect, &want); err != nil {
		return "what it expects is no JSON: " + err.Error()
	}
	if err := json.Unmarshal(res.Data, &got); err != nil {
		return "the answer is no JSON: " + err.Error()
	}
	return mismatch("the answer", want, got)
}

// mismatch says where got is not what is wanted; "" when it is. An object has at
// least the wanted members, a list exactly the wanted items.
func mismatch(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok {
			return at + " is no object: " + asJSON(got)
		}
		for name, v := range want {
			value, there := have[name]
			if !there {
				return at + " has no member " + name
			}
			if why := mismatch(at+"."+name, v, value); why != "" {
				return why
			}
		}
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s is not a list of %d: %s", at, len(want), asJSON(got))
		}
		for i := range want {
			if why := mismatch(fmt.Sprintf("%s[%d]", at, i), want[i], have[i]); why != "" {
				return why
			}
		}
	default:
		if got != want {
			return at + " is " + asJSON(got) + ", and should be " + asJSON(want)
		}
	}
	return ""
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // which no decoded JSON has
		return fmt.Sprint(v)
	}
	return cut(string(b), maxCaseWords)
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
