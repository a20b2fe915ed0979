package host_test

import (
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/internal/reexec"
)

// Whatever the program starts itself again as does something.
func TestEveryRoleIsServed(t *testing.T) {
	t.Parallel()
	for _, r := range reexec.Roles() {
		if host.Roles()[r.Word] == nil {
			t.Errorf("nothing does what %s is for: it %s", r.Word, r.About)
		}
	}
	if len(host.Roles()) != len(reexec.Roles()) {
		t.Error("there are more than the table of package reexec has")
	}
}
