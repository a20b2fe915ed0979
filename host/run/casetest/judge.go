package casetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// allowed reports whether the grants of the case and the built-in policies allow a
// request.
func (t *trial) allowed(r capability.Request) bool {
	by, ok := t.granted.Allows(r)
	if !ok {
		return false
	}
	d := t.suite.policies.Decide(policies.Query{
		Phase: policies.PhaseCall, Principal: t.principal(), Request: r, Granted: true, GrantedBy: by.String(), Home: t.suite.home(),
	})
	return d.Effect == policies.Allow
}

// absolute is what a path of the guest means.
func (t *trial) absolute(p string) string {
	if !path.IsAbs(p) {
		return path.Join(t.dir, p)
	}
	return path.Clean(p)
}

// judge compares what came of the call with what the case expects.
func (t *trial) judge(ctx context.Context, res task.Result) {
	r := t.result
	r.Outcome = Passed
	for _, look := range []func(context.Context, task.Result) ([]testcase.Difference, error){
		t.calls, t.outcome, t.denials, t.logs, t.notified, t.files, t.state, t.budget,
	} {
		found, err := look(ctx, res)
		if err != nil {
			found = append(found, testcase.Difference{Path: "case", Expected: "to be read", Got: err.Error()})
		}
		r.Differences = append(r.Differences, found...)
	}
	switch {
	case len(r.Differences) == 0:
		return
	case t.cut && res.Error != nil && errors.Is(res.Error, sandbox.ErrTime):
		r.Outcome, r.Differences = Skipped, nil
		r.Detail = fmt.Sprintf("it takes longer than %s, which is all that it gets here", t.suite.options.MaxCaseTime)
		return
	}
	r.Outcome = Failed
	for i, d := range r.Differences {
		r.Differences[i].Diff = diffOf(d)
	}
	r.Detail = r.Differences[0].String()
	if n := len(r.Differences) - 1; n > 0 {
		r.Detail += fmt.Sprintf(" (and %d more)", n)
	}
}

// Bounds on the difference of two texts.
const (
	maxDiffBytes = 64 << 10
	maxDiffLines = 60
	maxLineBytes = 300
)

// diffOf are the lines in which two texts differ, when they have several.
func diffOf(d testcase.Difference) []string {
	before, after, ok := d.Texts()
	if !ok || !strings.Contains(before, "\n") && !strings.Contains(after, "\n") {
		return nil
	}
	f := review.Text([]byte(before), []byte(after), review.Limits{FileBytes: maxDiffBytes, Lines: maxDiffLines, LineBytes: maxLineBytes})
	if f.Note != "" {
		return []string{firstDifference(before, after)}
	}
	if f.More > 0 {
		return append(f.Diff, fmt.Sprintf("... and %d more lines", f.More))
	}
	return f.Diff
}

// firstDifference says where two long texts begin to differ.
func firstDifference(before, after string) string {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	return fmt.Sprintf("they are %d and %d bytes long, and differ from line %d, byte %d on", len(before), len(after), 1+strings.Count(before[:n], "\n"), n)
}

// calls looks for calls that nothing answered, and for mocks that nobody asked.
func (t *trial) calls(context.Context, task.Result) ([]testcase.Difference, error) {
	m := t.mocks
	m.mu.Lock()
	defer m.mu.Unlock()
	var ds []testcase.Difference
	for _, what := range m.unanswered {
		ds = append(ds, testcase.Difference{Path: "mocks", Expected: "one that answers " + clip(what), Got: "none: write it under mocks"})
	}
	if m.more > 0 {
		ds = append(ds, testcase.Difference{Path: "mocks", Expected: fmt.Sprintf("ones that answer %d more calls", m.more), Got: "none"})
	}
	for i, x := range m.list {
		if !x.enough(m.sequence) {
			ds = append(ds, testcase.Difference{Path: fmt.Sprintf("mocks[%d]", i), Expected: x.wanted(m.sequence), Got: fmt.Sprintf("asked %s", times(x.asked))})
		}
	}
	return ds, m.problem
}

// wanted says how often a mock has to be asked.
func (x *mock) wanted(sequence bool) string {
	if x.Times > 0 || sequence {
		return "to be asked " + times(max(x.Times, 1))
	}
	return `to be asked ("optional": true lets the case pass without)`
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// outcome looks at the answer, or at the error.
func (t *trial) outcome(_ context.Context, res task.Result) ([]testcase.Difference, error) {
	c := &t.c
	if c.ErrorKind != "" || c.ErrorMessage != nil {
		return t.failure(res)
	}
	if !res.OK {
		return []testcase.Difference{{Path: "error", Expected: "none", Got: failed(res.Error)}}, nil
	}
	return c.Output(res.Raw, t.read, t.fill)
}

// failure compares the error of a call with the one expected.
func (t *trial) failure(res task.Result) ([]testcase.Difference, error) {
	c := &t.c
	if res.OK {
		return []testcase.Difference{{Path: "error", Expected: strings.TrimSpace("an error " + ofKind(c.ErrorKind)), Got: "the answer " + clip(string(res.Raw))}}, nil
	}
	var ds []testcase.Difference
	if has := kinds(res.Error); c.ErrorKind != "" && !slices.Contains(has, c.ErrorKind) {
		ds = append(ds, testcase.Difference{Path: "error_kind", Expected: c.ErrorKind, Got: failed(res.Error)})
	}
	p, err := testcase.CompilePattern(c.ErrorMessage, testcase.Subset)
	return append(ds, p.MatchText("error_message", message(res.Error))...), err
}

func ofKind(kind string) string {
	if kind == "" {
		return ""
	}
	return "of the kind " + kind
}

// kinds are what the kind of an error may be called: the skill's own word for it, and
// the host's.
func kinds(e *fault.Error) []string {
	var all []string
	if kind, _ := guestError(e); kind != "" {
		all = append(all, kind)
	}
	if errors.Is(e, manifests.ErrInput) {
		all = append(all, string(hostfn.KindInvalid))
	}
	if !slices.Contains(all, string(e.Kind)) {
		all = append(all, string(e.Kind))
	}
	return all
}

// failed is an error as a difference shows it: with the first of its kinds.
func failed(e *fault.Error) string { return kinds(e)[0] + ": " + clip(message(e)) }

// message is what the skill said of its error, or else the host.
func message(e *fault.Error) string {
	if _, text := guestError(e); text != "" {
		return text
	}
	return e.Message
}

// guestError is what the skill itself said of its failure; empty when it said nothing.
func guestError(e *fault.Error) (kind, text string) {
	var guest *sandbox.GuestError
	var refused *runner.Said
	switch {
	case errors.As(e, &guest):
		return guest.Kind, guest.Message
	case errors.As(e, &refused):
		return refused.Kind, refused.Message
	}
	return "", ""
}

// denials compares what was refused with what is expected.
func (t *trial) denials(_ context.Context, res task.Result) ([]testcase.Difference, error) {
	if t.c.Denials == nil {
		return nil, nil
	}
	var ds []testcase.Difference
	left := slices.Clone(res.Denials)
	for i, want := range t.c.Denials {
		at := slices.IndexFunc(left, func(d task.Denial) bool { return d.Request == want || d.Capability == want })
		if at < 0 {
			ds = append(ds, testcase.Difference{Path: fmt.Sprintf("denials[%d]", i), Expected: want, Got: "not refused"})
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, d := range left {
		ds = append(ds, testcase.Difference{Path: "denials", Expected: "no other", Got: clip(d.Request)})
	}
	return ds, nil
}

// logs looks for the lines that are expected, in order.
func (t *trial) logs(_ context.Context, res task.Result) ([]testcase.Difference, error) {
	left := res.Logs
	for i, want := range t.c.Logs {
		at := -1
		for j, l := range left {
			ok, err := fitsLine(want, l)
			if err != nil {
				return nil, err
			}
			if ok {
				at = j
				break
			}
		}
		if at < 0 {
			return []testcase.Difference{{Path: fmt.Sprintf("logs[%d]", i), Expected: describe(want), Got: "not logged, among: " + clip(logged(left))}}, nil
		}
		left = left[at+1:]
	}
	return nil, nil
}

func fitsLine(want testcase.Line, l task.LogLine) (bool, error) {
	if want.Level != "" && want.Level != l.Level {
		return false, nil
	}
	p, err := testcase.CompilePattern(want.Message, testcase.Subset)
	if err != nil || p.MatchText("message", l.Message) != nil {
		return false, err
	}
	for name, raw := range want.Fields {
		p, err := testcase.CompilePattern(raw, testcase.Subset)
		value, there := l.Fields[name]
		if err != nil || !there || p.MatchText(name, value) != nil {
			return false, err
		}
	}
	return true, nil
}

func describe(l testcase.Line) string {
	return strings.TrimSpace(l.Level + " " + clip(string(l.Message)))
}

func logged(lines []task.LogLine) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(l.Level + " " + l.Message)
	}
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}

// notified compares the notifications that were sent.
func (t *trial) notified(context.Context, task.Result) ([]testcase.Difference, error) {
	if t.c.Notifications == nil {
		return nil, nil
	}
	t.sent.mu.Lock()
	defer t.sent.mu.Unlock()
	var ds []testcase.Difference
	if want, got := len(t.c.Notifications), len(t.sent.all); want != got {
		ds = append(ds, testcase.Difference{Path: "notifications", Expected: fmt.Sprintf("%d", want), Got: fmt.Sprintf("%d", got)})
	}
	for i, want := range t.c.Notifications[:min(len(t.c.Notifications), len(t.sent.all))] {
		at, got := fmt.Sprintf("notifications[%d]", i), t.sent.all[i]
		if want.Severity != "" && want.Severity != got.Severity {
			ds = append(ds, testcase.Difference{Path: at + ".severity", Expected: want.Severity, Got: got.Severity})
		}
		for _, x := range []struct {
			name, text string
			raw        []byte
		}{{"title", got.Title, want.Title}, {"text", got.Text, want.Text}} {
			p, err := testcase.CompilePattern(x.raw, testcase.Subset)
			if err != nil {
				return ds, err
			}
			ds = append(ds, p.MatchText(at+"."+x.name, x.text)...)
		}
	}
	return ds, nil
}

// maxFileAfter bounds what is read of a file of the workspace.
const maxFileAfter = 16 << 20

// files looks at the workspace.
func (t *trial) files(context.Context, task.Result) ([]testcase.Difference, error) {
	if len(t.c.FilesAfter) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var ds []testcase.Difference
	for _, name := range slices.Sorted(maps.Keys(t.c.FilesAfter)) {
		at, raw := "files_after."+name, t.c.FilesAfter[name]
		got, err := readFile(root, name)
		switch absent := string(raw) == "null"; {
		case errors.Is(err, fs.ErrNotExist) && absent:
		case err != nil:
			ds = append(ds, testcase.Difference{Path: at, Expected: clip(string(raw)), Got: "no such file"})
		case absent:
			ds = append(ds, testcase.Difference{Path: at, Expected: "no such file", Got: clip(string(got))})
		default:
			p, err := testcase.CompilePattern(raw, testcase.Subset)
			if err != nil {
				return ds, err
			}
			ds = append(ds, p.MatchText(at, string(got))...)
		}
	}
	return ds, nil
}

// readFile reads a regular file that the skill may have made.
func readFile(root *os.Root, name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	if st, err := root.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileAfter))
}

// state looks at the store.
func (t *trial) state(ctx context.Context, _ task.Result) ([]testcase.Difference, error) {
	if len(t.c.KVAfter) == 0 {
		return nil, nil
	}
	has, err := hostfn.ReadState(ctx, t.kv, t.principal())
	if err != nil {
		return nil, err
	}
	var ds []testcase.Difference
	for _, key := range slices.Sorted(maps.Keys(t.c.KVAfter)) {
		at, raw := "kv_after."+key, t.c.KVAfter[key]
		got, there := has[key]
		switch absent := string(raw) == "null"; {
		case !there && absent:
		case !there:
			ds = append(ds, testcase.Difference{Path: at, Expected: clip(string(raw)), Got: "no such key"})
		case absent:
			ds = append(ds, testcase.Difference{Path: at, Expected: "no such key", Got: clip(string(got))})
		default:
			more, err := fitsValue(at, raw, got)
			if err != nil {
				return ds, err
			}
			ds = append(ds, more...)
		}
	}
	return ds, nil
}

// fitsValue compares a value as text with a text, or a matcher of one, and otherwise as JSON.
func fitsValue(at string, raw, got []byte) ([]testcase.Difference, error) {
	p, err := testcase.CompilePattern(raw, testcase.Subset)
	if err != nil {
		return nil, err
	}
	ds := p.MatchText(at, string(got))
	if ds == nil || strings.HasPrefix(string(raw), `"`) {
		return ds, nil
	}
	return p.Match(at, got), nil
}

// budget looks at what the call used up.
func (t *trial) budget(_ context.Context, res task.Result) ([]testcase.Difference, error) {
	var ds []testcase.Difference
	if most := t.c.MaxFuel; most > 0 && res.Fuel > most {
		ds = append(ds, testcase.Difference{Path: "fuel", Expected: fmt.Sprintf("at most %d", most), Got: fmt.Sprintf("%d, which is %d more", res.Fuel, res.Fuel-most)})
	}
	used := float64(res.PeakMemoryBytes) / (1 << 20)
	if most := t.c.MaxMemoryMB; most > 0 && used > most {
		ds = append(ds, testcase.Difference{Path: "memory", Expected: fmt.Sprintf("at most %g MB", most), Got: fmt.Sprintf("%.2f MB", used)})
	}
	return ds, nil
}

// clip cuts a text to what fits on a line.
func clip(text string) string {
	const most = 200
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}
