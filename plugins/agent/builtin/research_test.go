package builtin_test

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/provider"
)

func fetches(answers ...string) *agenttest.Host {
	script := []provider.Response{agenttest.Wants(0, "http__get", `{"url":"https://a.example/"}`, "http__get", `{"url":"https://b.example/"}`)}
	for _, a := range answers {
		script = append(script, agenttest.Says(a))
	}
	return &agenttest.Host{Model: agenttest.Script(script...), Tool: answerPage}
}

var answerPage = answers("The moon is far away.")

func TestResearchCites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []string
		answer  string
		sources string
		thought int
		conf    float64
	}{
		{"cites", []string{"Far [2], very far [2][1]."}, "Far [1], very far [1][2].", "https://b.example/ https://a.example/", 2, 0.9},
		{"one list", []string{"Far [1, 2]."}, "Far [1][2].", "https://a.example/ https://b.example/", 2, 0.9},
		{"repaired", []string{"Far.", "Far [1]."}, "Far [1].", "https://a.example/", 3, 0.77},
		{"a source that is none", []string{"Far [9].", "Far [1] [9]."}, "Far [1] .", "https://a.example/", 3, 0.65},
		{"never cites", []string{"Far."}, "Far.", "https://a.example/ https://b.example/", 3, 0.38},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := fetches(c.answers...)
			r := play(t, agent.Task{Agent: "research"}, h)
			var sources []string
			for _, s := range r.Sources {
				sources = append(sources, s.Source)
			}
			if !r.Done || r.Answer != c.answer || strings.Join(sources, " ") != c.sources || r.Confidence != c.conf {
				t.Errorf("%+v", r)
			}
			if n := len(h.Thoughts()); n != c.thought {
				t.Errorf("%d thoughts", n)
			}
		})
	}
}

func TestResearchClaimsNothingWithoutASource(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{Model: agenttest.Script(agenttest.Says("The moon is made of cheese [1]."))}
	r := play(t, agent.Task{Agent: "research"}, h)
	if r.Done || strings.Contains(r.Answer, "cheese") || r.Problem == "" || r.Confidence > 0.1 {
		t.Errorf("%+v", r)
	}
}

func TestResearchCountsFailedPagesForNothing(t *testing.T) {
	t.Parallel()
	h := fetches("It is far [1].")
	h.Tool = failing
	if r := play(t, agent.Task{Agent: "research"}, h); r.Done || len(r.Sources) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestResearchTakesWhatItWasGiven(t *testing.T) {
	t.Parallel()
	h := &agenttest.Host{Model: agenttest.Script(agenttest.Says("Far [1]."))}
	r := play(t, agent.Task{Agent: "research", Context: []agent.Passage{{Source: "step:fetch", Text: "The moon is far away."}}}, h)
	if !r.Done || len(r.Sources) != 1 || r.Sources[0].Source != "step:fetch" {
		t.Errorf("%+v", r)
	}
	if text := h.Thoughts()[0].Request.Messages[0].Text; !strings.Contains(text, "Source [1]:\n[data ") {
		t.Errorf("shown as %q", text)
	}
}
