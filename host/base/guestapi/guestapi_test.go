package guestapi

import (
	"slices"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

// What a function takes a grant for is an action, and says what of as the action
// wants it.
func TestGrantsAreActions(t *testing.T) {
	t.Parallel()
	for _, f := range Functions() {
		if f.Action == "" {
			continue
		}
		k, ok := f.Action.Kind()
		named := k.Shape == capability.ShapePath || k.Shape == capability.ShapeName
		if !ok || named != (f.Resource != "") {
			t.Errorf("%s takes a grant for %s, of the request's %q", f.Name, f.Action, f.Resource)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := Names()
	if len(names) != len(Transfer())+len(Functions()) || !slices.Contains(names, "input_read") || !slices.Contains(names, "fs_read") {
		t.Errorf("%q", names)
	}
	Transfer()[0], Functions()[0].Name = "", ""
	if !slices.Equal(Names(), names) {
		t.Error("the table can be changed")
	}
}
