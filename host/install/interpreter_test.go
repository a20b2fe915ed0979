package install_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// TestInterpreterNeedsAPerson: a package that asks for nothing and offers to run
// scripts would get, unseen, whatever any script is granted.
func TestInterpreterNeedsAPerson(t *testing.T) {
	t.Parallel()
	pack := func(name, version, provides string, exports ...string) *bundle.Package {
		m := wasmtest.New()
		for _, e := range append(exports, "run") {
			m.ExportFunc(e, m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(0)))
		}
		p, err := bundle.FromFiles(map[string][]byte{"main.wasm": m.Bytes(), "skill.json": fmt.Appendf(nil,
			`{"name":%q,"version":%q,"description":"names colours","type":"code_inline","command":"main.wasm","tools":[{"name":"run"}],"provides":{%s}}`, name, version, provides)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := assemble(t)
	for _, pkg := range []*bundle.Package{
		pack("colours", "1.0.0", `"qjs":"0.1.0"`, "preinit", "load"),
		pack("shades", "1.0.0", `"qjs":"0.1.0"`, "preinit"),
		pack("qjs", "1.0.0", `"qjs":"0.1.0"`, "preinit", "load"),
	} {
		plan := all.plan(t, pkg, registry.OriginUser)
		if !plan.Waits() || !strings.Contains(plan.Reason, "scripts that need qjs run in it") || len(plan.Warnings) == 0 {
			t.Errorf("%s: %s, %q, %q", plan.Skill, plan.Effect, plan.Reason, plan.Warnings)
		}
		if out, err := all.Submit(t.Context(), plan); !errors.Is(err, install.ErrWaits) || out.Skill != nil {
			t.Errorf("%s was installed without a person: %v", plan.Skill, err)
		}
	}
	for _, pkg := range []*bundle.Package{
		pack("table", "1.0.0", `"rows":"1.0.0"`), pack("plain", "1.0.0", "", "preinit", "load"),
	} {
		if plan := all.plan(t, pkg, registry.OriginUser); plan.Waits() {
			t.Errorf("%s is no interpreter, and a person is asked", plan.Skill)
		}
	}
}
