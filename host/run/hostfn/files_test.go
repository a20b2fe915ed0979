package hostfn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies/capability"
)

// tree makes a directory with files, and a secret outside it.
func tree(t testing.TB) (dir string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir = base + "/data"
	must(t, os.MkdirAll(dir+"/sub/deep", 0o755))
	must(t, os.WriteFile(dir+"/a.txt", []byte("alpha"), 0o644))
	must(t, os.WriteFile(dir+"/sub/b.csv", []byte("b"), 0o644))
	must(t, os.WriteFile(dir+"/sub/deep/c", []byte("cc"), 0o644))
	must(t, os.WriteFile(base+"/secret", []byte("SECRET"), 0o644))
	must(t, os.Symlink("../secret", dir+"/out"))
	must(t, os.Symlink("a.txt", dir+"/in"))
	return dir
}

func TestFsRead(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	s := settings(t, "fs.read:"+dir+"/**")
	s.Workspace = dir
	for _, c := range []struct {
		meta string
		kind Kind
		body string
		size int64
		more bool
	}{
		{field("path", dir+"/a.txt"), "", "alpha", 5, false},
		{field("path", "a.txt"), "", "alpha", 5, false},
		{field("path", "./sub/../a.txt"), "", "alpha", 5, false},
		{`{"path":"a.txt","offset":1,"length":2}`, "", "lp", 5, true},
		{`{"path":"a.txt","offset":3,"length":99}`, "", "ha", 5, false},
		{`{"path":"a.txt","offset":9}`, "", "", 5, false},
		{`{"path":"a.txt","offset":9223372036854775807,"length":9223372036854775807}`, "", "", 5, false},
		{`{"path":"in"}`, "", "alpha", 5, false},
		{`{"path":"out"}`, KindDenied, "", 0, false},
		{`{"path":"../secret"}`, KindDenied, "", 0, false},
		{`{"path":"/etc/passwd"}`, KindDenied, "", 0, false},
		{`{"path":"none"}`, KindNotFound, "", 0, false},
		{`{"path":"sub"}`, KindInvalid, "", 0, false},
		{`{"path":"a.txt/"}`, KindInvalid, "", 0, false},
		{`{"path":"a.txt/x"}`, KindInvalid, "", 0, false},
		{`{"path":""}`, KindInvalid, "", 0, false},
		{`{"path":"a\u0000b"}`, KindInvalid, "", 0, false},
		{`{"path":"a\\b"}`, KindDenied, "", 0, false},
		{`{"path":"a.txt","offset":-1}`, KindInvalid, "", 0, false},
		{`{"path":"a.txt","length":-1}`, KindInvalid, "", 0, false},
	} {
		r := call(t, open(t, s), "fs_read", c.meta, nil)
		wantKind(t, c.meta, r, c.kind)
		if c.kind == "" && (string(r.Body) != c.body || get[int64](t, r, "size") != c.size || get[bool](t, r, "truncated") != c.more) {
			t.Errorf("%s: %s %q", c.meta, r.Meta, r.Body)
		}
	}
	if r := call(t, env(t, "fs.read:/**"), "fs_read", `{"path":"rel"}`, nil); r.Error.Kind != KindInvalid {
		t.Errorf("relative without a workspace: %s", r.Meta)
	}
}

// TestEscapeIsRecorded: a link that leads out is denied and the person hears of it.
func TestEscapeIsRecorded(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	e := env(t, "fs.read:"+dir+"/**")
	call(t, e, "fs_read", field("path", dir+"/out"), nil)
	if d := e.Denials(); len(d) != 1 || d[0].Request != "fs.read:"+dir+"/out" || !strings.Contains(d[0].Reason, "link") {
		t.Errorf("denials %+v", d)
	}
}

func TestFsReadLarge(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), (MaxRead+100)/16)
	must(t, os.WriteFile(dir+"/big", want, 0o644))
	e := env(t, "fs.read:"+dir+"/**")
	r := call(t, e, "fs_read", field("path", dir+"/big"), nil)
	if len(r.Body) != MaxRead || !get[bool](t, r, "truncated") {
		t.Fatalf("%d bytes, %s", len(r.Body), r.Meta)
	}
	rest := call(t, e, "fs_read", fmt.Sprintf(`{"path":%q,"offset":%d}`, dir+"/big", MaxRead), nil)
	if !bytes.Equal(append(r.Body, rest.Body...), want) || get[bool](t, rest, "truncated") {
		t.Errorf("the rest has %d bytes, %s", len(rest.Body), rest.Meta)
	}
}

func TestFsWrite(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	grants := []string{"fs.write:" + dir + "/**"}
	write := func(e *Env, meta, body string) reply { return call(t, e, "fs_write", meta, []byte(body)) }
	e := env(t, grants...)
	p := dir + "/new"
	wantKind(t, "create", write(e, field("path", p), "one"), "")
	wantKind(t, "create only", write(e, fmt.Sprintf(`{"path":%q,"create_only":true}`, p), "x"), KindConflict)
	r := write(e, fmt.Sprintf(`{"path":%q,"append":true}`, p), "+two")
	if got, _ := os.ReadFile(p); string(got) != "one+two" || get[int64](t, r, "size") != 7 {
		t.Errorf("%q %s", got, r.Meta)
	}
	r = write(e, field("path", p), "short")
	if got, _ := os.ReadFile(p); string(got) != "short" || get[int64](t, r, "size") != 5 {
		t.Errorf("%q %s", got, r.Meta)
	}
	wantKind(t, "create only, new", write(e, fmt.Sprintf(`{"path":%q,"create_only":true}`, dir+"/fresh"), "x"), "")
	wantKind(t, "both", write(e, fmt.Sprintf(`{"path":%q,"append":true,"create_only":true}`, p), "x"), KindInvalid)
	wantKind(t, "no directory", write(e, field("path", dir+"/none/x"), "x"), KindNotFound)
	wantKind(t, "a directory", write(e, field("path", dir+"/sub"), "x"), KindInvalid)
	wantKind(t, "link out", write(e, field("path", dir+"/out"), "x"), KindDenied)
	wantKind(t, "outside", write(e, field("path", dir+"/../secret"), "x"), KindDenied)
	wantKind(t, "policy", write(e, field("path", dir+"/.bashrc"), "x"), KindDenied)
	wantKind(t, "read only grant", write(env(t, "fs.read:"+dir+"/**"), field("path", p), "x"), KindDenied)
	wantKind(t, "reading with a write grant", call(t, e, "fs_read", field("path", p), nil), KindDenied)
	if b, _ := os.ReadFile(filepath.Dir(dir) + "/secret"); string(b) != "SECRET" {
		t.Errorf("outside is now %q", b)
	}
}

// TestFileLimits: the quotas of the call hold for the fs functions.
// TestNamesThatMislead: no name is made that shows as another one; one that is there is read, written and removed.
func TestNamesThatMislead(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	e := env(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	files, err := e.FS()
	must(t, err)
	for _, name := range []string{"a\u202egpj.exe", "a\u2066b", "\u200fx", "a\u00adb", "\ufeffx", "a\u200bb"} {
		for _, more := range []string{"", `,"append":true`, `,"create_only":true`} {
			r := call(t, e, "fs_write", `{"path":`+quote(dir+"/"+name)+more+`}`, []byte("x"))
			wantKind(t, name, r, KindInvalid)
		}
		if err := files.Rename(dir+"/a.txt", dir+"/"+name); !errors.Is(err, jail.ErrName) {
			t.Errorf("rename to %q: %v", name, err)
		}
		if err := files.Mkdir(dir+"/"+name, 0o755); !errors.Is(err, jail.ErrName) {
			t.Errorf("mkdir %q: %v", name, err)
		}
		must(t, os.WriteFile(dir+"/"+name, []byte("x"), 0o644))
		wantKind(t, name, call(t, e, "fs_write", field("path", dir+"/"+name), []byte("y")), "")
		wantKind(t, name, call(t, e, "fs_read", field("path", dir+"/"+name), nil), "")
		must(t, files.Remove(dir+"/"+name))
	}
	for _, name := range []string{"grün", "می\u200cخواهم", "👩\u200d💻", "日本"} {
		wantKind(t, name, call(t, e, "fs_write", field("path", dir+"/"+name), []byte("x")), "")
	}
}

func TestFileLimits(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	s := settings(t, "fs.write:"+dir+"/**", "fs.read:"+dir+"/**")
	s.Files = jail.Quota{FileBytes: 10, TotalBytes: 25, Files: 3, Entries: 7}
	e := open(t, s)
	write := func(name, meta, body string) reply {
		return call(t, e, "fs_write", fmt.Sprintf(`{"path":%q%s}`, dir+"/"+name, meta), []byte(body))
	}
	wantKind(t, "file size", write("1", "", "12345678901"), KindLimit)
	wantKind(t, "file", write("1", "", "1234567890"), "")
	wantKind(t, "append over the size", write("1", `,"append":true`, "1"), KindLimit)
	wantKind(t, "second", write("2", "", "1234567890"), "")
	wantKind(t, "total", write("2", "", "123456"), KindLimit)
	wantKind(t, "create only over the total", write("3", `,"create_only":true`, "123456"), KindLimit)
	if _, err := os.Stat(dir + "/3"); err == nil {
		t.Error("a file that could not be written was left behind")
	}
	wantKind(t, "files", write("4", "", ""), KindLimit)
	wantKind(t, "list", call(t, e, "fs_list", field("path", dir), nil), "")
	wantKind(t, "entries", call(t, e, "fs_list", field("path", dir), nil), KindLimit)
}

func TestFsList(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.Mkdir(dir+"/.ssh", 0o700))
	must(t, os.WriteFile(dir+"/.ssh/id", []byte("key"), 0o600))
	e := env(t, "fs.read:"+dir+"/**")
	names := func(meta string) (string, bool) {
		t.Helper()
		r := call(t, e, "fs_list", meta, nil)
		wantKind(t, meta, r, "")
		var out []string
		for _, x := range get[[]entry](t, r, "entries") {
			name := strings.TrimPrefix(x.Path, dir+"/")
			if x.Dir {
				name += "/"
			}
			out = append(out, fmt.Sprintf("%s:%d", name, x.Size))
		}
		return strings.Join(out, " "), get[bool](t, r, "truncated")
	}
	for _, c := range []struct {
		meta, want string
		more       bool
	}{
		{field("path", dir), ".ssh/:0 a.txt:5 in:5 out:0 sub/:0", false},
		{field("path", dir+"/"), ".ssh/:0 a.txt:5 in:5 out:0 sub/:0", false},
		{fmt.Sprintf(`{"path":%q,"recursive":true}`, dir), ".ssh/:0 a.txt:5 in:5 out:0 sub/:0 sub/b.csv:1 sub/deep/:0 sub/deep/c:2", false},
		{fmt.Sprintf(`{"path":%q,"recursive":true,"limit":6}`, dir), ".ssh/:0 a.txt:5 in:5 out:0 sub/:0 sub/b.csv:1", true},
		{fmt.Sprintf(`{"path":%q,"limit":2}`, dir), ".ssh/:0 a.txt:5", true},
		{field("path", dir+"/sub/deep"), "sub/deep/c:2", false},
	} {
		if got, more := names(c.meta); got != c.want && c.meta != "" || more != c.more {
			t.Errorf("%s: %q, truncated %v; want %q, %v", c.meta, got, more, c.want, c.more)
		}
	}
	wantKind(t, "file", call(t, e, "fs_list", field("path", dir+"/a.txt"), nil), KindInvalid)
	wantKind(t, "link out", call(t, e, "fs_list", field("path", dir+"/out"), nil), KindDenied)
	wantKind(t, "refused by policy", call(t, e, "fs_list", field("path", dir+"/.ssh"), nil), KindDenied)
	wantKind(t, "negative", call(t, e, "fs_list", fmt.Sprintf(`{"path":%q,"limit":-1}`, dir), nil), KindInvalid)
	wantKind(t, "above", call(t, e, "fs_list", field("path", filepath.Dir(dir)), nil), KindDenied)
}

// TestFsListDeep: a listing goes as deep as paths are long, and shows what a walk from the top does.
func TestFsListDeep(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.MkdirAll(dir+"/deep"+strings.Repeat("/a", 900), 0o755))
	must(t, os.Symlink("../a.txt", dir+"/deep/link"))
	must(t, os.Symlink("a", dir+"/deep/around"))
	e := env(t, "fs.read:"+dir+"/**")
	r := call(t, e, "fs_list", `{"path":"`+dir+`/deep","recursive":true,"limit":2000}`, nil)
	var answer struct{ Entries []entry }
	must(t, json.Unmarshal(r.Meta, &answer))
	if n := len(answer.Entries); n != 902 || answer.Entries[899].Path != dir+"/deep"+strings.Repeat("/a", 900) {
		t.Errorf("%d entries", n)
	}
	if last := answer.Entries[901]; last.Name != "link" || last.Size != 5 || answer.Entries[900].Name != "around" {
		t.Errorf("%+v", last)
	}
}

func TestFsStat(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	e := env(t, "fs.read:"+dir+"/**")
	r := call(t, e, "fs_stat", field("path", dir+"/a.txt"), nil)
	if !get[bool](t, r, "exists") || get[int64](t, r, "size") != 5 || get[bool](t, r, "dir") || get[string](t, r, "modified") == "" {
		t.Errorf("file: %s", r.Meta)
	}
	r = call(t, e, "fs_stat", field("path", dir+"/none"), nil)
	if get[bool](t, r, "exists") {
		t.Errorf("nothing: %s", r.Meta)
	}
	wantKind(t, "outside", call(t, e, "fs_stat", `{"path":"/etc/passwd"}`, nil), KindDenied)
	wantKind(t, "outside, nothing there", call(t, e, "fs_stat", `{"path":"/etc/none"}`, nil), KindDenied)
	wantKind(t, "link out", call(t, e, "fs_stat", field("path", dir+"/out"), nil), KindDenied)
}

// TestPatternGrants: a grant by name opens that and not what lies beside it.
func TestPatternGrants(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.Symlink("../a.txt", dir+"/sub/fake.csv"))
	e := env(t, "fs.read:"+dir+"/*/*.csv", "fs.write:"+dir+"/sub/made")
	wantKind(t, "matches", call(t, e, "fs_read", field("path", dir+"/sub/b.csv"), nil), "")
	wantKind(t, "does not", call(t, e, "fs_read", field("path", dir+"/a.txt"), nil), KindDenied)
	wantKind(t, "a link that does, to one that does not", call(t, e, "fs_read", field("path", dir+"/sub/fake.csv"), nil), KindDenied)
	wantKind(t, "write the one", call(t, e, "fs_write", field("path", dir+"/sub/made"), nil), "")
	wantKind(t, "write another", call(t, e, "fs_write", field("path", dir+"/sub/b.csv"), nil), KindDenied)
	if u := e.Uses(); len(u) != 2 || u[0].Request != "fs.read:"+dir+"/sub/b.csv" || u[0].Capability != "fs.read:"+dir+"/*/*.csv" {
		// the link was allowed to be tried: its target was not
		if len(u) != 3 {
			t.Errorf("uses %+v", u)
		}
	}
}

// TestLinkedGrant: a grant whose directory is a link does not open what policies keep shut.
func TestLinkedGrant(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(base+"/.ssh", 0o700))
	must(t, os.WriteFile(base+"/.ssh/id", []byte("key"), 0o600))
	must(t, os.Symlink(".ssh", base+"/harmless"))
	e := env(t, "fs.read:"+base+"/harmless/**", "fs.write:"+base+"/harmless/**")
	wantKind(t, "read", call(t, e, "fs_read", field("path", base+"/harmless/id"), nil), KindDenied)
	wantKind(t, "write", call(t, e, "fs_write", field("path", base+"/harmless/id"), nil), KindDenied)
	if d := e.Denials(); len(d) != 2 || d[0].Policies[0] != "no-credentials" {
		t.Errorf("denials %+v", d)
	}
}

// TestTree is the file system of WASI guests: the same grants, policies and records.
func TestTree(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	e := env(t, "fs.read:"+dir+"/*.txt", "fs.write:"+dir+"/sub/**")
	fs, err := e.FS()
	must(t, err)
	if _, err := fs.ReadFile(dir+"/a.txt", 0); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(dir); err != nil {
		t.Errorf("stat of a root: %v", err)
	}
	if _, err := fs.Stat(dir + "/sub/b.csv"); err != nil {
		t.Errorf("stat of what may be written: %v", err)
	}
	for what, err := range map[string]error{
		"list":            errOf2(fs.ReadDir(dir, 0)),
		"read":            errOf(fs.ReadFile(dir+"/sub/b.csv", 0)),
		"stat":            errOf(fs.Stat(dir + "/other.md")),
		"write":           fs.WriteFile(dir+"/a.txt", nil, 0o644),
		"remove":          fs.Remove(dir + "/a.txt"),
		"move in":         fs.Rename(dir+"/a.txt", dir+"/sub/a.txt"),
		"move out":        fs.Rename(dir+"/sub/b.csv", dir+"/x.txt"),
		"mkdir":           fs.Mkdir(dir+"/d", 0o755),
		"open read-write": errOf(fs.OpenFile(dir+"/sub/b.csv", os.O_RDWR, 0)),
	} {
		if c := classify(err); c.Kind != KindDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(e.Denials()) == 0 || len(e.Uses()) == 0 {
		t.Error("nothing was recorded")
	}
	e.Close()
	if _, err := fs.Stat(dir); err == nil {
		t.Error("the tree outlives the call")
	}
	if _, err := e.FS(); err == nil {
		t.Error("a tree after the call")
	}
}

func errOf[T any](_ T, err error) error        { return err }
func errOf2[T, U any](_ T, _ U, e error) error { return e }

func TestFileRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grants []string
		want   []jail.Root
	}{
		{nil, nil},
		{[]string{"fs.read:/data/**"}, []jail.Root{{Path: "/data"}}},
		{[]string{"fs.read:/data/*.txt", "fs.write:/data/out/**"}, []jail.Root{{Path: "/data"}, {Path: "/data/out", Write: true}}},
		{[]string{"fs.write:/data/**", "fs.read:/data/in/**"}, []jail.Root{{Path: "/data", Write: true}}},
		{[]string{"fs.read:/data/**", "fs.write:/data/**"}, []jail.Root{{Path: "/data", Write: true}}},
		{[]string{"fs.read:/a/f", "fs.read:/a/b/**", "fs.read:/ab"}, []jail.Root{{Path: "/ab"}, {Path: "/a/b"}, {Path: "/a/f"}}},
		{[]string{"fs.read:/**", "fs.read:/x/**"}, []jail.Root{{Path: "/"}}},
		{[]string{"http:GET https://x.example/*", "kv"}, nil},
	} {
		set, err := capability.ParseSet(c.grants...)
		must(t, err)
		if got := (Settings{Granted: set}).roots(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: %v, want %v", c.grants, got, c.want)
		}
	}
}

// TestFilesFromGuest: the same from a real guest.
func TestFilesFromGuest(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	rt := runtime(t)
	e := env(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/sub/**")
	if r := runBulk(t, rt, e, "fs_read", field("path", dir+"/a.txt"), ""); string(r.Body) != "alpha" {
		t.Errorf("read: %s %q", r.Meta, r.Body)
	}
	wantKind(t, "write", runBulk(t, rt, e, "fs_write", field("path", dir+"/sub/new"), "content"), "")
	if b, _ := os.ReadFile(dir + "/sub/new"); string(b) != "content" {
		t.Errorf("written: %q", b)
	}
	wantKind(t, "denied", runBulk(t, rt, e, "fs_write", field("path", dir+"/a.txt"), "content"), KindDenied)
	wantKind(t, "large request", runBulk(t, rt, e, "fs_read", field("path", strings.Repeat("x", 60_000)), ""), KindInvalid)
}

func BenchmarkFsRead(b *testing.B) {
	dir := tree(b)
	e := env(b, "fs.read:"+dir+"/**")
	meta := field("path", dir+"/a.txt")
	for b.Loop() {
		if r := call(b, e, "fs_read", meta, nil); len(r.Body) != 5 {
			b.Fatal(string(r.Meta))
		}
	}
}

func BenchmarkDenied(b *testing.B) {
	e := env(b, "fs.read:/data/**", "http:GET https://api.example.com/*", "kv")
	for b.Loop() {
		if r := call(b, e, "fs_read", `{"path":"/etc/passwd"}`, nil); r.Error.Kind != KindDenied {
			b.Fatal(string(r.Meta))
		}
	}
}
