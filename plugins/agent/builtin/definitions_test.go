package builtin_test

import (
	"testing"

	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
)

func TestDefinitions(t *testing.T) {
	t.Parallel()
	all := builtin.Definitions()
	if len(all) != len(builtin.Names()) {
		t.Fatalf("%d definitions", len(all))
	}
	for i, name := range builtin.Names() {
		text, ok := builtin.Text(name)
		if !ok || all[i].Name != name {
			t.Errorf("%s is at the place of %s", all[i].Name, name)
		}
		if _, err := agentdef.Parse(text, name+".yaml"); err != nil {
			t.Error(err)
		}
	}
	if _, ok := builtin.Text("../builtin.go"); ok {
		t.Error("a file that is no definition was given out")
	}
	if _, ok := builtin.Definition("mine"); ok {
		t.Error("there is a definition of any name")
	}
}
