package config_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/config"
)

var update = flag.Bool("update", false, "rewrite the reference of the settings")

// The documentation lists every setting.
func TestReference(t *testing.T) {
	const path, begin, end = "../../../docs/configuration.md", "-update -->\n", "<!-- end -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the settings", path)
	}
	want := head + begin + reference(t) + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Errorf("%s does not say what the settings are: run go test ./host/base/config -run TestReference -update", path)
	}
}

func reference(t *testing.T) string {
	t.Helper()
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| key | default | meaning |\n| --- | --- | --- |\n")
	for _, v := range c.List() {
		if v.Key == "providers" {
			for f := range reflect.TypeFor[config.Provider]().Fields() {
				fmt.Fprintf(&b, "| `providers.NAME.%s` | | %s |\n", f.Tag.Get("koanf"), f.Tag.Get("doc"))
			}
			continue
		}
		value := fmt.Sprint(v.Value)
		if value == "" || value == "[]" {
			value = " "
		} else {
			value = " `" + value + "` "
		}
		fmt.Fprintf(&b, "| `%s` |%s| %s |\n", v.Key, value, v.Doc)
	}
	return b.String()
}
