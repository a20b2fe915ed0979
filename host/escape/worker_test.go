package escape

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// someInWorkers are attempts of every kind; the others are made with
// SKILLET_PROVE, because each call is a process.
const someInWorkers = "symlink-directory swap-race fifo host-home open-file-flood redirect-out dns-rebinding secret-echo slow-response " +
	"endless-loop collector tree-recursion deep-recursion reentry memory-growth block-flood wild-pointers sleep proc-exit output-flood log-control " +
	"kv-foreign environment clock standard-input secret-value left-memory left-after-trap left-file left-response count-lies sibling-import data-segments"

// TestContainedInWorkers makes attempts behind the second wall, where modules
// run that nobody approved.
func TestContainedInWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and its guests are in other processes")
	}
	t.Parallel()
	o := Options{Workers: true, Only: strings.Fields(someInWorkers)}
	if os.Getenv("SKILLET_PROVE") != "" {
		o.Only = nil
	}
	if underRace { // the detector has no room beside a deep stack in a worker
		o.Only = slices.DeleteFunc(o.Only, func(id string) bool { return id == "deep-recursion" })
	}
	found, err := Run(t.Context(), hclog.NewNullLogger(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !f.Contained {
			t.Errorf("%s: %q, %s", f.ID, f.Stopped, f.Breach)
		}
	}
}
