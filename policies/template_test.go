package policies

import (
	"strings"
	"testing"
)

// What each template makes fits the schema, and its cases are answered as they want.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template string
		values   map[string]string
	}{
		{"working-hours", nil},
		{"working-hours", map[string]string{"from": "0", "to": "24", "days": "sunday", "actions": "call,fs.write"}},
		{"working-hours", map[string]string{"actions": "model"}},
		{"working-hours", map[string]string{"actions": "fs.read"}},
		{"working-hours", map[string]string{"actions": "clock"}},
		{"only-signed-by", map[string]string{"signer": "key:sha256:4f1d2c3b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f"}},
		{"write-area", map[string]string{"dir": "/srv/work"}},
		{"write-area", map[string]string{"dir": "/srv/work", "skill": "filesystem"}},
		{"write-area", map[string]string{"dir": `/srv/a "b`, "skill": "filesystem", "tool": "put", "argument": "to-path"}},
		{"agents-may-not-write", nil},
		{"ask-new-domain-first", map[string]string{"known": "example.com, localhost"}},
	} {
		made, err := TemplateNamed(c.template)
		if err != nil {
			t.Fatal(err)
		}
		w, err := made.Write("mine", c.values)
		if err != nil {
			t.Errorf("%s %v: %v", c.template, c.values, err)
			continue
		}
		set, err := mustLoad(t, "").With(w)
		if err != nil {
			t.Errorf("%s %v: %v\n%s", c.template, c.values, err, w.Policy)
			continue
		}
		if len(w.Tests()) == 0 {
			t.Errorf("%s %v: no cases in\n%s", c.template, c.values, w.Cases)
		}
		for _, one := range w.Tests() {
			if o := set.Try("", one, "/home/me/.skillet"); !o.OK {
				t.Errorf("%s %v: %s: %s\n%s", c.template, c.values, one.Name, o.Problem, w.Policy)
			}
		}
		// and the cases of a deny are allowed without the policy: they test it
		plain := mustLoad(t, "")
		for _, one := range w.Tests() {
			if one.Want != "" && plain.Try("", one, "/home/me/.skillet").OK && one.By != nil {
				t.Errorf("%s: %s is answered so without the policy", c.template, one.Name)
			}
		}
	}
}

func TestTemplatesRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template, id string
		values       map[string]string
		want         string
	}{
		{"working-hour", "", nil, "did you mean working-hours"},
		{"working-hours", "", map[string]string{"form": "8"}, "did you mean from"},
		{"working-hours", "", map[string]string{"from": "18", "to": "8"}, "less than"},
		{"working-hours", "", map[string]string{"from": "8x"}, "hours"},
		{"working-hours", "", map[string]string{"days": "mon"}, "day mon"},
		{"working-hours", "", map[string]string{"actions": "install"}, "action install"},
		{"working-hours", "a b", nil, "not an id"},
		{"working-hours", "../x", nil, "not an id"},
		{"only-signed-by", "", nil, "signer is missing"},
		{"only-signed-by", "", map[string]string{"signer": "me"}, "not a signer"},
		{"write-area", "", map[string]string{"dir": "work"}, "written whole"},
		{"write-area", "", map[string]string{"dir": "/"}, "absolute"},
		{"agents-may-not-write", "", map[string]string{"x": "y"}, "takes no values"},
		{"ask-new-domain-first", "", map[string]string{"known": "https://example.com"}, "no scheme"},
	} {
		made, err := TemplateNamed(c.template)
		if err == nil {
			_, err = made.Write(c.id, c.values)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q %v: %v, want something with %q", c.template, c.id, c.values, err, c.want)
		}
	}
}
