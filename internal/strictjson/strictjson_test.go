package strictjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/internal/strictjson"
)

type rule struct {
	Name  string         `json:"name"`
	Sizes []int          `json:"sizes,omitempty"`
	Inner *inner         `json:"inner,omitempty"`
	ByKey map[string]int `json:"by_key,omitempty"`
	Free  any            `json:"free,omitempty"`
	Self  *itself        `json:"self,omitempty"`
	Notes []inner        `json:"notes,omitempty"`
	Other string         `json:"-"`
}

type inner struct {
	Deep bool `json:"deep"`
}

// itself reads itself.
type itself struct{ text string }

func (s *itself) UnmarshalJSON(b []byte) error { s.text = string(b); return nil }

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	var got rule
	text := "\n{\"name\": \"a\", \"sizes\": [1, 2], \"inner\": {\"deep\": true}, \"by_key\": {\"A\": 1, \"a\": 2}, \"free\": {\"x\": [{}]}, \"self\": {\"y\": 1}}\n"
	if err := strictjson.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := rule{
		Name: "a", Sizes: []int{1, 2}, Inner: &inner{true}, ByKey: map[string]int{"A": 1, "a": 2},
		Free: map[string]any{"x": []any{map[string]any{}}}, Self: &itself{`{"y": 1}`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                      "ends before",
		`{"name": "a"`:                          "ends before",
		`null`:                                  "the value is null",
		`{"name": null}`:                        "name is null",
		`{"sizes": [1, null]}`:                  "sizes[1] is null",
		`{"self": {"a": null}}`:                 "self.a is null",
		"{\"name\": \"a\",\n\"name\": \"b\"}":   "line 2: name is given twice",
		`{"name": "a", "n\u0061me": "b"}`:       "name is given twice",
		`{"inner": {"deep": true, "deep": 1}}`:  "inner.deep is given twice",
		`{"by_key": {"a": 1, "a": 2}}`:          "by_key.a is given twice",
		`{"free": [{"a": 1, "a": 2}]}`:          "free[0].a is given twice",
		`{"Name": "a"}`:                         `unknown field "Name"; write "name"`,
		`{"notes": [{"Deep": true}]}`:           `write "deep"`,
		`{"nmae": "a"}`:                         `unknown field "nmae"`,
		`{"Other": "a"}`:                        `unknown field "Other"`,
		`{"-": "a"}`:                            `unknown field "-"`,
		`{"name": "a"} {}`:                      "something follows",
		`{"name": "a"} x`:                       "something follows",
		`{"name": 1}`:                           "cannot unmarshal number",
		`[]`:                                    "cannot unmarshal array",
		`{"name": "a",}`:                        "invalid character",
		"{\"name\": \"\xff\"}":                  "UTF-8",
		strings.Repeat(`{"free":[`, 20000):      "nested",
		`{"free":` + strings.Repeat(`[`, 20000): "nested",
	} {
		if err := strictjson.Unmarshal([]byte(text), new(rule)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// What is taken means the same to encoding/json, and is there only once.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"name": "a", "sizes": [1], "inner": {"deep": true}, "by_key": {"k": 1}, "free": [], "self": {}}`))
	f.Add([]byte(`{"name": "a", "name": null}`))
	f.Add([]byte(`{"notes": [{"Deep": 1}]} x`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, lenient rule
		if strictjson.Unmarshal(text, &strict) != nil {
			return
		}
		if err := json.Unmarshal(text, &lenient); err != nil || !reflect.DeepEqual(strict, lenient) {
			t.Errorf("%q: %+v, encoding/json: %+v, %v", text, strict, lenient, err)
		}
	})
}
