package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func TestRateLimits(t *testing.T) {
	c, err := load(t, `
rate_limits:
  - {skill: acme-*, max_calls: 10, per_seconds: 60}
  - {skill: http, tool: http_*, max_calls: 1, per_seconds: 0.5}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.RateLimit{{Skill: "acme-*", MaxCalls: 10, PerSeconds: 60}, {Skill: "http", Tool: "http_*", MaxCalls: 1, PerSeconds: 0.5}}
	if got := c.Settings().RateLimits; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := want[1].String(); got != "http:http_*=1/0.5s" {
		t.Error(got)
	}
}

func TestBadRateLimits(t *testing.T) {
	for text, want := range map[string]string{
		"{max_calls: 1, per_seconds: 1}":                        `the skill is ""`,
		"{skill: 'a b', max_calls: 1, per_seconds: 1}":          "the skill is",
		"{skill: a, tool: 'a:b', max_calls: 1, per_seconds: 1}": "the tool is",
		"{skill: a, per_seconds: 1}":                            "the max_calls is",
		"{skill: a, max_calls: 1}":                              "the per_seconds is",
		"{skill: a, max_calls: 1, per_second: 1}":               "per_second",
	} {
		_, err := load(t, "rate_limits: ["+text+"]")
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Kind != fault.KindUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
