package task_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
)

// lines are those of a file in testdata, without comments.
func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return slices.DeleteFunc(all, func(l string) bool { return strings.HasPrefix(l, "#") })
}

// The machine of tasks does what testdata/task.txt says.
func TestTaskStates(t *testing.T) {
	used := map[string]bool{}
	r := &task.Run{State: task.Queued}
	for i, l := range lines(t, "task.txt") {
		if l == "" {
			r = &task.Run{State: task.Queued}
			continue
		}
		signal, want, _ := strings.Cut(l, " ")
		from := r.State
		err := r.Move(task.Signal(signal), "because")
		used[signal] = true
		switch {
		case want == "refused":
			if fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindConflict || r.State != from {
				t.Errorf("%d: %s --%s-> %s, %v; want a refusal", i, from, signal, r.State, err)
			}
		case err != nil || r.State != task.State(want) || r.Reason != "because":
			t.Fatalf("%d: %s --%s-> %s, %v; want %s", i, from, signal, r.State, err, want)
		}
	}
	for _, s := range task.Signals() {
		if !used[string(s)] {
			t.Errorf("%s is in no case", s)
		}
	}
}

// No signal leaves a final state, every other state can be cancelled, and the end can
// be reached from everywhere.
func TestFinalStates(t *testing.T) {
	for _, s := range task.States() {
		for _, by := range task.Signals() {
			if to, err := s.Next(by); s.Final() && err == nil {
				t.Errorf("%s --%s-> %s", s, by, to)
			}
		}
		if _, err := s.Next(task.Cancel); !s.Final() && err != nil {
			t.Errorf("%s cannot be cancelled: %v", s, err)
		}
	}
}

func TestStepStates(t *testing.T) {
	allowed := lines(t, "step.txt")
	for _, from := range task.StepStates() {
		for _, to := range task.StepStates() {
			s := task.Step{State: from}
			err := s.Move(to)
			if want := slices.Contains(allowed, fmt.Sprintf("%s %s", from, to)); want != (err == nil) {
				t.Errorf("%s to %s: %v; want %v", from, to, err, want)
			}
			if err != nil && (s.State != from || fault.AsError(err).Kind != fault.KindConflict) {
				t.Errorf("%s to %s left %s: %v", from, to, s.State, err)
			}
			if from.Final() && err == nil {
				t.Errorf("%s is final, and became %s", from, to)
			}
		}
	}
}

func TestTasksAreChecked(t *testing.T) {
	long := strings.Repeat("x", task.MaxGoal+1)
	for name, bad := range map[string]task.Task{
		"no goal":       {Goal: " \n", Owner: "human:ada"},
		"long":          {Goal: long, Owner: "human:ada"},
		"utf8":          {Goal: "\xff", Owner: "human:ada"},
		"owner":         {Goal: "g"},
		"type":          {Goal: "g", Owner: "o", Type: "job"},
		"priority":      {Goal: "g", Owner: "o", Priority: "now"},
		"planning":      {Goal: "g", Owner: "o", Planning: "maybe"},
		"budget":        {Goal: "g", Owner: "o", Budget: task.Budget{Tokens: -1}},
		"inputs":        {Goal: "g", Owner: "o", Inputs: []byte(`[1]`)},
		"null inputs":   {Goal: "g", Owner: "o", Inputs: []byte(`null`)},
		"long inputs":   {Goal: "g", Owner: "o", Inputs: []byte(`{"a":"` + strings.Repeat("x", task.MaxInputs) + `"}`)},
		"attachment":    {Goal: "g", Owner: "o", Attachments: []task.Attachment{{Text: "x"}}},
		"attachments":   {Goal: "g", Owner: "o", Attachments: make([]task.Attachment, task.MaxAttachments+1)},
		"attached":      {Goal: "g", Owner: "o", Attachments: []task.Attachment{{Name: "a", Text: strings.Repeat("x", task.MaxAttached)}}},
		"relative root": {Goal: "g", Owner: "o", Roots: []string{"work"}},
		"empty tool":    {Goal: "g", Owner: "o", Tools: []string{""}},
		"many tools":    {Goal: "g", Owner: "o", Tools: make([]string, task.MaxNames+1)},
	} {
		if err := bad.Check(); err == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := task.Task{Goal: "  count\n the words  " + strings.Repeat("é", 200), Owner: "human:ada"}
	if err := good.Check(); err != nil || good.Type != task.TypeGoal || good.Priority != task.PriorityNormal || good.Planning != task.PlanAuto {
		t.Errorf("%+v, %v", good, err)
	}
	if title := []rune(good.Title()); len(title) != 100 || !strings.HasPrefix(string(title), "count the words éé") {
		t.Errorf("%q", string(title))
	}
	var e *fault.Error
	if err := new(task.Task).Check(); !errors.As(err, &e) {
		t.Error(err)
	}
}
