package host_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// callsOfEcho opens a home in which echo is installed, and returns what calls it as a person
// does: find it, spend its grants, run it, record the run.
func callsOfEcho(b testing.TB, o host.Options) func(input []byte) (invoke.Answer, error) {
	b.Helper()
	ada, dir := approval.NewHuman("ada"), filepath.Join(b.TempDir(), "echo")
	must(b, writeEcho(dir))
	h, err := host.Open(b.Context(), o)
	must(b, err)
	b.Cleanup(func() { must(b, h.Close(b.Context())) })
	plan, err := h.Admit().Plan(b.Context(), ada, admit.Install{Package: dir, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	must(b, err)
	_, err = h.Admit().Commit(b.Context(), ada, plan, admit.Shown)
	must(b, err)
	ref, err := manifests.ParseRef("echo")
	must(b, err)
	return func(input []byte) (invoke.Answer, error) {
		t, err := h.Invoke().Find(b.Context(), ada, invoke.Address{Ref: ref}, nil)
		if err != nil {
			return invoke.Answer{}, err
		}
		return h.Invoke().Invoke(b.Context(), invoke.Invocation{Target: t, By: ada, Input: input})
	}
}

// BenchmarkGoverned is a call as a user gets it in a process that stays: target, decision,
// sandbox and record.
func BenchmarkGoverned(b *testing.B) {
	var log bytes.Buffer
	o := options(b.TempDir(), &log)
	o.Serves = true
	call := callsOfEcho(b, o)
	for _, callers := range []struct {
		name string
		n    int
	}{{"one", 1}, {"two", 2}, {"many", 32}} {
		b.Run(callers.name, func(b *testing.B) {
			b.SetParallelism((callers.n + 1) / 2)
			one := func() {
				if a, err := call([]byte(`{"say":"hello"}`)); err != nil || !a.OK {
					b.Errorf("%v %+v", err, a.Error)
				}
			}
			if callers.n == 1 {
				for b.Loop() {
					one()
				}
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					one()
				}
			})
		})
	}
}
