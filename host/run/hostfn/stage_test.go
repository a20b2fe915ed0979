package hostfn

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/policies"
)

// staged answers every request with its own URL.
type staged struct{ asked []string }

func (s *staged) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, r.Method+" "+r.URL.String())
	h := http.Header{}
	status := http.StatusOK
	if r.URL.Path == "/away" {
		h.Set("Location", "http://127.0.0.1:1/elsewhere")
		status = http.StatusFound
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(bytes.NewReader([]byte(r.URL.String()))), Request: r}, nil
}

// TestStageOpensNoSocket: on a stage the widest grant reaches no server.
func TestStageOpensNoSocket(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer s.Close()
	set := settings(t, "http:* "+s.URL+"/*")
	if r := fetch(t, open(t, set), "GET", s.URL+"/", ""); r.Error.Kind != "" || reached.Load() != 1 {
		t.Fatalf("without a stage: %s", r.Meta)
	}
	set.Stage = &Stage{}
	wantKind(t, "nothing answers", fetch(t, open(t, set), "GET", s.URL+"/", ""), KindIO)
	web := &staged{}
	set.Stage.Web = web
	if r := fetch(t, open(t, set), "GET", s.URL+"/x", ""); string(r.Body) != s.URL+"/x" {
		t.Errorf("%s %s", r.Meta, r.Body)
	}
	if reached.Load() != 1 || len(web.asked) != 1 {
		t.Errorf("the server was reached %d times, the stage %d", reached.Load(), len(web.asked))
	}
}

// TestStageChecksEachHop: grants hold for a stage as they do for the network.
func TestStageChecksEachHop(t *testing.T) {
	t.Parallel()
	set := settings(t, "http:GET https://example.com/*")
	web := &staged{}
	set.Stage = &Stage{Web: web}
	wantKind(t, "not granted", fetch(t, open(t, set), "GET", "https://example.org/", ""), KindDenied)
	wantKind(t, "a redirect", fetch(t, open(t, set), "GET", "https://example.com/away", ""), KindDenied)
	if len(web.asked) != 1 {
		t.Errorf("asked for %q", web.asked)
	}
}

// TestStageOpensNoFile: on a stage no grant opens a file outside of the workspace,
// neither to host functions nor to the file tree of WASI.
func TestStageOpensNoFile(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"workspace/in.txt", "out.txt", "workspace2/out.txt"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	set := settings(t, "fs.read:"+dir+"/**", "fs.read:"+dir+"/workspace/**", "fs.write:"+dir+"/**", "fs.read:"+dir+"/out.txt")
	set.Workspace = filepath.Join(dir, "workspace")
	if r := call(t, open(t, set), "fs_read", field("path", dir+"/out.txt"), nil); string(r.Body) != "out.txt" {
		t.Fatalf("without a stage: %s", r.Meta)
	}
	set.Stage = &Stage{}
	e := open(t, set)
	if r := call(t, e, "fs_read", field("path", "in.txt"), nil); string(r.Body) != "workspace/in.txt" {
		t.Errorf("in the workspace: %s", r.Meta)
	}
	for _, name := range []string{"out.txt", "workspace2/out.txt", "new.txt"} {
		if r := call(t, e, "fs_read", field("path", dir+"/"+name), nil); r.Error.Kind == "" {
			t.Errorf("%s was read: %s", name, r.Body)
		}
		if r := call(t, e, "fs_write", field("path", dir+"/"+name), []byte("x")); r.Error.Kind == "" {
			t.Errorf("%s was written", name)
		}
	}
	fs, err := e.FS()
	must(t, err)
	for _, p := range fs.Roots() {
		if !below(p.Path, set.Workspace) {
			t.Errorf("%s is a root", p.Path)
		}
	}
	set.Workspace = ""
	e = open(t, set)
	if r := call(t, e, "fs_read", field("path", dir+"/out.txt"), nil); r.Error.Kind == "" {
		t.Error("without a workspace a file was read")
	}
}

type otherSkills struct{ asked int }

func (o *otherSkills) CallSkill(context.Context, SkillCall) ([]byte, error) {
	o.asked++
	return []byte("x"), nil
}

// TestStageCallsNobody: on a stage no other skill runs.
func TestStageCallsNobody(t *testing.T) {
	t.Parallel()
	set, others := settings(t, "skill:*"), &otherSkills{}
	set.Skills = others
	if r := call(t, open(t, set), "skill_call", `{"skill":"csv"}`, nil); r.Error.Kind != "" || others.asked != 1 {
		t.Fatalf("without a stage: %s", r.Meta)
	}
	set.Stage = &Stage{}
	if r := call(t, open(t, set), "skill_call", `{"skill":"csv"}`, nil); r.Error.Kind == "" || others.asked != 1 {
		t.Errorf("%s", r.Meta)
	}
}

// TestStateIsWrittenAndRead: what is written is what the functions find, and the
// other way round.
func TestStateIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	set := kvSettings(t, memory(t))
	p := set.Principal
	must(t, WriteState(t.Context(), set.KV, p, 0, map[string][]byte{"a": []byte("one"), "b/1": nil}))
	e := open(t, set)
	if r := call(t, e, "kv_get", `{"key":"a"}`, nil); string(r.Body) != "one" {
		t.Errorf("%s %s", r.Meta, r.Body)
	}
	put(t, e, "c", "three", "")
	got, err := ReadState(t.Context(), set.KV, p)
	if err != nil || len(got) != 3 || string(got["a"]) != "one" || string(got["c"]) != "three" || len(got["b/1"]) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []map[string][]byte{{"": nil}, {"a\n": nil}, {"x": make([]byte, MaxValue+1)}, {"a": nil}} {
		if err := WriteState(t.Context(), set.KV, p, 0, bad); err == nil {
			t.Errorf("%q was written", bad)
		}
	}
	if err := WriteState(t.Context(), set.KV, policies.Principal{}, 0, nil); err == nil {
		t.Error("the state of nobody was written")
	}
}
