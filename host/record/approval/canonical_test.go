package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ true , null ] } `: `{"a":[true,null],"b":1}`,
		`"\u00e9\/"`:           `"é/"`,
		`{"€":1,"\r":2,"1":3}`: `{"\r":2,"1":3,"€":1}`,
		`1e2`:                  `100`,
		`0.000001`:             `0.000001`,
		`-0`:                   `0`,
		`123456789012345`:      `123456789012345`,
		`[]`:                   `[]`,
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":1}`, `9007199254740993`, `[0.1234567890123456]`, `1e400`, `1e-400`, `1 2`, "\"\xff\"", `{"a":1}x`} {
		if got, err := Canonical([]byte(in)); !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

func TestCanonicalDigest(t *testing.T) {
	same := CanonicalDigest([]byte(`{"a":1,"b":"x"}`))
	if CanonicalDigest([]byte("{ \"b\":\"\\u0078\",\n\"a\":1.0}")) != same {
		t.Error("the same input has two digests")
	}
	for _, pair := range [][2]string{
		{`{"a":1}`, `{"a":2}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"id":9007199254740992}`, `{"id":9007199254740993}`},
		{`{"a":1,"a":2}`, `{"a":2}`}, {`{"a":1,"a":2}`, `{"a":1}`}, {"text", "text "}, {"", "null"},
	} {
		if CanonicalDigest([]byte(pair[0])) == CanonicalDigest([]byte(pair[1])) {
			t.Errorf("%s and %s have one digest", pair[0], pair[1])
		}
	}
}

// The canonical form says the same, and is its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"\u2028"]}`, `-0.0`, `"\ud83d\ude00"`, `{"":{}}`, `9007199254740993`, `"\ud800"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Canonical([]byte(text))
		if err != nil {
			return
		}
		again, err := Canonical(c)
		if err != nil || !bytes.Equal(again, c) {
			t.Fatalf("%q becomes %q and then %q: %v", text, c, again, err)
		}
		var a, b any
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%q is canonical and no JSON: %v", text, err)
		}
		if err := json.Unmarshal(c, &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q and %q say something else: %v", text, c, err)
		}
	})
}
