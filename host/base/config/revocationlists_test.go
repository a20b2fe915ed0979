package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func TestRevocationLists(t *testing.T) {
	want := []string{"oci://h.example:5000/security/revoked", "https://h.example/revoked.json", "oci-layout:/media/stick/revoked"}
	c, err := load(t, "revocation_lists: ["+strings.Join(want, ", ")+"]")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Settings().RevocationLists; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c, err = load(t, ""); err != nil || c.Settings().RevocationLists == nil {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := config.Parse("config.yaml", nil, []string{"SKILLET_REVOCATION_LISTS=oci://h/r"}); err == nil || !strings.Contains(err.Error(), "cannot hold a list") {
		t.Error(err)
	}
}

func TestBadRevocationLists(t *testing.T) {
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("oci://h/r%d", i))
	}
	for text, want := range map[string]string{
		"[revoked.json]":                     "revocation_lists[0]",
		"[oci://h/r, git+https:x]":           "revocation_lists[1]",
		"['oci://h/r x']":                    "the place is",
		`["oci://h/r\e[2J"]`:                 "the place is",
		"[oci://]":                           "the place is",
		"[oci://h/r, oci://h/r]":             "is there twice",
		"[{url: oci://h/r}]":                 "revocation_lists",
		"[" + strings.Join(many, ", ") + "]": "65 entries",
	} {
		_, err := load(t, "revocation_lists: "+text)
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Kind != fault.KindUsage || e.Way().String() == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
