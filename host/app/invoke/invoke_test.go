package invoke

import (
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func packed(t *testing.T, manifest string, others ...string) *bundle.Package {
	t.Helper()
	files := map[string][]byte{"skill.json": []byte(manifest)}
	for _, name := range others {
		files[name] = []byte("\x00asm\x01\x00\x00\x00")
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Who forgets something is refused, or gets less.
func TestWhatIsLeftOut(t *testing.T) {
	code := packed(t, `{"name":"code","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"run","description":"d"}]}`, "main.wasm")
	prompt := packed(t, `{"name":"text","version":"1.0.0","description":"d","type":"prompt_inline","prompt":"Say hello."}`)
	target := func(p *bundle.Package) Target {
		return Target{run: runner.Target{Label: "it", Package: p, Origin: registry.OriginPath}}
	}
	ada := approval.NewHuman("ada")
	for what, c := range map[string]struct {
		in   Invocation
		want fault.Kind
	}{
		"no target":             {Invocation{By: ada}, fault.KindUsage},
		"no caller":             {Invocation{Target: target(code)}, fault.KindDenied},
		"a person of no name":   {Invocation{Target: target(code), By: approval.Human{}}, fault.KindDenied},
		"an agent of no name":   {Invocation{Target: target(code), By: approval.Agent{}}, fault.KindDenied},
		"a person":              {Invocation{Target: target(code), By: ada}, ""},
		"an agent":              {Invocation{Target: target(code), By: approval.NewAgent("general")}, ""},
		"a prompt with limits":  {Invocation{Target: target(prompt), By: ada, Limits: Limits{Fuel: 1}}, fault.KindUsage},
		"a prompt with values":  {Invocation{Target: target(prompt), By: ada, Config: map[string]string{"a": "b"}}, fault.KindUsage},
		"a prompt, recorded":    {Invocation{Target: target(prompt), By: ada, Record: true}, fault.KindUsage},
		"a prompt and no cache": {Invocation{Target: target(prompt), By: ada, NoCache: true}, fault.KindUsage},
		"a prompt":              {Invocation{Target: target(prompt), By: ada}, ""},
	} {
		e := fault.AsError(c.in.check())
		if (e != nil) != (c.want != "") || e != nil && e.Kind != c.want {
			t.Errorf("%s: %+v, want %q", what, e, c.want)
		}
	}
	var s Service
	for _, by := range []approval.Principal{ada, approval.NewAgent("general")} {
		c, err := s.granted(t.Context(), Invocation{Target: target(code), By: by})
		if err != nil || len(c.Target.Granted.Set().All()) != 0 || c.Caller != by.Actor() {
			t.Errorf("%s: granted %v, as %s, %v", by.Actor(), c.Target.Granted.Set().Strings(), c.Caller, err)
		}
		if bounded := c.Bounds != nil && c.Bounds.Offline && len(c.Bounds.Roots) == 0; bounded != (by != approval.Principal(ada)) {
			t.Errorf("%s: bounds %+v", by.Actor(), c.Bounds)
		}
	}
}
