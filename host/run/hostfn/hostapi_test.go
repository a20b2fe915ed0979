package hostfn

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/sdk/hostapi"
)

// described is the description that the SDKs and the reference page are made of.
func described(t *testing.T) *hostapi.Interface {
	t.Helper()
	api, err := hostapi.Load()
	must(t, err)
	return api
}

// TestDescribed: the description has the functions there are, no more and no fewer, and says of each what grant
// it takes and which errors it has; it has every kind of error, and every limit by its number.
func TestDescribed(t *testing.T) {
	t.Parallel()
	api := described(t)
	if api.Module != Module {
		t.Errorf("module %q", api.Module)
	}
	var have, want []string
	for _, f := range api.Functions {
		have = append(have, f.Name)
	}
	for _, f := range functions() {
		want = append(want, f.name)
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("sdk/hostapi/interface.json describes %q, the host offers %q", have, want)
	}
	for _, f := range functions() {
		if d := describedFunction(t, api, f.name); d.Free != f.free {
			t.Errorf("%s needs no grant because %q, described is %q", f.name, f.free, d.Free)
		}
	}
	limits := map[string]int64{
		"max_meta": MaxMeta, "max_read": MaxRead, "max_list": MaxList, "max_url": MaxURL, "max_redirects": MaxRedirects,
		"max_headers": MaxHeaders, "max_header_bytes": MaxHeaderBytes, "max_key": MaxKey, "max_value": MaxValue, "max_keys": MaxKeys,
		"max_prompt": MaxPrompt, "max_model_answer": MaxModelAnswer,
	}
	for _, l := range api.Limits {
		if limits[l.Name] != l.Value {
			t.Errorf("limit %s is described as %d, it is %d", l.Name, l.Value, limits[l.Name])
		}
	}
	if len(api.Limits) != len(limits) {
		t.Errorf("%d limits are described, there are %d", len(api.Limits), len(limits))
	}
	kinds := []Kind{KindDenied, KindNotFound, KindInvalid, KindLimit, KindIO, KindTimeout, KindConflict, KindFailed, KindNotRecorded}
	for _, k := range api.Kinds {
		if !slices.Contains(kinds, Kind(k.Name)) {
			t.Errorf("kind %s is described and nobody's", k.Name)
		}
	}
	if len(api.Kinds) != len(kinds) {
		t.Errorf("%d kinds are described, there are %d", len(api.Kinds), len(kinds))
	}
}

func describedFunction(t *testing.T, api *hostapi.Interface, name string) hostapi.Function {
	t.Helper()
	for _, f := range api.Functions {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("%s is not described", name)
	return hostapi.Function{}
}

// TestDescribedImports: a module that imports all that is described can be linked, so each function has the
// signature the description gives it.
func TestDescribedImports(t *testing.T) {
	t.Parallel()
	api := described(t)
	m := wasmtest.New()
	for _, f := range api.Transfer {
		var params []string
		for _, p := range f.Params {
			params = append(params, map[string]string{"pointer": "i32", "length": "i32", "i64": "i64"}[p.Type])
		}
		m.ImportFunc(api.Module, f.Name, wasmtest.Sig(strings.Join(params, " "), f.Result))
	}
	for _, f := range api.Functions {
		m.ImportFunc(api.Module, f.Name, wasmtest.Sig("i32 i32 i32 i32", "i64"))
	}
	m.Memory(1, 1)
	m.ExportMemory("memory")
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(0)))
	loaded, err := runtime(t).Load(t.Context(), m.Bytes())
	must(t, err)
	must(t, loaded.Close(context.WithoutCancel(t.Context())))
}

// TestDescribedRequests: the fields that a function decodes are those described, with their types.
func TestDescribedRequests(t *testing.T) {
	t.Parallel()
	api := described(t)
	asks := requestStructs(t)
	for _, f := range functions() {
		d := describedFunction(t, api, f.name)
		want := map[string]string{}
		for _, x := range d.Request {
			want[x.Name] = decodedAs(api, x)
			testField(t, f.name, d, x)
		}
		run := goruntime.FuncForPC(reflect.ValueOf(f.run).Pointer()).Name()
		run = run[strings.LastIndexByte(run, '.')+1:]
		if got := asks[run]; !maps.Equal(got, want) {
			t.Errorf("%s decodes %v (var ask of the function %s), described is %v", f.name, got, run, want)
		}
		r := call(t, env(t), f.name, `{"no_such_field":1}`, nil)
		if wantKind(t, f.name, r, KindInvalid); !strings.Contains(r.Error.Message, "unknown field") {
			t.Errorf("%s with a field that is not described: %s", f.name, r.Meta)
		}
		r = call(t, env(t), f.name, string(d.Example.Request), nil)
		if r.Error.Kind != "" && r.Error.Kind != KindDenied {
			t.Errorf("%s: the example's request: %s", f.name, r.Meta)
		}
	}
}

// testField sends a field by itself, with a value of its type and one of another.
func testField(t *testing.T, name string, d hostapi.Function, x hostapi.Field) {
	t.Helper()
	var example map[string]json.RawMessage
	must(t, json.Unmarshal(d.Example.Request, &example))
	sample := example[x.Name]
	if sample == nil {
		sample = json.RawMessage(map[string]string{"string": `"a"`, "bool": "true", "int": "1", "uint": "1", "float": "0.5", "string[]{}": `{"A":["b"]}`}[x.Type.String()])
	}
	r := call(t, env(t), name, fmt.Sprintf(`{%q:%s}`, x.Name, sample), nil)
	if strings.Contains(r.Error.Message, "request data") {
		t.Errorf("%s with %s %s: %s", name, x.Name, sample, r.Meta)
	}
	other := map[bool]string{true: "[[0]]", false: `{"a":[[0]]}`}[x.Type.Map]
	r = call(t, env(t), name, fmt.Sprintf(`{%q:%s}`, x.Name, other), nil)
	if wantKind(t, name+" "+x.Name, r, KindInvalid); !strings.Contains(r.Error.Message, "request data") {
		t.Errorf("%s with %s of another type: %s", name, x.Name, r.Meta)
	}
}

// decodedAs is the Go type that a described field is decoded into, numbers of any size as one.
func decodedAs(api *hostapi.Interface, f hostapi.Field) string {
	name := string(f.Type.Base)
	if _, ok := api.Enum(f.Type.Base); ok {
		name = "string"
	}
	switch {
	case f.Nullable:
		name = "*" + name
	case f.Type.Map && f.Type.List:
		name = "map[string][]" + name
	case f.Type.Map:
		name = "map[string]" + name
	}
	return name
}

// requestStructs reads from the source of this package what each function decodes its request into: the members
// of its variable ask, with their types.
func requestStructs(t *testing.T) map[string]map[string]string {
	t.Helper()
	all, types := map[string]map[string]string{}, map[string]*ast.StructType{}
	var bodies []*ast.FuncDecl
	files, err := os.ReadDir(".")
	must(t, err)
	fset := token.NewFileSet()
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, f.Name(), nil, 0)
		must(t, err)
		for _, d := range parsed.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				bodies = append(bodies, fn)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	for _, fn := range bodies {
		ast.Inspect(fn, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || spec.Names[0].Name != "ask" {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if id, named := spec.Type.(*ast.Ident); named {
				s, ok = types[id.Name]
			}
			if ok {
				all[fn.Name.Name] = members(t, s)
			}
			return true
		})
	}
	return all
}

// members returns the JSON names of a struct's fields, with their types in the words of the description.
func members(t *testing.T, s *ast.StructType) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range s.Fields.List {
		tag, err := strconv.Unquote(f.Tag.Value)
		must(t, err)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		out[name] = typeText(f.Type)
	}
	return out
}

// typeText writes a type of the source in the words of the description.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.MapType:
		return "map[" + typeText(e.Key) + "]" + typeText(e.Value)
	case *ast.Ident:
		return map[string]string{"string": "string", "bool": "bool", "int": "int", "int64": "int", "uint64": "uint", "float64": "float"}[e.Name]
	}
	return "another type"
}

// TestDescribedResponses: what a function answers has the members described and no others.
func TestDescribedResponses(t *testing.T) {
	t.Parallel()
	api := described(t)
	dir := tree(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }))
	t.Cleanup(server.Close)
	s := settings(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**", "http:* "+server.URL+"/*", "kv", "secret:*", "notify", "skill:*", "model:*")
	s.KV, s.Notifier, s.Skills, s.Models = memory(t), answering{}, answering{}, answering{}
	e := open(t, s)
	tried := map[string]bool{}
	for _, c := range []struct{ name, meta string }{
		{"fs_read", field("path", dir+"/a.txt")},
		{"fs_write", field("path", dir+"/made")},
		{"fs_list", fmt.Sprintf(`{"path":%q,"recursive":true}`, dir)},
		{"fs_stat", field("path", dir+"/a.txt")},
		{"fs_stat", field("path", dir+"/none")},
		{"http_request", field("url", server.URL+"/x")},
		{"kv_put", `{"key":"k"}`},
		{"kv_get", `{"key":"k"}`},
		{"kv_get", `{"key":"none"}`},
		{"kv_list", `{}`},
		{"kv_list", `{"prefix":"none"}`},
		{"kv_delete", `{"key":"k"}`},
		{"secret_exists", `{"name":"github"}`},
		{"log", `{}`},
		{"notify", `{"title":"t"}`},
		{"skill_call", `{"skill":"csv"}`},
		{"model_call", `{"model":"fast"}`},
	} {
		tried[c.name] = true
		r, d := call(t, e, c.name, c.meta, []byte("body")), describedFunction(t, api, c.name)
		if wantKind(t, c.name, r, ""); r.Error.Kind != "" {
			continue
		}
		if err := api.Conforms(r.Meta, d.Response); err != nil {
			t.Errorf("%s %s answers %s: %v", c.name, c.meta, r.Meta, err)
		}
		if len(r.Body) > 0 && d.ResponseBody == "" {
			t.Errorf("%s answers a body, which is not described", c.name)
		}
	}
	for _, f := range functions() {
		if !tried[f.name] {
			t.Errorf("%s is not tried", f.name)
		}
	}
}

// answering is everybody a guest may reach, with an answer for each.
type answering struct{}

func (answering) Notify(context.Context, Notification) error { return nil }

func (answering) CallSkill(context.Context, SkillCall) ([]byte, error) { return []byte("output"), nil }

func (answering) AskModel(context.Context, ModelRequest) (ModelAnswer, error) {
	return ModelAnswer{Model: "m", FinishReason: "stop", Text: []byte("answer")}, nil
}
