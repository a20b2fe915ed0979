package task_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
)

func TestExitCodesAreDistinct(t *testing.T) {
	seen := map[int]fault.Kind{}
	for _, o := range fault.Outcomes() {
		if k, ok := seen[o.Code]; ok {
			t.Errorf("code %d stands for %q and %q", o.Code, k, o.Kind)
		}
		seen[o.Code] = o.Kind
		if o.Kind != "" && o.Kind.ExitCode() != o.Code {
			t.Errorf("%s: exit code %d, want %d", o.Kind, o.Kind.ExitCode(), o.Code)
		}
	}
	for _, k := range []fault.Kind{"", "no such kind"} {
		if got := k.ExitCode(); got != 10 {
			t.Errorf("kind %q: exit code %d, want 10", k, got)
		}
	}
}

func TestErrorKeepsCauseAndContext(t *testing.T) {
	e := fault.Errorf(fault.KindNotFound, "open %s: %w", "x", fs.ErrNotExist).WithHint("make %s", "x")
	if !errors.Is(e, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	got := fault.AsError(fmt.Errorf("install demo: %w", e))
	if got.Kind != fault.KindNotFound || got.Way().String() != "make x" || got.Message != "install demo: open x: file does not exist" {
		t.Errorf("got %+v", got)
	}
	if !errors.Is(got, fs.ErrNotExist) {
		t.Error("the cause is lost after AsError")
	}
	if fault.AsError(nil) != nil {
		t.Error("AsError(nil) is not nil")
	}
	if k := fault.AsError(errors.New("boom")).Kind; k != fault.KindInternal {
		t.Errorf("plain error: kind %s", k)
	}
}

func TestRunIDsSort(t *testing.T) {
	last := task.NewRunID()
	for range 100 {
		id := task.NewRunID()
		if id <= last {
			t.Fatalf("%s is not after %s", id, last)
		}
		last = id
	}
}

func TestResultFieldNames(t *testing.T) {
	b, err := json.Marshal(task.Result{Error: &fault.Error{Kind: fault.KindSkill, Message: "m", Hint: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"ok", "data", "error", "started_at", "finished_at", "duration_ms", "fuel", "peak_memory_bytes", "logs", "denials", "skill", "digest", "run_id"} {
		if _, ok := m[f]; !ok {
			t.Errorf("no field %q in %s", f, b)
		}
	}
}

func TestFiguresAddUp(t *testing.T) {
	one := task.Figures{Fuel: 3, PeakMemoryBytes: 10, DirtyPages: 2, ResetStrategy: "copy", ResetNS: 5, InstantiateNS: 7, CompileNS: 11, SnapshotNS: 13, HostCalls: 1, Attempts: 1, QueuedNS: 17}
	two := task.Figures{Fuel: 4, PeakMemoryBytes: 9, DirtyPages: 3, ResetStrategy: "scan", Pooled: true, HostCalls: 2, Attempts: 1}
	want := task.Figures{Fuel: 7, PeakMemoryBytes: 10, DirtyPages: 3, ResetStrategy: "scan", ResetNS: 5, Pooled: true, InstantiateNS: 7, CompileNS: 11, SnapshotNS: 13, HostCalls: 3, Attempts: 2, QueuedNS: 17}
	if got := one.Add(two); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]int64{time.Second: 1000, time.Microsecond: 1, 0: 1} {
		if got := fault.Errorf(fault.KindLimit, "busy").WithRetryAfter(d).RetryAfterMS; got != want {
			t.Errorf("%s: got %d", d, got)
		}
	}
}
