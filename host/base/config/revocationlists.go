package config

import (
	"fmt"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// revocationListsKey is the setting that is a list of places of revocation
// lists.
const revocationListsKey = "revocation_lists"

// maxRevocationLists bounds how many places are listed.
const maxRevocationLists = 64

var listAddress = lazyregexp.New(`^(oci://|https?://|oci-layout:)[^\s\pC]+$`)

// checkRevocationLists refuses what cannot be meant, saying which entry it is.
func checkRevocationLists(places []string, source string) error {
	if len(places) > maxRevocationLists {
		return fault.Errorf(fault.KindUsage, "setting %s%s: it has %d entries", revocationListsKey, from(source), len(places)).
			WithHint("at most %d are accepted", maxRevocationLists)
	}
	for i, p := range places {
		refuse := func(hint, why string) error {
			return fault.Errorf(fault.KindUsage, "setting %s[%d]%s: %s", revocationListsKey, i, from(source), why).WithHint("%s", hint)
		}
		switch {
		case !listAddress().MatchString(p):
			return refuse("it must be oci://HOST/REPO, oci-layout:DIR or https://HOST/FILE", fmt.Sprintf("the place is %q", p))
		case slices.Contains(places[:i], p):
			return refuse("list each place once", fmt.Sprintf("%s is there twice", p))
		}
	}
	return nil
}
