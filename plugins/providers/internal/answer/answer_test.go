package answer

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
)

func TestCalls(t *testing.T) {
	type piece struct {
		index           int
		id, name, input string
	}
	for name, c := range map[string]struct {
		pieces []piece
		want   string // "id name input" for each, or an error
	}{
		"fragments":       {[]piece{{0, "a", "read", ""}, {0, "", "", `{"x"`}, {0, "", "", `:1}`}}, `a read {"x":1}`},
		"interleaved":     {[]piece{{0, "a", "r", ""}, {1, "b", "s", ""}, {0, "", "", `{"x":1}`}, {1, "", "", `{"y":2}`}}, `a r {"x":1};b s {"y":2}`},
		"index always 0":  {[]piece{{0, "a", "r", `{"x":1}`}, {0, "b", "r", `{"x":2}`}}, `a r {"x":1};b r {"x":2}`},
		"id repeated":     {[]piece{{0, "a", "r", `{"x"`}, {0, "a", "r", `:1}`}}, `a r {"x":1}`},
		"id without name": {[]piece{{0, "a", "r", `{"x"`}, {0, "b", "", `:1}`}}, `b r {"x":1}`},
		"no input":        {[]piece{{0, "a", "r", ""}}, `a r {}`},
		"null":            {[]piece{{0, "a", "r", "null"}}, `a r {}`},
		"spaces":          {[]piece{{0, "a", "r", " {} \n"}}, `a r {}`},
		"not whole":       {[]piece{{0, "a", "r", `{"x":`}}, `internal: the model calls "r" with an input that is not a JSON object`},
		"two objects":     {[]piece{{0, "a", "r", `{}{}`}}, `internal: the model calls "r" with an input that is not a JSON object`},
	} {
		b := NewBuilder(nil)
		for _, p := range c.pieces {
			if err := b.Call(p.index, p.id, p.name, p.input); err != nil {
				t.Fatal(err)
			}
		}
		r, err := b.Response(provider.FinishStop)
		var got []string
		for _, call := range r.Calls {
			got = append(got, call.ID+" "+call.Name+" "+string(call.Input))
		}
		if err != nil {
			got = []string{err.Error()}
		} else if r.Finish != provider.FinishTools {
			t.Errorf("%s: finish %s", name, r.Finish)
		}
		if strings.Join(got, ";") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCallsAreBounded(t *testing.T) {
	b := NewBuilder(nil)
	for i := range maxCalls {
		if err := b.Call(i, "", "r", ""); err != nil {
			t.Fatal(err)
		}
	}
	if b.Call(maxCalls, "", "r", "") == nil {
		t.Error("one more is taken")
	}
	r, err := b.Response(provider.FinishStop)
	ids := map[string]bool{}
	for _, c := range r.Calls {
		ids[c.ID] = true
	}
	if err != nil || len(ids) != maxCalls {
		t.Errorf("%d ids, %v", len(ids), err)
	}
}

func TestEmitEnds(t *testing.T) {
	enough := errors.New("enough")
	b := NewBuilder(func(provider.Delta) error { return enough })
	if err := b.Text("a"); !errors.Is(err, enough) || !errors.Is(b.EmitError(), enough) {
		t.Errorf("%v", err)
	}
}

func TestUnit(t *testing.T) {
	v := []float32{3, 4}
	if err := Unit(v); err != nil || math.Abs(float64(v[0])-0.6) > 1e-6 {
		t.Errorf("%v, %v", v, err)
	}
	if err := Unit([]float32{0, 0}); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]float32{nil, {float32(math.NaN())}, {float32(math.Inf(1))}} {
		if Unit(bad) == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                    true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                     false,
		`{"type":"object","properties":{},"additionalProperties":false,"allOf":[]}`:                                                               false,
		`{"type":"array","items":{"type":"string"}}`:                                                                                              false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:           false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"required":["a"],"additionalProperties":false,"$defs":{"b":{"type":"object"}}}`: false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`:        true,
		`nonsense`: false,
	} {
		if got := Strict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

func FuzzBuilder(f *testing.F) {
	f.Add(0, "a", "read", `{"x":`, 0, "", `1}`, "stop")
	f.Add(1, "", "", ``, 0, "b", `[`, "length")
	f.Fuzz(func(t *testing.T, i int, id, name, first string, j int, id2, second, finish string) {
		b := NewBuilder(nil)
		b.Call(i, id, name, first)
		b.Call(j, id2, name, second)
		r, err := b.Response(finish)
		if err != nil {
			return
		}
		for _, c := range r.Calls {
			var object map[string]json.RawMessage
			if c.ID == "" || json.Unmarshal(c.Input, &object) != nil || object == nil {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzStrict(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	f.Add(strings.Repeat(`{"items":`, 100))
	f.Fuzz(func(t *testing.T, schema string) {
		if Strict(json.RawMessage(schema)) && !json.Valid([]byte(schema)) {
			t.Error("no JSON is strict")
		}
	})
}
