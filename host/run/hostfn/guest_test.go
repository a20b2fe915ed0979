package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settings are those of an installed skill with some grants and the default policies.
func settings(t testing.TB, grants ...string) Settings {
	t.Helper()
	p, err := policies.Default()
	must(t, err)
	granted, err := capability.ParseSet(grants...)
	must(t, err)
	return Settings{
		Granted: granted, Policies: p, Home: "/nowhere/.skillet",
		Principal: policies.Principal{Skill: "tester", Version: "1.0.0", Origin: policies.OriginUser},
	}
}

// open makes an Env that the test closes.
func open(t testing.TB, s Settings) *Env {
	t.Helper()
	e := NewEnv(s)
	t.Cleanup(e.Close)
	return e
}

// env is an Env with some grants.
func env(t testing.TB, grants ...string) *Env {
	t.Helper()
	return open(t, settings(t, grants...))
}

// reply is a response of a function, as the guest reads it.
type reply struct {
	Error struct {
		Kind    Kind   `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
	Meta json.RawMessage `json:"-"`
	Body []byte          `json:"-"`
}

// call runs a function of the common shape without a guest.
func call(t testing.TB, e *Env, name, meta string, body []byte) reply {
	t.Helper()
	return callCtx(t, context.Background(), e, name, meta, body)
}

func callCtx(t testing.TB, ctx context.Context, e *Env, name, meta string, body []byte) reply {
	t.Helper()
	for _, f := range functions() {
		if f.name == name {
			answer, out := f.serve(ctx, e, []byte(meta), body)
			return parseReply(t, answer, out)
		}
	}
	t.Fatalf("no function %q", name)
	return reply{}
}

func parseReply(t testing.TB, meta, body []byte) reply {
	t.Helper()
	r := reply{Meta: meta, Body: body}
	if err := json.Unmarshal(meta, &r); err != nil {
		t.Fatalf("response data %q: %v", meta, err)
	}
	return r
}

// get reads one field of the answer.
func get[T any](t testing.TB, r reply, field string) T {
	t.Helper()
	var all map[string]json.RawMessage
	must(t, json.Unmarshal(r.Meta, &all))
	var v T
	if raw, ok := all[field]; !ok {
		t.Errorf("no field %q in %s", field, r.Meta)
	} else if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("field %q in %s: %v", field, r.Meta, err)
	}
	return v
}

// wantKind fails unless the reply is an error of a kind; "" is none.
func wantKind(t testing.TB, what string, r reply, k Kind) {
	t.Helper()
	if r.Error.Kind != k {
		t.Errorf("%s: got %s, want kind %q", what, r.Meta, k)
	}
	if k == KindDenied && r.Error.Message != "denied" {
		t.Errorf("%s: a refusal says %q", what, r.Error.Message)
	}
}

// field quotes a JSON object of strings.
func field(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, _ := json.Marshal(m)
	return string(b)
}

// runtime offers all functions to real guests.
func runtime(t testing.TB) *sandbox.Runtime {
	t.Helper()
	r, err := sandbox.New(context.Background(), hclog.NewNullLogger(), sandbox.Options{Functions: Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")})
	must(t, err)
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

const (
	atBody   = 1 << 16 // where the guest keeps the request body
	atAnswer = 2 << 16 // where it receives the response data
	atOut    = 3 << 16 // where it receives the response body
)

// bulkGuest is a module whose export "run" calls one function of the common shape with a request, and
// writes the response's lengths (8 bytes), data and body to its output.
func bulkGuest(name, meta, body string) []byte {
	m := wasmtest.New()
	i32x4 := wasmtest.Sig("i32 i32 i32 i32", "i64")
	fn := m.ImportFunc(Module, name, i32x4)
	read := m.ImportFunc(Module, "response_read", wasmtest.Sig("i32 i32", ""))
	write := m.ImportFunc(Module, "output_write", wasmtest.Sig("i32 i32", ""))
	m.Memory(16, 16)
	m.ExportMemory("memory")
	m.Data(16, []byte(meta))
	m.Data(atBody, []byte(body))
	c := wasmtest.I32Const
	shift, wrap, store := wasmtest.Op(0x88), wasmtest.Op(0xa7), wasmtest.Store(0x37, 0)
	run := m.Func(wasmtest.Sig("", "i32"), "i64",
		c(16), c(int32(len(meta))), c(atBody), c(int32(len(body))), wasmtest.Call(fn), wasmtest.LocalSet(0),
		c(atAnswer), c(atOut), wasmtest.Call(read),
		c(0), wasmtest.LocalGet(0), store, c(0), c(8), wasmtest.Call(write),
		c(atAnswer), wasmtest.LocalGet(0), wasmtest.I64Const(32), shift, wrap, wasmtest.Call(write),
		c(atOut), wasmtest.LocalGet(0), wrap, wasmtest.Call(write),
		c(0))
	m.ExportFunc("run", run)
	return m.Bytes()
}

// runBulk calls a function from a real guest.
func runBulk(t testing.TB, r *sandbox.Runtime, e *Env, name, meta, body string) reply {
	t.Helper()
	ctx := context.Background()
	m, err := r.Load(ctx, bulkGuest(name, meta, body))
	must(t, err)
	defer m.Close(ctx)
	res, err := m.Call(ctx, sandbox.Call{Export: "run", Env: e})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	n := uint32(res.Output[4]) | uint32(res.Output[5])<<8 | uint32(res.Output[6])<<16
	return parseReply(t, res.Output[8:8+n], res.Output[8+n:])
}

// extismGuest is a module whose export "run" calls an Extism import with blocks that hold the arguments,
// and writes what the block it returns holds to its output. A second call may follow the first.
func extismGuest(f sandbox.HostFunc, args ...string) []byte {
	m := wasmtest.New()
	sig := wasmtest.Signature{Params: f.Params, Results: f.Results}
	fn := m.ImportFunc(f.Module, f.Name, sig)
	alloc := m.ImportFunc(f.Module, "alloc", wasmtest.Sig("i64", "i64"))
	store := m.ImportFunc(f.Module, "store_u8", wasmtest.Sig("i64 i32", ""))
	length := m.ImportFunc(f.Module, "length", wasmtest.Sig("i64", "i64"))
	output := m.ImportFunc(f.Module, "output_set", wasmtest.Sig("i64 i64", ""))
	var code [][]byte
	for i, a := range args {
		code = append(code, wasmtest.I64Const(int64(len(a))), wasmtest.Call(alloc), wasmtest.LocalSet(i))
		for j := range len(a) {
			code = append(code, wasmtest.LocalGet(i), wasmtest.I64Const(int64(j)), wasmtest.Op(0x7c), wasmtest.I32Const(int32(a[j])), wasmtest.Call(store))
		}
	}
	for i := range f.Params {
		code = append(code, wasmtest.LocalGet(i))
	}
	code = append(code, wasmtest.Call(fn))
	if len(f.Results) == 1 && f.Results[0] == sandbox.I64 {
		code = append(code, wasmtest.LocalSet(3), wasmtest.LocalGet(3), wasmtest.LocalGet(3), wasmtest.Call(length), wasmtest.Call(output))
	} else if len(f.Results) == 1 {
		code = append(code, wasmtest.Drop())
	}
	code = append(code, wasmtest.I32Const(0))
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "i64 i64 i64 i64", code...))
	m.Memory(1, 1)
	m.ExportMemory("memory")
	return m.Bytes()
}

// extismFunc finds an Extism import.
func extismFunc(t testing.TB, name string) sandbox.HostFunc {
	t.Helper()
	for _, f := range extismFunctions() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no import %q", name)
	return sandbox.HostFunc{}
}

// runExtism calls an Extism import from a real guest.
func runExtism(t testing.TB, r *sandbox.Runtime, e *Env, name string, args ...string) (string, error) {
	t.Helper()
	ctx := context.Background()
	m, err := r.Load(ctx, extismGuest(extismFunc(t, name), args...))
	must(t, err)
	defer m.Close(ctx)
	res, err := m.Call(ctx, sandbox.Call{Export: "run", Env: e, Config: map[string]string{"color": "blue"}})
	return string(res.Output), err
}

// TestNothingWithoutGrants calls every function there is, from a real guest without any grant. Each has to
// refuse, or to be in the list below with a reason of its own. A function that is added is called too: it
// needs an example of a request that only a grant is missing for.
func TestNothingWithoutGrants(t *testing.T) {
	t.Parallel()
	free := []string{
		"skillet:host/v1.log",
		"extism:host/env.http_status_code", "extism:host/env.http_headers",
		"extism:host/env.var_get", "extism:host/env.var_set", "extism:host/env.config_get",
		"extism:host/env.log_trace", "extism:host/env.log_debug", "extism:host/env.log_info",
		"extism:host/env.log_warn", "extism:host/env.log_error",
	}
	declared := Free()
	if len(declared) != len(free) {
		t.Errorf("%d functions say they need no grant, the list here has %d", len(declared), len(free))
	}
	for _, name := range free {
		if declared[name] == "" {
			t.Errorf("%s is free here and gives no reason there", name)
		}
	}
	rt := runtime(t)
	examples := map[string]string{"extism:host/env.http_request": `{"url":"https://example.com/"}`}
	for _, f := range functions() {
		examples[Module+"."+f.name] = f.example
	}
	for _, f := range Functions() {
		name := f.Module + "." + f.Name
		t.Run(name, func(t *testing.T) {
			e := env(t)
			example := examples[name]
			switch {
			case declared[name] != "":
				return
			case example == "":
				t.Fatal("no example of a request")
			case f.Module == Module:
				wantKind(t, name, runBulk(t, rt, e, f.Name, example, "body"), KindDenied)
			default:
				if out, err := runExtism(t, rt, e, f.Name, example, "body"); !errors.Is(err, ErrDenied) || out != "" {
					t.Errorf("got %q, %v", out, err)
				}
			}
			d := e.Denials()
			if len(d) != 1 || d[0].Way().String() == "" || d[0].Capability == "" || d[0].Count < 1 || !strings.Contains(d[0].Reason, "not granted") {
				t.Errorf("recorded %+v", d)
			}
			if len(e.Uses()) != 0 {
				t.Errorf("uses %+v", e.Uses())
			}
		})
	}
}

// TestNoPolicies: a host that forgot the policies refuses everything, whatever is granted.
func TestNoPolicies(t *testing.T) {
	t.Parallel()
	s := settings(t, "fs.read:/**", "fs.write:/**", "http:* https://example.com/*", "kv", "secret:*", "notify")
	s.Policies = nil
	for _, f := range functions() {
		if f.free == "" {
			wantKind(t, f.name, call(t, open(t, s), f.name, f.example, nil), KindDenied)
		}
	}
}

// TestNoEnv: without an environment nothing works.
func TestNoEnv(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	ctx := context.Background()
	m, err := rt.Load(ctx, bulkGuest("log", `{"level":"info"}`, ""))
	must(t, err)
	defer m.Close(ctx)
	for _, none := range []any{nil, "other", (*Env)(nil)} {
		if _, err := m.Call(ctx, sandbox.Call{Export: "run", Env: none}); !errors.Is(err, errNoEnv) {
			t.Errorf("Env %#v: %v", none, err)
		}
	}
}

// TestDenialsTell: what a person reads of a refusal.
func TestDenialsTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grants     []string
		name, meta string
		request    string
		capability string
		policy     string
		reason     string
		hint       string
	}{
		{nil, "fs_read", `{"path":"/etc/passwd"}`, "fs.read:/etc/passwd", "fs.read:/etc/passwd", "",
			"not granted", "[grant tester fs.read:/etc/passwd]"},
		{nil, "fs_write", `{"path":"/tmp/it's"}`, "fs.write:/tmp/it's", "fs.write:/tmp/it's", "",
			"not granted", `[grant tester fs.write:/tmp/it's]`},
		{nil, "http_request", `{"method":"POST","url":"https://host.example/v1/x?key=1"}`, "http:POST https://host.example/v1/x",
			"http:POST https://host.example/v1/x", "", "not granted", "[grant tester http:POST https://host.example/*]"},
		{nil, "kv_get", `{"key":"k"}`, "kv", "kv", "", "not granted", "[grant tester kv]"},
		{nil, "secret_exists", `{"name":"github"}`, "secret:github", "secret:github", "", "not granted",
			"[grant tester secret:github]"},
		{nil, "skill_call", `{"skill":"csv","tool":"stats"}`, "skill:csv", "skill:csv", "", "not granted", "[grant tester skill:csv]"},
		{[]string{"skill:js-repl"}, "skill_call", `{"skill":"js-repl","session":"work"}`, "session:js-repl/work", "session:js-repl/work", "",
			"not granted", "[grant tester session:js-repl/work]"},
		{nil, "model_call", `{"model":"fast"}`, "model:fast", "model:fast", "", "not granted", "[grant tester model:fast]"},
		{[]string{"fs.read:/home/**"}, "fs_read", `{"path":"/home/u/.ssh/id_rsa"}`, "fs.read:/home/u/.ssh/id_rsa",
			"fs.read:/home/u/.ssh/id_rsa", "no-credentials", "credentials", ""},
		{nil, "fs_read", `{"path":"/home/u/.ssh/id_rsa"}`, "fs.read:/home/u/.ssh/id_rsa",
			"fs.read:/home/u/.ssh/id_rsa", "no-credentials", "credentials", ""},
		{[]string{"fs.read:/**"}, "fs_read", `{"path":"/nowhere/.skillet/secrets/x"}`, "fs.read:/nowhere/.skillet/secrets/x",
			"fs.read:/nowhere/.skillet/secrets/x", "no-skillet-home", "home", ""},
		{[]string{"http:* http://169.254.169.254/*"}, "http_request", `{"url":"http://169.254.169.254/latest/meta-data"}`,
			"http:GET http://169.254.169.254/latest/meta-data", "http:GET http://169.254.169.254/latest/meta-data", "no-cloud-metadata", "metadata", ""},
		{nil, "fs_read", `{"path":"/a/b*"}`, "fs.read:/a/b*", "", "", "no capability", ""},
	} {
		e := env(t, c.grants...)
		wantKind(t, c.meta, call(t, e, c.name, c.meta, nil), KindDenied)
		wantKind(t, c.meta, call(t, e, c.name, c.meta, nil), KindDenied)
		all := e.Denials()
		if len(all) != 1 {
			t.Errorf("%s: %d denials: %+v", c.meta, len(all), all)
			continue
		}
		d := all[0]
		if d.Request != c.request || d.Capability != c.capability || d.Way().String() != c.hint || d.Count != 2 ||
			strings.Join(d.Policies, ",") != c.policy || !strings.Contains(d.Reason, c.reason) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.meta, d, c)
		}
	}
}

func TestHintForUninstalled(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Principal.Origin = policies.OriginPath
	e := open(t, s)
	call(t, e, "kv_get", `{"key":"k"}`, nil)
	if d := e.Denials(); d[0].Way().String() != "run it again with [set_field allow=kv]" {
		t.Errorf("hint %q", d[0].Way().String())
	}
}

// TestDenialsAreBounded: a guest that tries a million things does not fill the host's memory.
func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	e := env(t, "fs.read:/tmp/**")
	for i := range 3 * maxUses {
		call(t, e, "fs_read", field("path", "/x/"+strings.Repeat("y", i%250)+string(rune('a'+i%26))), nil)
		call(t, e, "fs_stat", field("path", "/tmp/none/"+strings.Repeat("y", i%250)+string(rune('a'+i%26))), nil)
	}
	if d, u := len(e.Denials()), len(e.Uses()); d != maxDenials || u != maxUses+1 {
		t.Errorf("%d denials, %d uses kept", d, u)
	}
	uses, counted := e.Uses(), 0
	for _, u := range uses {
		counted += u.Count
	}
	if last := uses[maxUses]; last.Request != "" || last.Capability != "fs.read:/tmp/**" || counted < 3*maxUses {
		t.Errorf("the rest is %+v, and %d uses were counted of at least %d", last, counted, 3*maxUses)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	e := env(t, "clock")
	if !e.Allows(capability.Request{Action: capability.Clock}) || e.Allows(capability.Request{Action: capability.Random}) {
		t.Error("clock is granted and random is not")
	}
	if len(e.Denials()) != 0 {
		t.Error("asking was recorded")
	}
}

// TestRequestShape: what is not a request is an error of the guest's and not of the host's.
func TestRequestShape(t *testing.T) {
	t.Parallel()
	for _, f := range functions() {
		for _, meta := range []string{`[]`, `{"x":1}`, `{`, `{} {}`, `{}x`, `"s"`, "\xff"} {
			wantKind(t, f.name+" "+meta, call(t, env(t, "fs.read:/tmp/**"), f.name, meta, nil), KindInvalid)
		}
	}
	rt := runtime(t)
	long := `{"level":"info"` + strings.Repeat(" ", MaxMeta) + "}"
	wantKind(t, "short", runBulk(t, rt, env(t), "log", `{"level":"info"}`, "x"), "")
	wantKind(t, "long", runBulk(t, rt, env(t), "log", long, ""), KindLimit)
}
