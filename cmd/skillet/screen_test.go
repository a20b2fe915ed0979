package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
	events "github.com/skillet-run/skillet/host/agents/event"
)

// A refusal that a call and then its step tell of is shown once; others are shown.
func TestRefusalIsShownOnce(t *testing.T) {
	var b bytes.Buffer
	w := watcher{t: &terminal{out: screen.NewAnswers(&b), err: screen.New(&b)}}
	for _, e := range []events.Event{
		{Type: events.StepDenied, Text: "not granted", Data: []byte(`{"agent":"general","tool":"files__read"}`)},
		{Type: events.StepDenied, Text: "not granted", Data: []byte(`{"tool":"files__read"}`)},
		{Type: events.StepDenied, Data: []byte(`{"tool":"a","error":{"message":"never"}}`)},
		{Type: events.StepDenied, Data: []byte(`{"tool":"b","error":{"message":"not here"}}`)},
	} {
		if err := w.show(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); strings.Count(got, "denied: ") != 3 || strings.Count(got, "not granted") != 1 || !strings.Contains(got, "never") || !strings.Contains(got, "not here") {
		t.Errorf("it shows\n%s", got)
	}
}
