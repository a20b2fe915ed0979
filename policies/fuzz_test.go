package policies

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzLoad gives any text to the loader as a person's file: it is refused with a
// place, or every policy in it has an id, and decisions can be made with it that
// the embedded forbids still bind.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"defaults/*.cedar", "testdata/person/*.cedar", "testdata/bad/*.cedar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	base, err := newLoader()
	if err != nil {
		f.Fatal(err)
	}
	if err := base.addDefaults(); err != nil {
		f.Fatal(err)
	}
	refused := queryOf(f, "call granted approved | fs.read:/home/me/.ssh/id_ed25519")
	var queries []Query
	for _, input := range []string{
		"call granted | fs.read:/data/a", "call | fs.write:/home/me/a", "call granted | http:GET http://10.0.0.1/a",
		"call granted | kv", "call | secret:github", "install | fs.read:/data/**", "install origin=generated | -",
	} {
		queries = append(queries, queryOf(f, input))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > MaxFileBytes {
			t.Skip("Load reads no such file")
		}
		l := &loader{validator: base.validator, schema: base.schema, policies: slices.Clone(base.policies), byID: maps.Clone(base.byID)}
		l.addText("fuzz.cedar", text)
		s, err := l.set()
		if err != nil {
			if !strings.Contains(err.Error(), "load policy fuzz.cedar") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		for _, p := range s.List() {
			if !isID(p.ID) || p.Line < 1 || p.Text == "" {
				t.Fatalf("policy %+v", p)
			}
		}
		if d := s.Decide(refused); d.Effect != Deny {
			t.Fatalf("credentials: %s", Explain(d))
		}
		for _, q := range queries {
			s.Decide(q)
		}
	})
}
