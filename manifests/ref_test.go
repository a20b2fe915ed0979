package manifests_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]manifests.Ref{
		"demo":                          {Name: "demo"},
		"demo@1.2.0":                    {Name: "demo", Version: "1.2.0"},
		"demo:read_text":                {Name: "demo", Tool: "read_text"},
		"html-to-text@2.0.0-rc.1+x:run": {Name: "html-to-text", Version: "2.0.0-rc.1+x", Tool: "run"},
	} {
		got, err := manifests.ParseRef(text)
		if err != nil || got != want {
			t.Errorf("%s: have %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%s reads back as %s", text, got)
		}
	}
	for _, text := range []string{
		"", ":", "@", "Demo", "demo@", "demo:", "demo@1.2", "demo@v1.2.0", "demo@latest", "demo@^1.0.0", "demo:a:b", "demo:read-text",
		"demo@1.0.0@2.0.0", "./demo", "demo.skill", "-demo", "demo ", "de\nmo", "demo\n", strings.Repeat("a", 65), "demo:" + strings.Repeat("a", 65),
	} {
		if got, err := manifests.ParseRef(text); !errors.Is(err, manifests.ErrRef) || got != (manifests.Ref{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	d := manifests.DigestOf([]byte("hello"))
	if d != hello || d.Hex() != hello[7:] || d.Short() != "2cf24dba5fb0" {
		t.Errorf("%s %s %s", d, d.Hex(), d.Short())
	}
	if err := d.Verify([]byte("hello")); err != nil {
		t.Error(err)
	}
	for _, v := range []manifests.Digest{d, ""} {
		if err := v.Verify([]byte("hell0")); !errors.Is(err, manifests.ErrDigest) {
			t.Errorf("%q: %v", v, err)
		}
	}
	if got, err := manifests.ParseDigest(hello); err != nil || got != d {
		t.Error(got, err)
	}
	for _, text := range []string{"", "sha256:", hello[7:], strings.ToUpper(hello), hello + "0", hello[:70], "sha512" + hello[6:], hello[:70] + "g", hello[:70] + "\n"} {
		if _, err := manifests.ParseDigest(text); !errors.Is(err, manifests.ErrDigest) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if manifests.Digest("").Short() != "" {
		t.Error("the zero digest has digits")
	}
}
