package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

// The schema describes each limit of the table, with its default and its ceiling.
func TestSchemaHasTheLimits(t *testing.T) {
	fields := manifests.Fields()
	for _, l := range limit.All() {
		i := slices.IndexFunc(fields, func(f manifests.Field) bool { return f.Path == l.Path() })
		if i < 0 {
			t.Errorf("the schema has no %s", l.Path())
			continue
		}
		f := fields[i]
		if f.Support != manifests.Enforced {
			t.Errorf("%s is %s", l.Path(), f.Support)
		}
		for what, value := range map[string]int64{"Left out: %.0f": l.Default(), "t most %.0f": l.Ceiling()} {
			if want := fmt.Sprintf(what, l.Number(value)); !strings.Contains(f.Description, want) {
				t.Errorf("%s: the description does not say %q: %s", l.Path(), want, f.Description)
			}
		}
	}
	for _, f := range fields {
		if strings.HasPrefix(f.Path, "security.resource_limits.") && f.Support == manifests.Enforced &&
			!slices.ContainsFunc(limit.All(), func(l limit.Limit) bool { return l.Path() == f.Path }) {
			t.Errorf("%s is not in the table of limits", f.Path)
		}
	}
}
