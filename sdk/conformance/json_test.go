package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/run/hostfn"
)

// numbers are decimals that are hard to read, and doubles that are hard to write.
func numbers() []string {
	all := []string{
		"0", "-0.0", "1", "-1", "0.1", "0.2", "0.30000000000000004", "123456789.123456789", "1e21", "1e22", "1e23", "-1e-5", "1E+2", "1.5e-7",
		"5e-324", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
		"1.7976931348623157e308", "9007199254740993", "9007199254740992.5", "9007199254740993.00000000000000000000000000000000000000000000001",
		"1.00000000000000011102230246251565404236316680908203125", "1.00000000000000011102230246251565404236316680908203124",
		"1.00000000000000011102230246251565404236316680908203126", "0.000000000000000000000000000000000000000000000000000000000000001e63",
		"1e-400", "0e999999999", "100000000000000000000000000000000000000000000000000e-50", "8.41e21", "9.5e-6", "6.9294956446009195e15",
		"1." + strings.Repeat("0", 900) + "1", strings.Repeat("9", 300), "0." + strings.Repeat("0", 320) + "123456789", "17976931348623157000e289",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f := math.Float64frombits(r.Uint64())
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			all = append(all, strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(r.NormFloat64()*1e3, 'g', -1, 64))
		}
	}
	return all
}

// malformed are texts that are no JSON, and some that are.
func malformed() []string {
	const good = `{"text":"a\u00e9\n","int":12,"float":-1.5e3,"list":[1,2],"map":{"k":"v"},"maybe":null,"flag":true,"x":[[],{}]}`
	all := []string{
		`{"x":01}`, `{"x":1.}`, `{"x":.5}`, `{"x":+1}`, `{"x":1e}`, `{"x":-}`, `{"x":"\x"}`, `{"x":"\u12"}`, `{"x":"\ud800"}`, `{"x":"\udc00\ud800"}`,
		`{"x":"\ud83d\u0041"}`, "{\"x\":\"\n\"}", `{"x":tru}`, `{"x":nul}`, `{"x":1,}`, `{"x":[1,]}`, `{,}`, `{"x"}`, `{"x":}`, `{1:2}`, `{'x':1}`,
		`{"x":1}}`, `{"x":[1}`, `{}x`, `{"x":NaN}`, `{"x":Infinity}`, "\ufeff{}", `{"x":1 "y":2}`, strings.Repeat(`{"x":`, 150) + "1" + strings.Repeat("}", 150),
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := []byte(good)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = `{}[]":,.\0123456789eE+-truefalsn `[r.IntN(32)]
		}
		all = append(all, string(b[:1+r.IntN(len(b))]), string(b))
	}
	return all
}

// testJSON has a module read and write what is hard to.
func testJSON(t *testing.T, e engine) {
	env := hostfn.NewEnv(hostfn.Settings{})
	defer env.Close()
	for _, n := range numbers() {
		want, err := strconv.ParseFloat(n, 64)
		must(t, err)
		got := e.run(t, Call{"values", `{"float":` + n + `}`}, env)
		var v struct{ Float float64 }
		if got.err != nil || json.Unmarshal([]byte(got.output), &v) != nil || v.Float != want {
			t.Errorf("%s is read and written as %s (%s %v)", short(n), short(got.output), got.message, got.err)
		}
	}
	for _, n := range []string{"1e309", "-1e400", strings.Repeat("9", 400)} {
		if got := e.run(t, Call{"values", `{"float":` + n + `}`}, env); got.kind != "invalid" || !strings.Contains(got.message, "float") {
			t.Errorf("%s is read as %s, %s %s", short(n), got.output, got.kind, short(got.message))
		}
	}
	for _, text := range malformed() {
		got := e.run(t, Call{"values", text}, env)
		if got.err != nil || !json.Valid([]byte(text)) && got.kind != "invalid" || got.kind == "" && !json.Valid([]byte(got.output)) {
			t.Errorf("%q: %s, %q %s, %v", text, short(got.output), got.kind, short(got.message), got.err)
		}
	}
	for _, n := range []int64{math.MaxInt64, math.MinInt64, 1 << 53, -1} {
		text := fmt.Sprintf(`{"int":%d}`, n)
		var v struct{ Int int64 }
		if got := e.run(t, Call{"values", text}, env); json.Unmarshal([]byte(got.output), &v) != nil || v.Int != n {
			t.Errorf("%s: %s %s", text, got.output, got.message)
		}
	}
	for _, n := range []string{"9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e2"} {
		if got := e.run(t, Call{"values", `{"int":` + n + `}`}, env); got.kind != "invalid" && n != "1e2" {
			t.Errorf("%s is read as %s", n, got.output)
		}
	}
}
