package runner_test

import "testing"

// BenchmarkRun is one call of a guest that does nothing, with what stands around
// it. The store is in memory, and the audit log a file that is not synced.
func BenchmarkRun(b *testing.B) {
	const pure = `{"name":"run","read_only":true,"idempotent":true}`
	for _, row := range []struct{ name, members string }{
		{"plain", ""},
		{"retry", `,"resilience":{"retry_config":{}}`},
		{"breaker", `,"resilience":{"circuit_breaker":{}}`},
		{"rate", `,"performance":{"rate_limit":{"max_calls":1000000,"per_seconds":0.001}}`},
		{"queue", `,"performance":{"execution":{"max_concurrent_calls":4}}`},
		{"all but cached", `,"resilience":{"retry_config":{},"circuit_breaker":{}},"performance":{"rate_limit":{"max_calls":1000000,"per_seconds":0.001},"execution":{"max_concurrent_calls":4}}`},
		{"cached", cached},
	} {
		b.Run(row.name, func(b *testing.B) {
			p := newMachine(b).process()
			g := newGuest()
			g.tool("run", g.answer("ok"))
			c := on(skill(b, "tester", g, pure, row.members), "run")
			for b.Loop() {
				if r := p.Run(b.Context(), c); !r.OK {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
