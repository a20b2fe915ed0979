package approval

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every status against every event of every party: the file says what can
// happen, and nothing else can.
func TestTransitions(t *testing.T) {
	const file = "testdata/transitions.txt"
	var b strings.Builder
	fmt.Fprintf(&b, "# status event by -> status; what is not here cannot happen\n")
	for _, from := range Statuses() {
		for _, e := range Events() {
			writeCauses(t, &b, from, e)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func writeCauses(t *testing.T, b *strings.Builder, from Status, e Event) {
	t.Helper()
	for _, by := range Parties() {
		to, err := next(Proposal{ID: "id", Status: from}, e, by)
		if err != nil {
			if fault.AsError(err).Kind != fault.KindConflict || to != from {
				t.Errorf("%s %s %s: %s, %v", from, e, by, to, err)
			}
			continue
		}
		fmt.Fprintf(b, "%s %s %s -> %s\n", from, e, by, to)
	}
}

// Only a person lets something happen: nothing else leads to a status in which
// a change is in force, but from one that a person caused.
func TestOnlyPeopleLetThingsHappen(t *testing.T) {
	reached := []Status{StatusPending}
	for i := 0; i < len(reached); i++ {
		for _, e := range Events() {
			for _, by := range []Party{PartyHost, PartyPolicy} {
				if to, ok := Next(reached[i], e, by); ok && !slices.Contains(reached, to) {
					reached = append(reached, to)
				}
			}
		}
	}
	if slices.Contains(reached, StatusApproved) || slices.Contains(reached, StatusApplied) {
		t.Errorf("without a person: %v", reached)
	}
}

// The zero Human, which is all that a caller without a person can have, makes
// no change that decides anything.
func TestZeroHumanDecidesNothing(t *testing.T) {
	var read struct{ By Human } // which no text makes a person
	if err := json.Unmarshal([]byte(`{"By":{"name":"ada","Name":"ada"}}`), &read); err != nil {
		t.Fatal(err)
	}
	nobody := read.By
	for _, status := range Statuses() {
		p := Proposal{ID: "id", Status: status}
		if _, err := nobody.Approved(p, ""); err == nil {
			t.Error("approved")
		}
		if _, err := nobody.Enacted(p, ""); err == nil {
			t.Error("enacted")
		}
		if _, err := nobody.Rejected(p, ""); err == nil {
			t.Error("rejected")
		}
		if _, err := nobody.Reverted(p, ""); err == nil {
			t.Error("reverted")
		}
	}
	if _, err := nobody.Grant("s", "d", Grant{}.Capability, Terms{}); err == nil {
		t.Error("granted")
	}
	if _, err := nobody.Lend(Proposal{}); err == nil {
		t.Error("lent")
	}
}
