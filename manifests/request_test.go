package manifests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// Each action can be asked for in the field that the table of actions names, as
// the action it is, and the fields of the permissions ask for nothing else.
func TestEveryActionCanBeAskedFor(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{"network_access": true, "process_spawn": true} // which ask for nothing by themselves
	for _, k := range capability.Kinds() {
		if k.Field == "" {
			continue
		}
		fields[k.Field] = true
		entry, resource, _ := strings.Cut(k.Example, ":")
		if k.Shape == capability.ShapeURL {
			_, resource, _ = strings.Cut(resource, " ")
		}
		value := fmt.Sprintf("[%q]", resource)
		if k.Shape == capability.ShapeNone {
			value = fmt.Sprintf("%q", "because of "+entry)
		}
		var p manifests.Permissions
		if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", k.Field, value), &p); err != nil {
			t.Errorf("%s: %v", k.Action, err)
			continue
		}
		m := manifests.Manifest{Security: manifests.Security{Permissions: p}}
		asked, err := m.Requests("/work")
		if err != nil || len(asked) != 1 || asked[0].Capability.String() != k.Example || !strings.HasPrefix(asked[0].Field, "security.permissions."+k.Field) {
			t.Errorf("%s: %s: %s asks for %+v, %v", k.Action, k.Field, value, asked, err)
		}
		for _, other := range capability.Kinds() {
			also := other.Field == k.Field
			for _, f := range other.AlsoIn {
				also = also || f == k.Field
			}
			if got := m.AsksFor(other.Action); got != also {
				t.Errorf("a manifest with %s speaks of %s: %v", k.Field, other.Action, got)
			}
		}
	}
	const above = "security.permissions."
	for _, f := range manifests.Fields() {
		name, ok := strings.CutPrefix(f.Path, above)
		name, _, deep := strings.Cut(strings.ReplaceAll(name, "[]", ""), ".")
		if ok && !deep && !fields[name] {
			t.Errorf("%s asks for no action: name it in the table of package capability", f.Path)
		}
	}
}
