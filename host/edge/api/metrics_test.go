package api_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/api"
)

// What was called, refused, asked of models, waits and was answered is counted, under the
// names that the page has.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Version: "1.2.3"})
	s.install("1.0.0")
	s.as(caller, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
	s.as(viewer, 403, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`)
	s.ask("", "GET", "/v1/nowhere/"+strings.Repeat("x", 50), "")
	s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"say hello","approve_risk":"high"}`)
	if err := s.h.Work().Tasks().RunWorkers(t.Context(), ada, work.WorkRequest{}); err != nil {
		t.Fatal(err)
	}
	a := s.as(viewer, 200, "GET", "/metrics", "")
	if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("it is %s", kind)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatalf("%v\n%s", err, a.body)
	}
	for _, want := range []string{
		`skillet_calls_total{outcome="ok",skill="echo"} 1`, `skillet_call_duration_seconds_count{skill="echo"} 1`, `skillet_denials_total{skill="echo"} 0`,
		`tasks_total{agent="general",status="failed"} 1`, `task_duration_seconds_count{agent="`, `active_tasks 0`, `skillet_queue_depth{state="waiting"} 0`,
		`model_requests_total{model="`, `model_tokens_total{direction="input",model="`, `skillet_provider_up{provider="local"} 1`,
		`skillet_audit_group_entries_count `, `skillet_build_info{version="1.2.3"} 1`, `process_resident_memory_bytes `, `go_goroutines `,
		`skillet_http_requests_total{method="POST",route="/v1/skills/{skill}/tools/{tool}/invoke",status="200"} 1`,
		`skillet_http_requests_total{method="POST",route="/v1/skills/{skill}/tools/{tool}/invoke",status="403"} 1`,
		`skillet_http_requests_total{method="other",route="other",status="404"} 1`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("there is no %s in\n%s", want, a.body)
		}
	}
	if n := families["skillet_audit_group_entries"].GetMetric()[0].GetHistogram().GetSampleSum(); n < 1 { // the call; what was refused may be written later
		t.Errorf("%g records were signed", n)
	}
	for name, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s says nothing of itself", name)
		}
	}
}
