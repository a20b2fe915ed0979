package runner_test

import (
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/runner"
)

// What a guest did with its grants is in the audit log, also drawing and looking
// at the time, which are no host functions; what it did not do is not.
func TestRecordedUses(t *testing.T) {
	t.Parallel()
	p, g := assemble(t), newGuest("random_get", "clock_res_get")
	g.tool("draws", c(16), c(8), wasmtest.Call(g.funcs["random_get"]), wasmtest.Drop(), g.answer("drawn"))
	g.tool("rests", g.answer("rested"))
	g.tool("reads", g.ask("kv_get", `{"key":"k"}`, ""), wasmtest.Drop(), g.answer("read"))
	pkg := skill(t, "uses", g, `{"name":"draws","description":"d"},{"name":"rests","description":"d"},{"name":"reads","description":"d"}`,
		`,"security":{"permissions":{"kv":{"reason":"r"},"random":{"reason":"r"},"clock":{"reason":"r"}}}`)
	for _, tc := range []struct {
		tool    string
		granted []string
		want    []runner.Use
	}{
		{"draws", []string{"random", "clock", "kv"}, []runner.Use{{Request: "random", Capability: "random", Count: 1}}},
		{"draws", []string{"clock"}, nil},
		{"rests", []string{"random", "clock", "kv"}, nil},
		{"reads", []string{"random", "clock", "kv"}, []runner.Use{{Request: "kv", Capability: "kv", Count: 1}}},
	} {
		for range 2 { // in a new instance, and in one that was reset
			if res := p.Run(t.Context(), on(pkg, tc.tool, tc.granted...)); !res.OK {
				t.Fatalf("%s: %v", tc.tool, res.Error)
			}
			all := p.records(t)
			if got := all[len(all)-1].Used; fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s with %v: used %v, want %v", tc.tool, tc.granted, got, tc.want)
			}
		}
	}
}
