package review_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// pack makes a package of a module and of files.
func pack(t *testing.T, wasm []byte, files ...string) *bundle.Package {
	t.Helper()
	all := map[string][]byte{
		"main.wasm":  wasm,
		"skill.json": []byte(`{"name":"a","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"run","description":"d"}]}`),
	}
	for i := 0; i < len(files); i += 2 {
		all[files[i]] = []byte(files[i+1])
	}
	p, err := bundle.FromFiles(all)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wasm makes a module that imports and exports functions by name.
func wasm(imports []string, exports ...string) []byte {
	m := wasmtest.New()
	for _, i := range imports {
		m.ImportFunc("skillet:host/v1", i, wasmtest.Sig("i32 i32 i32 i32", "i64"))
	}
	for _, e := range exports {
		m.ExportFunc(e, m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(0)))
	}
	return m.Bytes()
}

func file(t *testing.T, d review.Difference, path string) review.File {
	t.Helper()
	i := slices.IndexFunc(d.Files, func(f review.File) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("%s is not in %+v", path, d.Files)
	}
	return d.Files[i]
}

func TestFiles(t *testing.T) {
	calm := wasm(nil, "run")
	before := pack(t, calm, "README.md", "one\ntwo\nthree\n", "assets/old.txt", "old\n", "assets/b.bin", "\x00\x01", "LICENSE", "same")
	after := pack(t, calm, "README.md", "one\n2\nthree", "assets/new.txt", "new\n", "assets/b.bin", "\x00\x02", "LICENSE", "same")
	d := review.Compare(before, after, review.Brief())
	for path, want := range map[string]struct {
		change review.Change
		diff   string
		note   string
	}{
		"LICENSE":        {change: review.Same},
		"main.wasm":      {change: review.Same},
		"README.md":      {review.Changed, "@@ -1,3 +1,3 @@|  one|- two|- three|+ 2|+ three|\\ No newline at end of file", ""},
		"assets/new.txt": {review.Added, "@@ -0,0 +1,1 @@|+ new", ""},
		"assets/old.txt": {review.Removed, "@@ -1,1 +0,0 @@|- old", ""},
		"assets/b.bin":   {review.Changed, "", "binary"},
	} {
		f := file(t, d, path)
		var lines []string
		for _, l := range f.Diff {
			if strings.ContainsAny(l[:1], " +-") {
				l = l[:1] + " " + l[1:]
			}
			lines = append(lines, l)
		}
		if got := strings.Join(lines, "|"); f.Change != want.change || got != want.diff || f.Note != want.note {
			t.Errorf("%s: %s %q (%s), want %s %q (%s)", path, f.Change, got, f.Note, want.change, want.diff, want.note)
		}
	}
	if f := file(t, d, "assets/b.bin"); f.Before == nil || f.Before.Digest == f.Digest {
		t.Errorf("a changed binary file is told by its digests: %+v", f)
	}
	if d.Module != nil {
		t.Errorf("the module is the same: %+v", d.Module)
	}
}

// What a comparison returns is bounded, and says what it left out.
func TestLimits(t *testing.T) {
	calm := wasm(nil, "run")
	long := strings.Repeat("line\n", 100)
	before := pack(t, calm)
	after := pack(t, calm, "assets/a.txt", long, "assets/b.txt", long, "assets/c.txt", strings.Repeat("ä", 300))
	d := review.Compare(before, after, review.Limits{Lines: 10, Total: 15, LineBytes: 100, FileBytes: 1 << 10})
	a, b, c := file(t, d, "assets/a.txt"), file(t, d, "assets/b.txt"), file(t, d, "assets/c.txt")
	if len(a.Diff) != 10 || a.More != 91 || len(b.Diff) != 5 || b.More != 96 || len(c.Diff) != 0 {
		t.Errorf("%d+%d, %d+%d, %d lines", len(a.Diff), a.More, len(b.Diff), b.More, len(c.Diff))
	}
	d = review.Compare(before, after, review.Limits{LineBytes: 100, FileBytes: 550})
	if f := file(t, d, "assets/a.txt"); len(f.Diff) != 101 || f.More != 0 {
		t.Errorf("no bound on lines: %d+%d", len(f.Diff), f.More)
	}
	if f := file(t, d, "assets/c.txt"); f.Note != "too long" || f.Diff != nil {
		t.Errorf("a long text: %+v", f)
	}
	d = review.Compare(before, after, review.Limits{LineBytes: 100})
	if f := file(t, d, "assets/c.txt"); !f.Cut || f.Diff[1] != "+"+strings.Repeat("ä", 49)+"… (502 bytes more)" {
		t.Errorf("a long line: %q", f.Diff)
	}
	d = review.Compare(before, after, review.Limits{Lines: -1})
	if f := file(t, d, "assets/a.txt"); len(f.Diff) != 0 || f.More != 101 {
		t.Errorf("lines that are only counted: %d+%d", len(f.Diff), f.More)
	}
}

func TestModule(t *testing.T) {
	before := pack(t, wasm([]string{"kv_get", "log"}, "run", "gone"))
	after := pack(t, wasm([]string{"http_request", "log"}, "run", "fresh"))
	d := review.Compare(before, after, review.Brief())
	if d.Module == nil {
		t.Fatal("the module changed")
	}
	var got []string
	for _, f := range append(d.Module.Imports, d.Module.Exports...) {
		got = append(got, fmt.Sprint(f.Change, " ", f.Name, f.Signature, " ", f.Words))
	}
	want := []string{
		"added http_request(i32 i32 i32 i32) -> i64 send HTTP requests",
		"removed kv_get(i32 i32 i32 i32) -> i64 keep values between calls",
		"added fresh() -> i32 ", "removed gone() -> i32 ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if d = review.Compare(nil, after, review.Brief()); len(d.Module.Imports) != 2 || d.Module.BytesBefore != 0 || file(t, d, "main.wasm").Change != review.Added {
		t.Errorf("of a first version everything is added: %+v", d.Module)
	}
	torn := pack(t, []byte("\x00asm nonsense"))
	if d = review.Compare(before, torn, review.Brief()); d.Module.Note == "" {
		t.Error("a module that cannot be read is no module without imports")
	}
}

// Whatever a guest can import is said in words.
func TestWordsForEveryHostFunction(t *testing.T) {
	const unknown = "call something that this host does not know"
	for _, f := range hostfn.Functions() {
		if w := review.Words(f.Module, f.Name); w == unknown || w == "take input and give an answer" {
			t.Errorf("%s %s: %s", f.Module, f.Name, w)
		}
	}
	if w := review.Words("env", "system"); w != unknown {
		t.Error(w)
	}
}

// Whatever takes a grant may be imported by a module whose manifest asks for that,
// and by no other.
func TestEveryFunctionNeedsItsPermission(t *testing.T) {
	t.Parallel()
	for _, f := range guestapi.Functions() {
		lacks := review.Lacks(manifests.Permissions{}, f.Name)
		k, _ := f.Action.Kind()
		if (lacks == "") != (f.Action == "") || !strings.Contains(lacks, k.Field) {
			t.Errorf("%s, which takes a grant for %q, lacks %q", f.Name, f.Action, lacks)
			continue
		}
		if f.Action == "" {
			continue
		}
		value := "[]"
		if k.Shape == capability.ShapeNone {
			value = "{}"
		}
		var asked manifests.Permissions
		if err := json.Unmarshal([]byte(`{"`+k.Field+`":`+value+`}`), &asked); err != nil {
			t.Fatal(err)
		}
		if lacks := review.Lacks(asked, f.Name); lacks != "" {
			t.Errorf("%s lacks %q, and the manifest asks for %s", f.Name, lacks, k.Field)
		}
	}
}

// Texts of strangers: whatever they are, the lines that are kept and those that
// are not are the whole difference.
func FuzzCompare(f *testing.F) {
	f.Add("", "a")
	f.Add("a\nb\n", "a\nc")
	f.Add("\r\n\u202e", "\xff\x00")
	f.Add(strings.Repeat("x\n", 200), strings.Repeat("x\ny\n", 200))
	calm := wasm(nil, "run")
	f.Fuzz(func(t *testing.T, old, new string) {
		before, after := pack(t, calm, "README.md", old), pack(t, calm, "README.md", new)
		whole := file(t, review.Compare(before, after, review.Limits{}), "README.md")
		brief := file(t, review.Compare(before, after, review.Limits{Lines: 5, LineBytes: 20}), "README.md")
		if len(brief.Diff) > 5 || len(brief.Diff)+brief.More != len(whole.Diff) {
			t.Errorf("%d of %d lines, %d more", len(brief.Diff), len(whole.Diff), brief.More)
		}
		if (whole.Change == review.Same) != (old == new) {
			t.Errorf("%q, %q: %s", old, new, whole.Change)
		}
		if old != new && whole.Note == "" && len(whole.Diff) == 0 {
			t.Errorf("%q, %q: no difference", old, new)
		}
	})
}
