package manifests_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

const argsSchema = `{
	"type": "object",
	"properties": {
		"text": {"type": "string"},
		"count": {"type": "integer"},
		"ratio": {"type": "number"},
		"deep": {"type": "boolean"},
		"nothing": {"type": "null"},
		"tags": {"type": "array", "items": {"type": "string"}},
		"sizes": {"type": "array", "items": {"type": "integer"}},
		"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
		"any_list": {"type": "array"},
		"options": {"type": "object"},
		"maybe": {"type": ["integer", "null"]},
		"either": {"type": ["string", "integer"]},
		"words": {"type": ["string", "array"], "items": {"type": "string"}},
		"mood": {"enum": ["1", "glad"]},
		"level": {"enum": [1, 2]},
		"fixed": {"const": "7"},
		"free": {},
		"shared": {"$ref": "#/$defs/size"},
		"choice": {"anyOf": [{"type": "boolean"}, {"type": "string"}]}
	},
	"$defs": {"size": {"type": "integer"}}
}`

func TestCoerceArgs(t *testing.T) {
	t.Parallel()
	tool := manifests.Tool{Name: "run", InputSchema: json.RawMessage(argsSchema)}
	for _, c := range []struct {
		pairs []string
		want  string // JSON, or the problem
	}{
		{nil, `{}`},
		{[]string{"text=5"}, `{"text":"5"}`},
		{[]string{"text="}, `{"text":""}`},
		{[]string{"text=a=b"}, `{"text":"a=b"}`},
		{[]string{"text=true", "count=-3"}, `{"count":-3,"text":"true"}`},
		{[]string{`text="quoted" <b>`}, `{"text":"\"quoted\" \u003cb\u003e"}`},
		{[]string{"count=3.0"}, `{"count":3.0}`},
		{[]string{"count=2.5"}, `count: wants a whole number, has "2.5"`},
		{[]string{"count=five"}, `count: wants a whole number, has "five"`},
		{[]string{"count=007"}, `count: wants a whole number, has "007"`},
		{[]string{"count= 7"}, `count: wants a whole number, has " 7"`},
		{[]string{"count=1e99999"}, `count: wants a whole number, has "1e99999"`},
		{[]string{"count=1", "count=2"}, `count: given 2 times; give it once; it is not a list`},
		{[]string{"ratio=0.25"}, `{"ratio":0.25}`},
		{[]string{"ratio=.5"}, `ratio: wants a number, has ".5"`},
		{[]string{"deep=true"}, `{"deep":true}`},
		{[]string{"deep=yes"}, `deep: wants true or false, has "yes"`},
		{[]string{"nothing=null"}, `{"nothing":null}`},
		{[]string{"tags=a"}, `{"tags":["a"]}`},
		{[]string{"tags=a", "text=x", "tags=5"}, `{"tags":["a","5"],"text":"x"}`},
		{[]string{`tags=["a","b"]`}, `{"tags":["a","b"]}`},
		{[]string{"tags=[a"}, `{"tags":["[a"]}`},
		{[]string{"tags=a,b"}, `{"tags":["a,b"]}`},
		{[]string{"sizes=1", "sizes=2"}, `{"sizes":[1,2]}`},
		{[]string{"sizes=1", "sizes=x"}, `sizes: wants a whole number, has "x"`},
		{[]string{"pair=1", "pair=2"}, `{"pair":["1",2]}`},
		{[]string{"any_list=1", "any_list=x"}, `{"any_list":[1,"x"]}`},
		{[]string{`options={"a": 1}`}, `{"options":{"a":1}}`},
		{[]string{"options=a"}, `options: wants an object, has "a"`},
		{[]string{`options={"a": 1, "a": 2}`}, `options: wants an object, has "{\"a\": 1, \"a\": 2}"`},
		{[]string{"maybe=null"}, `{"maybe":null}`},
		{[]string{"maybe=4"}, `{"maybe":4}`},
		{[]string{"maybe=x"}, `maybe: wants a whole number or nothing (null), has "x"`},
		{[]string{"either=4"}, `{"either":4}`},
		{[]string{"either=four"}, `{"either":"four"}`},
		{[]string{"words=a"}, `{"words":"a"}`},
		{[]string{"words=a", "words=b"}, `{"words":["a","b"]}`},
		{[]string{"mood=1"}, `{"mood":"1"}`},
		{[]string{"level=1"}, `{"level":1}`},
		{[]string{"fixed=7"}, `{"fixed":"7"}`},
		{[]string{"free=7"}, `{"free":7}`},
		{[]string{"free=seven"}, `{"free":"seven"}`},
		{[]string{`free={"a":[1]}`}, `{"free":{"a":[1]}}`},
		{[]string{`free=[1]`}, `{"free":[1]}`},
		{[]string{"free=null"}, `{"free":null}`},
		{[]string{"shared=7"}, `{"shared":7}`},
		{[]string{"choice=true"}, `{"choice":true}`},
		{[]string{"choice=x"}, `{"choice":"x"}`},
		{[]string{"txet=a"}, "txet: unknown argument; did you mean text?"},
		{[]string{"text"}, `"text" is not a key=value pair; write key=value`},
		{[]string{"=5"}, `"=5" is not a key=value pair; write key=value`},
		{[]string{"text=\xff"}, "text: is not valid UTF-8"},
	} {
		checkCoerce(t, tool, c.pairs, c.want)
	}
}

func checkCoerce(t *testing.T, tool manifests.Tool, pairs []string, want string) {
	t.Helper()
	got, err := manifests.CoerceArgs(tool, pairs)
	if err == nil {
		if string(got) != want {
			t.Errorf("%q: have %s, want %s", pairs, got, want)
		}
		return
	}
	var errs manifests.Errors
	if !errors.Is(err, manifests.ErrInput) || !errors.As(err, &errs) || errs.Error() != want {
		t.Errorf("%q:\nhave %v\nwant %s", pairs, err, want)
	}
}

func TestCoerceArgsOfOpenSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type": "object"}`:                                                       `{"x":1}`,
		`{"type": "object", "properties": {}}`:                                     "x: unknown argument; the tool takes none",
		`{"type": "object", "additionalProperties": true}`:                         `{"x":1}`,
		`{"type": "object", "additionalProperties": {"type": "string"}}`:           `{"x":"1"}`,
		`{"type": "object", "additionalProperties": false}`:                        "x: unknown argument; the tool takes none",
		`{"type": "object", "patternProperties": {"^x": {"type": "string"}}}`:      `{"x":"1"}`,
		`{"type": "object", "allOf": [{"properties": {"x": {"type": "string"}}}]}`: `{"x":"1"}`,
		`{"type": "object", "properties": {"alpha": {}, "beta": {}}}`:              "x: unknown argument; the arguments are alpha, beta",
		"": "the tool does not say which arguments it takes; give its input whole",
	} {
		checkCoerce(t, manifests.Tool{Name: "run", InputSchema: json.RawMessage(schema)}, []string{"x=1"}, want)
	}
}
