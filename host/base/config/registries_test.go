package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func TestRegistries(t *testing.T) {
	c, err := load(t, `
registries:
  - name: acme
    url: oci://registry.acme.example:5000/skills
    names: [acme-*, tax]
    mirrors: ["oci://mirror.acme.example/skills"]
    redirects: [blobs.acme.example]
    plain_http: true
  - {name: everyone, url: "oci://skills.example"}
`)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := []config.Registry{
		{
			Name: "acme", URL: "oci://registry.acme.example:5000/skills", Names: []string{"acme-*", "tax"},
			Mirrors: []string{"oci://mirror.acme.example/skills"}, Redirects: []string{"blobs.acme.example"}, PlainHTTP: &yes,
		},
		{Name: "everyone", URL: "oci://skills.example"},
	}
	if got := c.Settings().Registries; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	v, err := c.Get("registries")
	if text := fmt.Sprint(v.Value); err != nil || text != "[acme=oci://registry.acme.example:5000/skills everyone=oci://skills.example]" || !strings.HasSuffix(v.Source, config.FileName) {
		t.Errorf("%s, %+v, %v", text, v, err)
	}
}

func TestRegistriesAreRefused(t *testing.T) {
	for entry, want := range map[string]string{
		"{name: a, url: 'oci://x.example', colour: red}":                 "colour",
		"{name: a, url: 'https://x.example'}":                            "the url is",
		"{name: a, url: 'oci://x.example/UPPER'}":                        "the url is",
		"{name: a, url: 'oci://user:word@x.example'}":                    "the url is",
		"{name: A b, url: 'oci://x.example'}":                            "the name is",
		"{url: 'oci://x.example'}":                                       "the name is",
		"{name: a, url: 'oci://x.example', names: ['a/b']}":              "the name pattern is",
		"{name: a, url: 'oci://x.example', mirrors: ['x.example']}":      "the mirror is",
		"{name: a, url: 'oci://x.example', redirects: ['https://y/']}":   "the redirect is",
		"{name: a, url: 'oci://x.example', plain_http: perhaps}":         "plain_http",
		"{name: a, url: 'oci://x'}\n- {name: a, url: 'oci://y.example'}": "twice",
	} {
		_, err := load(t, "registries:\n- "+entry+"\n")
		if err == nil || fault.AsError(err).Kind != fault.KindUsage || !strings.Contains(err.Error(), want) || fault.AsError(err).Way().String() == "" {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
	if _, err := load(t, "", "SKILLET_REGISTRIES=[]"); err == nil || !strings.Contains(err.Error(), "SKILLET_REGISTRIES") {
		t.Errorf("from the environment: %v", err)
	}
	if _, err := load(t, "registries: {name: a}\n"); err == nil {
		t.Error("a mapping was accepted for the list")
	}
}
