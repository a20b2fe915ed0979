package conformance

import (
	"encoding/json"
	"testing"

	"github.com/skillet-run/skillet/host/run/hostfn"
)

// FuzzAssemblyScriptJSON has the reader and the writer of JSON that are our own in AssemblyScript take any bytes: what is
// no JSON is an error of kind invalid, and what is written is JSON.
func FuzzAssemblyScriptJSON(f *testing.F) {
	var l language
	for _, l = range languages() {
		if l.name == "assemblyscript" {
			break
		}
	}
	e := newOurs(f, newSandbox(f), l.module(f))
	for _, text := range malformed()[:60] {
		f.Add([]byte(text))
	}
	for _, n := range numbers()[:40] {
		f.Add([]byte(`{"float":` + n + `}`))
	}
	f.Add([]byte("{\"text\":\"\xff\xc3\xe2\x82\xf0\x9f\"}"))
	f.Add([]byte("{\"text\":\"\xed\xa0\x80\",\"map\":{\"\xf8\x88\x80\x80\x80\":\"\xc0\xaf\"}}"))
	f.Fuzz(func(t *testing.T, input []byte) {
		env := hostfn.NewEnv(hostfn.Settings{})
		defer env.Close()
		got := e.run(t, Call{"values", string(input)}, env)
		switch {
		case got.err != nil:
			t.Errorf("%q: %v", input, got.err)
		case got.kind == "" && !json.Valid([]byte(got.output)):
			t.Errorf("%q: the output is %q", input, got.output)
		case got.kind != "invalid" && len(input) > 0 && !json.Valid(input) && !isSpace(input):
			t.Errorf("%q is read: %s", input, short(got.output))
		}
	})
}

// isSpace reports whether there is nothing in an input, which is an empty object.
func isSpace(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
