package invoke

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/manifests"
)

// What is behind the last colon of an address may be a tool, and may be part of
// the address.
func TestParseAddress(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0a", 32)
	for arg, want := range map[string]struct{ text, tool string }{
		"oci://h:5000/a/text":                       {"oci://h:5000/a/text", ""},
		"oci://h:5000/a/text:1.0.0":                 {"oci://h:5000/a/text:1.0.0", ""},
		"oci://h:5000/a/text:stable":                {"oci://h:5000/a/text:stable", ""},
		"oci://h:5000/a/text:1.0.0:count":           {"oci://h:5000/a/text:1.0.0", "count"},
		"oci://h/text@" + digest:                    {"oci://h/text@" + digest, ""},
		"oci://h/text@" + digest + ":count":         {"oci://h/text@" + digest, "count"},
		"oci-layout:dir":                            {"oci-layout:dir", ""},
		"oci-layout:dir:1.0.0":                      {"oci-layout:dir:1.0.0", ""},
		"oci-layout:dir:1.0.0:count":                {"oci-layout:dir:1.0.0", "count"},
		"https://h:1/text.skill":                    {"https://h:1/text.skill", ""},
		"https://h:1/text.skill:count":              {"https://h:1/text.skill", "count"},
		"https://h/text.skill#" + digest:            {"https://h/text.skill#" + digest, ""},
		"https://h/text.skill#" + digest + ":count": {"https://h/text.skill#" + digest, "count"},
		"git+https://h/r":                           {"git+https://h/r", ""},
		"git+https://h:1/r#v1:text":                 {"git+https://h:1/r#v1:text", ""},
		"git+https://h/r#v1:text:count":             {"git+https://h/r#v1:text", "count"},
		"git+https://h/r#v1::count":                 {"git+https://h/r#v1:", "count"},
	} {
		text, tool, ok := parseSource(arg)
		if !ok || text != want.text || tool != want.tool {
			t.Errorf("%s: %q and %q, %v", arg, text, tool, ok)
		}
		if _, err := source.Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, arg := range []string{"text", "text:count", "text@1.0.0:count", "./text:count", "x.skill:count", "a.wasm"} {
		if a, err := ParseAddress(arg); err != nil || a.Source != "" {
			t.Errorf("%s: %+v, %v", arg, a, err)
		}
	}
}

// FuzzParseAddress demands that nothing of the text is lost, that an address says one
// thing, and that what is a reference is taken for one.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{
		"text", "text:statistics", "./text:statistics", "a.wasm:x", "x.skill", "C:\\x:y", ":", "..", "a:b/c", "text@1.0.0:x",
		"oci://h:5000/a/text:1.0.0:count", "git+https://h/r#v1::count", "oci-layout:dir", "https://h/text.skill#sha256:00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if said := a.Path + a.Source; !a.Installed() && said != text && said+":"+a.Tool != text {
			t.Errorf("%q was split into %+v", text, a)
		}
		if (a.Path != "") == (a.Source != "") && !a.Installed() || a.Installed() && a.Path+a.Source != "" {
			t.Errorf("%q means several things: %+v", text, a)
		}
		if _, err := manifests.ParseRef(text); err == nil && a.Path != "" {
			t.Errorf("%q is a reference, and was taken for a path", text)
		}
		if a.Source != "" {
			_, _ = source.Parse(a.Source)
		}
	})
}
