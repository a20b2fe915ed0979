package testcase_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests/testcase"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		differs        string // the paths that differ, joined by blanks
	}{
		{`1`, `1`, ""},
		{`1`, `1.0`, ""},
		{`1`, `1e0`, ""},
		{`9007199254740993`, `9007199254740992`, "v"},
		{`1e999`, `1e999`, ""},
		{`1`, `"1"`, "v"},
		{`null`, `null`, ""},
		{`null`, `[]`, "v"},
		{`true`, `false`, "v"},
		{`"a"`, `{"a":1}`, "v"},
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1,"b":{"c":2}}`, `{"a":2,"b":{"c":3,"d":4}}`, "v.a v.b.c"},
		{`{"a b":1}`, `{}`, `v["a b"]`},
		{`{}`, `[]`, "v"},
		{`[1,2]`, `[1,2]`, ""},
		{`[1,2]`, `[2,2,3]`, "v[0] v[2]"},
		{`[1,2]`, `[1]`, "v[1]"},
		{`[{"a":1}]`, `[{"a":1,"b":2}]`, ""},
		{`{"$any":true}`, `null`, ""},
		{`{"a":{"$any":true}}`, `{}`, "v.a"},
		{`{"a":{"$absent":true}}`, `{}`, ""},
		{`{"a":{"$absent":true}}`, `{"a":null}`, "v.a"},
		{`{"$type":"integer"}`, `1.0`, ""},
		{`{"$type":"number"}`, `1`, ""},
		{`{"$type":"integer"}`, `1.5`, "v"},
		{`{"$type":"string"}`, `"x"`, ""},
		{`{"$type":"array"}`, `{}`, "v"},
		{`{"$type":"object"}`, `{}`, ""},
		{`{"$type":"null"}`, `null`, ""},
		{`{"$type":"boolean"}`, `false`, ""},
		{`{"$regex":"^a.c$"}`, `"abc"`, ""},
		{`{"$regex":"^a.c$"}`, `"abd"`, "v"},
		{`{"$regex":"1"}`, `1`, "v"},
		{`{"$contains":"b"}`, `"abc"`, ""},
		{`{"$contains":"b"}`, `["a","b"]`, ""},
		{`{"$contains":{"a":1}}`, `[{"a":2},{"a":1,"b":1}]`, ""},
		{`{"$contains":{"a":3}}`, `[{"a":2},{"a":1,"b":1}]`, "v"},
		{`{"$contains":"x"}`, `7`, "v"},
		{`{"$approx":3.14}`, `3.14000000001`, ""},
		{`{"$approx":3.14}`, `3.15`, "v"},
		{`{"$approx":3.14,"$within":0.02}`, `3.15`, ""},
		{`{"$length":2}`, `"éa"`, ""},
		{`{"$length":2}`, `[1]`, "v"},
		{`{"$length":{"min":1,"max":2}}`, `{"a":1}`, ""},
		{`{"$length":{"min":1}}`, `7`, "v"},
		{`{"$schema":{"type":"integer","minimum":3}}`, `3`, ""},
		{`{"$schema":{"type":"integer","minimum":3}}`, `2`, "v"},
		{`{"$exact":{"a":1}}`, `{"a":1}`, ""},
		{`{"$exact":{"a":1}}`, `{"a":1,"b":2}`, "v.b"},
		{`{"$exact":{"$any":true}}`, `{"$any":true}`, ""},
		{`{"$one_of":[1,2]}`, `2`, ""},
		{`{"$one_of":[1,2]}`, `3`, "v"},
		{`{"$not":1}`, `2`, ""},
		{`{"$not":1}`, `1`, "v"},
		{`{"$type":"string","$regex":"^a"}`, `"b"`, "v"},
		{`{"a":1}`, `{`, "v"},
	} {
		p, err := testcase.CompilePattern(json.RawMessage(c.pattern), testcase.Subset)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		var paths []string
		for _, d := range p.Match("v", []byte(c.value)) {
			paths = append(paths, d.Path)
		}
		if got := strings.Join(paths, " "); got != c.differs {
			t.Errorf("%s and %s differ at %q, want %q", c.pattern, c.value, got, c.differs)
		}
	}
}

func TestExact(t *testing.T) {
	p, err := testcase.CompilePattern(json.RawMessage(`{"a":{"b":{"$type":"integer"}}}`), testcase.Exact)
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Match("v", []byte(`{"a":{"b":7}}`)); d != nil {
		t.Error(d)
	}
	if d := p.Match("v", []byte(`{"a":{"b":7,"c":1},"d":2}`)); len(d) != 2 || d[0].String() != "v.a.c: expected no such member, got 1" {
		t.Error(d)
	}
}

// TestComparingIsBounded demands that no pattern and value take long to compare.
func TestComparingIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"$contains":`, 30) + `"x"` + strings.Repeat(`}`, 30)
	wide := `[` + strings.TrimSuffix(strings.Repeat(`1,`, 200_000), ",") + `]`
	for pattern, value := range map[string]string{
		`{"$contains":{"$one_of":[` + strings.TrimSuffix(strings.Repeat(`2,`, 5000), ",") + `]}}`: wide,
		`{"$contains":{"$schema":{"type":"string"}}}`:                                             wide,
		`{"$contains":{"$regex":"(a|b|c|d|e|f){900}x"}}`:                                          `["` + strings.Repeat("a", 4<<20) + `"]`,
		deep: strings.Repeat(`[`, 31) + `1` + strings.Repeat(`]`, 31),
	} {
		p, err := testcase.CompilePattern(json.RawMessage(pattern), testcase.Subset)
		if err != nil {
			t.Logf("%.60s: %v", pattern, err)
			continue
		}
		if len(p.Match("v", []byte(value))) == 0 {
			t.Errorf("%.60s fits", pattern)
		}
	}
}

// TestDifferencesAreBounded demands that a long list of differences ends.
func TestDifferencesAreBounded(t *testing.T) {
	p, err := testcase.CompilePattern(json.RawMessage(`[]`), testcase.Subset)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Match("v", []byte(`[`+strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("é", 500)+`",`, 1000), ",")+`]`))
	if len(d) != 20 || len(d[0].Got) > 500 {
		t.Errorf("%d differences, the first of %d bytes", len(d), len(d[0].Got))
	}
}

func FuzzPattern(f *testing.F) {
	f.Add([]byte(`{"a":{"$regex":"x"}}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"$contains":{"$one_of":[1,{"$not":2}]}}`), []byte(`[1,2,3]`))
	f.Add([]byte(`{"$approx":1e3,"$within":1}`), []byte(`1000.5`))
	f.Fuzz(func(t *testing.T, pattern, value []byte) {
		if p, err := testcase.CompilePattern(pattern, testcase.Subset); err == nil {
			p.Match("v", value)
		}
		if !json.Valid(value) {
			return
		}
		exact, err := json.Marshal(map[string]json.RawMessage{"$exact": value})
		if err != nil {
			return
		}
		if p, err := testcase.CompilePattern(exact, testcase.Subset); err != nil || p.Match("v", value) != nil {
			t.Errorf("%s is not what it is: %v", value, err)
		}
	})
}
