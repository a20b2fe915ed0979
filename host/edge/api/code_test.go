package api_test

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/edge/api"
)

// A script needs an interpreter, and says how to get one; what is wrong with a request is refused.
func TestScriptsOverREST(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	if a := s.as(caller, 404, "POST", "/v1/code", `{"code":"1 + 1"}`); !strings.Contains(a.at("detail"), "no interpreter for javascript") {
		t.Errorf("%s", a)
	}
	s.as(caller, 422, "POST", "/v1/code", `{"code":"1","language":"perl"}`)
	s.as(caller, 404, "POST", "/v1/code", `{"run_id":"0197c3a2-7c1e-7e55-9a51-6d1f0c8d2b11"}`)
	s.as(viewer, 403, "POST", "/v1/code", `{"code":"1"}`)
	s.as(operator, 404, "POST", "/v1/code/0197c3a2-7c1e-7e55-9a51-6d1f0c8d2b11/propose", `{}`)
	s.as(agent, 404, "POST", "/v1/code/last/propose", `{"name":"sum"}`)
	s.as(operator, 422, "POST", "/v1/code/last/propose", `{"name":1}`)
	s.as(caller, 403, "POST", "/v1/code/last/propose", `{}`)
}
