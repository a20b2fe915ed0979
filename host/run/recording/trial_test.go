package recording

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// readCall is a recording of a call that read one file, listed a directory and
// wrote to another file.
func readCall() *Recording {
	text := Bytes("some text that is read in one part")
	return &Recording{Files: &Tree{Preopens: []Preopen{{Path: "/data"}}}, Events: []Event{
		{File: &File{FileAsk{Op: opOpen, Path: "/data/in", Flags: []string{"read"}}, FileResult{}}},
		{File: &File{FileAsk{Op: opFileStat, Handle: 1}, FileResult{Stat: &Stat{Type: 4, Size: uint64(len(text))}}}},
		{File: &File{FileAsk{Op: opRead, Handle: 1, Length: 4096}, FileResult{Data: text}}},
		{File: &File{FileAsk{Op: opOpen, Path: "/data", Flags: []string{"read", "directory"}}, FileResult{Directory: true}}},
		{File: &File{FileAsk{Op: opList, Handle: 2, Length: 100}, FileResult{Entries: []DirEntry{{"in", 1, 4}, {"out", 2, 4}}}}},
		{File: &File{FileAsk{Op: opList, Handle: 2, Length: 100}, FileResult{}}},
		{File: &File{FileAsk{Op: opOpen, Path: "/data/out", Flags: []string{"write", "create"}}, FileResult{}}},
		{File: &File{FileAsk{Op: opWrite, Handle: 3, Data: Bytes("abc")}, FileResult{N: 3}}},
		{File: &File{FileAsk{Op: opOpen, Path: "/data/none", Flags: []string{"read"}}, FileResult{Errno: "ENOENT"}}},
	}}
}

func noQuota(*jail.QuotaError) {}

// TestTrialReadsInOtherParts has a guest see the same files in its own way.
func TestTrialReadsInOtherParts(t *testing.T) {
	t.Parallel()
	trial := Try(readCall())
	tree := trial.Files(nil, noQuota)
	f, errno := tree.Open("/data/in", wasi.Read|wasi.NoFollow)
	if errno != wasi.Success {
		t.Fatal(errno)
	}
	var all []byte
	for b := make([]byte, 7); ; {
		n, errno := f.ReadAt(b, int64(len(all)))
		all = append(all, b[:n]...)
		if errno != wasi.Success {
			t.Fatal(errno)
		}
		if n < len(b) {
			break
		}
	}
	if string(all) != "some text that is read in one part" {
		t.Errorf("read %q", all)
	}
	if st, errno := tree.Stat("/data/in", true); errno != wasi.Success || st.Size != uint64(len(all)) {
		t.Errorf("%+v, %v", st, errno)
	}
	d, errno := tree.Open("/data", wasi.Read|wasi.Directory)
	if errno != wasi.Success || !d.IsDir() {
		t.Fatal(errno)
	}
	names := ""
	for {
		entries, errno := d.ReadDir(1)
		if errno != wasi.Success {
			t.Fatal(errno)
		}
		if len(entries) == 0 {
			break
		}
		names += entries[0].Name + " "
	}
	if names != "in out " {
		t.Errorf("listed %q", names)
	}
	out, errno := tree.Open("/data/out", wasi.Write|wasi.Create)
	if errno != wasi.Success {
		t.Fatal(errno)
	}
	for i, part := range []string{"a", "bc"} {
		if n, errno := out.WriteAt([]byte(part), int64(i)); n != len(part) || errno != wasi.Success {
			t.Errorf("wrote %d, %v", n, errno)
		}
	}
	if _, errno := tree.Open("/data/none", wasi.Read); errno != wasi.ENOENT {
		t.Errorf("what was not there is %v", errno)
	}
	if changes := trial.Changes(); len(changes) != 0 {
		t.Errorf("%v", changes)
	}
}

// TestTrialOfOtherFiles answers what was not seen with an error of its own.
func TestTrialOfOtherFiles(t *testing.T) {
	t.Parallel()
	trial := Try(readCall())
	tree := trial.Files(nil, noQuota)
	for what, errno := range map[string]wasi.Errno{
		"open":   second(tree.Open("/data/other", wasi.Read)),
		"write":  second(tree.Open("/data/in", wasi.Read|wasi.Write)),
		"stat":   second(tree.Stat("/data/other", true)),
		"remove": tree.Remove("/data/in", false),
		"rename": tree.Rename("/data/in", "/data/other"),
		"mkdir":  tree.Mkdir("/data/dir"),
	} {
		if errno != wasi.NotRecorded {
			t.Errorf("%s: %v", what, errno)
		}
	}
	var words []string
	for _, c := range trial.Changes() {
		words = append(words, c.String())
	}
	for _, want := range []string{
		"not asked before: remove /data/in", "not asked before: rename /data/in to /data/other", "make the directory /data/dir",
		"look at /data/other", "not ask any more: read /data/in", "not ask any more: write to /data/out",
	} {
		if !strings.Contains(strings.Join(words, "\n"), want) {
			t.Errorf("nothing of %q in\n%s", want, strings.Join(words, "\n"))
		}
	}
}

func second[T any](_ T, errno wasi.Errno) wasi.Errno { return errno }

// TestTrialForgivesOrder answers calls in another order, with other spellings of
// the same JSON, each once; and says what was changed.
func TestTrialForgivesOrder(t *testing.T) {
	t.Parallel()
	call := func(name, request, answer string) Event {
		return Event{Call: &Call{Name: name, Request: Meta(request), Answer: Meta(answer)}}
	}
	trial := Try(&Recording{Events: []Event{
		call("kv_get", `{"key":"a"}`, `{"n":1}`), call("kv_get", `{"key":"a"}`, `{"n":2}`), call("fs_stat", `{"path":"/x"}`, `{"n":3}`),
		call("notify", `{"title":"t"}`, `{}`), {Clock: &Clock{"realtime", 50}},
	}})
	ask := func(name, request string) string {
		a, err := trial.HostCall(t.Context(), hostfn.HostCall{Name: name, Meta: []byte(request)}, func(context.Context) hostfn.Answer {
			t.Errorf("%s acts", name)
			return hostfn.Answer{}
		})
		return fmt.Sprint(string(a.Meta), err)
	}
	for _, c := range []struct{ name, request, want string }{
		{"fs_stat", `{ "path": "/x" }`, `{"n":3}<nil>`}, {"kv_get", `{"key":"a"}`, `{"n":1}<nil>`}, {"kv_get", `{"key":"a"}`, `{"n":2}<nil>`},
		{"kv_get", `{"key":"a"}`, "not_recorded"}, {"notify", `{"title":"u"}`, "not_recorded"},
	} {
		if got := ask(c.name, c.request); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.name, c.request, got, c.want)
		}
	}
	for _, want := range []int64{50, 50 + clockStep} {
		if now, errno := trial.Clock(0, nil); now != want || errno != wasi.Success {
			t.Errorf("the clock shows %d, %v, want %d", now, errno, want)
		}
	}
	got := fmt.Sprint(trial.Changes())
	want := `[asks for what was not asked before: kv_get {"key":"a"} asks notify {"title":"u"} (before: notify {"title":"t"}) asks for what was not asked before: read the clock beyond what was recorded]`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestContrast shows where long requests differ.
func TestContrast(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	a, b := contrast(Event{Call: &Call{Name: "kv_put", Body: Bytes(long + "left")}}, Event{Call: &Call{Name: "kv_put", Body: Bytes(long + "rite")}})
	if !strings.Contains(a, "at byte 1000: ") || !strings.HasSuffix(a, "xleft") || !strings.HasSuffix(b, "xrite") {
		t.Errorf("%s\n%s", a, b)
	}
}
