package policies

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/goldentest"
)

// TestListsOfActions: the schema, the policy that permits what was granted, and the
// page name each action, by what it is asked about. With -update they are written.
func TestListsOfActions(t *testing.T) {
	t.Parallel()
	schema, page := text(t, "skillet.cedarschema"), text(t, "../docs/policies.md")
	for resource, shapes := range map[string][]capability.Shape{
		"Path": {capability.ShapePath}, "Host": {capability.ShapeURL}, "Name": {capability.ShapeName, capability.ShapeNone},
	} {
		actions := withShapes(shapes...)
		schema = swap(t, schema, `action "`+actions[0]+`".* appliesTo`, `action "`+strings.Join(actions, `", "`)+`" appliesTo`)
		page = swap(t, page, "\\| `"+actions[0]+"`[^|]* \\| `"+resource+"::", "| `"+strings.Join(actions, "`, `")+"` | `"+resource+"::")
	}
	var permitted strings.Builder
	for _, a := range capability.Actions() {
		permitted.WriteString("    Action::\"" + string(a) + "\",\n")
	}
	call := swap(t, text(t, "defaults/call.cedar"), `action in \[\n[^\]]*\]`, "action in [\n"+strings.TrimSuffix(permitted.String(), ",\n")+"\n  ]")
	goldentest.File(t, "skillet.cedarschema", schema)
	goldentest.File(t, "../docs/policies.md", page)
	goldentest.File(t, "defaults/call.cedar", call)
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withShapes are the actions of some shapes, in the order of the table.
func withShapes(shapes ...capability.Shape) []string {
	var all []string
	for _, k := range capability.Kinds() {
		for _, s := range shapes {
			if k.Shape == s {
				all = append(all, string(k.Action))
			}
		}
	}
	return all
}

// swap puts a text in the place of the one that fits a pattern.
func swap(t *testing.T, in, pattern, by string) string {
	t.Helper()
	places := regexp.MustCompile(pattern).FindAllStringIndex(in, -1)
	if len(places) != 1 {
		t.Fatalf("%d places are %s", len(places), pattern)
	}
	return in[:places[0][0]] + by + in[places[0][1]:]
}
