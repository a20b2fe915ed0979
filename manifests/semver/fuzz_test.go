package semver_test

import (
	"errors"
	"testing"

	"github.com/skillet-run/skillet/manifests/semver"
)

func FuzzParseVersion(f *testing.F) {
	for _, v := range readAnswers(f).Versions {
		f.Add(v.String())
	}
	for _, text := range []string{"", "v1.2.3", "1.2", "01.0.0", "1.2.3-", "1.2.3+", "1.2.3beta", "1.2.3-a..b+-.-", "99999999999999999.0.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := semver.ParseVersion(text)
		if err == nil && v.String() != text {
			t.Errorf("%q is written %q", text, v)
		}
		checkRefusal(t, err, semver.ErrVersion, func(text string) error { _, err := semver.ParseVersion(text); return err })
	})
}

// checkRefusal wants every refusal to be an Error whose advice can be followed.
func checkRefusal(t *testing.T, err, kind error, parse func(text string) error) {
	t.Helper()
	if err == nil {
		return
	}
	var refused *semver.Error
	if !errors.As(err, &refused) || !errors.Is(err, kind) {
		t.Fatalf("%v is not an error of the kind", err)
	}
	if refused.Instead != "" && parse(refused.Instead) != nil {
		t.Errorf("%v, and that is refused too", err)
	}
}

func FuzzParseRange(f *testing.F) {
	a := readAnswers(f)
	for _, row := range a.Ranges {
		f.Add(row.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := semver.ParseRange(text)
		checkRefusal(t, err, semver.ErrRange, func(text string) error { _, err := semver.ParseRange(text); return err })
		if err != nil {
			return
		}
		all := r.WithPrereleases()
		if !r.Set().IsSubset(all.Set()) {
			t.Errorf("%q allows something only without prereleases", text)
		}
		again, err := semver.ParseRange(r.String())
		if err != nil || !again.Set().Equal(r.Set()) || again.String() != r.String() {
			t.Errorf("%q is %q, which reads as %q: %v", text, r, again, err)
		}
		for _, v := range a.Versions {
			if r.Allows(v) && !all.Allows(v) {
				t.Errorf("%q allows %v only without prereleases", text, v)
			}
		}
	})
}
