package casetest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/manifests/testcase"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// Each function that takes a grant can be mocked, and a recorded call of it
// becomes a part of a case that can be read and compiled again.
func TestEveryFunctionCanBeRecordedAndMocked(t *testing.T) {
	t.Parallel()
	api, err := hostapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range api.Functions {
		if f.Free != "" {
			continue
		}
		r := &recording.Recording{Tool: "run", Outcome: recording.Outcome{OK: true}, Events: []recording.Event{{Call: &recording.Call{
			Name: f.Name, Request: recording.Meta(f.Example.Request), Answer: recording.Meta(f.Example.Response),
		}}}}
		c, err := Recorded("a call", r, func(string) ([]byte, error) { return nil, errors.New("no file") })
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if len(c.Mocks)+len(c.Notifications) != 1 {
			t.Errorf("%s: %d mocks and %d notifications of one call", f.Name, len(c.Mocks), len(c.Notifications))
		}
		if _, err := testcase.Encode(c); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		for _, x := range append(c.Mocks, mockOf(f.Name)...) {
			if _, err := compileMock(x); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		action, _, _ := strings.Cut(f.Grant, ":")
		if a, ok := askers()[f.Name]; ok && (string(a.action) != action || a.file != strings.HasPrefix(action, "fs.")) {
			t.Errorf("%s takes a grant for %s, and a mock of it is asked for %+v", f.Name, action, a)
		}
	}
}

// mockOf is a mock that names a function; requests have mocks of their own form.
func mockOf(function string) []testcase.Mock {
	if function == "http_request" {
		return nil
	}
	return []testcase.Mock{{Call: function}}
}

// The page says of each action that a function takes a grant for what stands behind
// it in a case.
func TestPageListsEveryAction(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "| grant | what it reaches |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var grants strings.Builder
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		grants.WriteString(cell)
	}
	for _, f := range guestapi.Functions() {
		if f.Action != "" && !strings.Contains(grants.String(), "`"+string(f.Action)+"`") {
			t.Errorf("docs/testing.md does not say what stands behind %s, which %s takes a grant for", f.Action, f.Name)
		}
	}
}
