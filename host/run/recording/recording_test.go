package recording

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// sample has something in every field.
func sample() *Recording {
	moment := int64(1_700_000_000_000_000_000)
	random := Bytes{0xff, 0, 1}
	return &Recording{
		Format: Format, RecordedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Skill: "csv", Version: "1.2.0", Digest: digest, Module: digest, Path: "./csv", Tool: "stats", Export: "stats",
		Args: []string{"main.js"}, Input: Bytes(`{"path":"/data/a.csv"}`), Config: map[string]string{"Level": "<3>", "level": "4"},
		Grants: []string{"fs.read:/data/**"}, Workspace: "/work", Clock: true, Random: true, Seed: 1 << 63, Restart: true,
		Limits: Limits{MemoryBytes: 64 << 20, Fuel: 1e9, WallMS: 30000, InputBytes: 1 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 16, HostCalls: 100, TableElems: 1000},
		Files:  &Tree{Preopens: []Preopen{{Path: "/data"}, {Path: "/etc", Only: []string{"hostname"}}}},
		Events: []Event{
			{Call: &Call{Name: "http_request", Request: Meta(`{"url":"https://example.com/?a=1&b=<2>","request":1,"request":2}`), Body: Bytes("x\xff"), Answer: Meta(`{"status":200}`), AnswerBody: Bytes("hello \u2028 & <you>\n")}},
			{Call: &Call{Name: "kv_get", Request: Meta(` { "key" : "k" } `), Answer: Meta(`{"found":false,"revision":0}`)}},
			{Call: &Call{Name: "kv_get", Request: Meta("\xff"), Answer: Meta(`{"error":{"kind":"invalid","message":"no"}}`)}},
			{Clock: &Clock{"realtime", moment}}, {Clock: &Clock{"monotonic", 5}}, {Random: &random},
			{File: &File{FileAsk{Op: opOpen, Path: "/data/a.csv", Flags: []string{"read", "write"}}, FileResult{}}},
			{File: &File{FileAsk{Op: opRead, Handle: 1, Length: 100}, FileResult{Data: Bytes("1,2\n")}}},
			{File: &File{FileAsk{Op: opWrite, Handle: 1, Offset: 4, Data: Bytes("3")}, FileResult{N: 0, Errno: "EDQUOT", Quotas: []Quota{{"bytes written", 10}}}}},
			{File: &File{FileAsk{Op: opFileTimes, Handle: 1, Accessed: &moment}, FileResult{}}},
			{File: &File{FileAsk{Op: opStat, Path: "/data", Flags: []string{"follow"}}, FileResult{Stat: &Stat{Dev: 1, Ino: 2, Type: 3, Nlink: 1, Size: 4, Modified: moment}}}},
			{File: &File{FileAsk{Op: opOpen, Path: "/data", Flags: []string{"read", "directory"}}, FileResult{Directory: true}}},
			{File: &File{FileAsk{Op: opList, Handle: 2, Length: 3}, FileResult{Entries: []DirEntry{{"a.csv", 7, 4}}}}},
			{File: &File{FileAsk{Op: opRename, Path: "/data/a", To: "/data/b"}, FileResult{Errno: "ENOENT"}}},
		},
		Outcome: Outcome{
			OK: false, Output: Bytes(`{"n":`), ExitCode: 2, Stderr: Bytes("panic"), Ending: Ending{Reason: "failed", Kind: "invalid", Message: "no"},
			Error: fault.Errorf(fault.KindSkill, "no").WithHint("try again"), Logs: []task.LogLine{{Level: "info", Message: "m", Fields: map[string]string{"a": "b"}}},
			Denials: []task.Denial{{Request: "kv", Reason: "r", Count: 1}}, Fuel: 12345, PeakMemoryBytes: 1 << 20, HostCalls: 3, DurationMS: 1.5,
		},
		Attempt: 2, Struck: []Struck{{"token", "input", true}}, Inexact: "because",
	}
}

// TestGolden keeps the format: a change of it needs another version.
func TestGolden(t *testing.T) {
	t.Parallel()
	got, err := sample().Encode()
	must(t, err)
	path := filepath.Join("testdata", "sample.recording.json")
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("the format changed:\n%s", got)
	}
	back, err := Parse(want)
	must(t, err)
	if !reflect.DeepEqual(asText(back), asText(sample())) {
		t.Errorf("read back as\n%+v", back)
	}
}

// asText is a recording without what its error wraps.
func asText(r *Recording) string {
	b, err := r.Encode()
	return fmt.Sprintf("%s%v", b, err)
}

// TestHostileRecordings are refused, each for what is wrong with it.
func TestHostileRecordings(t *testing.T) {
	t.Parallel()
	whole, err := sample().Encode()
	must(t, err)
	text := string(whole)
	replaced := func(old, with string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(text, old, with, 1)
	}
	changed := func(change func(r *Recording)) string {
		r := sample()
		change(r)
		b, err := plainly(r)
		must(t, err)
		return string(b)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "EOF"},
		"no object":          {"[]", "cannot unmarshal"},
		"another document":   {`{"name":"csv"}`, "the version of the format, is missing"},
		"another version":    {replaced(`"skillet_recording": 1`, `"skillet_recording": 2`), "version 2"},
		"unknown member":     {replaced(`"skill":`, `"skil":`), "unknown field"},
		"member twice":       {replaced(`"skill":`, `"skill":"x","skill":`), "twice"},
		"member in capitals": {replaced(`"skill":`, `"SKILL":"x","skill":`), "twice"},
		"something behind":   {text + "{}", "after top-level"},
		"not UTF-8":          {replaced(`"csv"`, "\"cs\xff\""), "UTF-8"},
		"nested deeply":      {`{"config":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}`, "nested"},
		"no digest":          {replaced(digest, "sha256:zz"), "digest"},
		"no text or base64":  {replaced(`"text": "hello`, `"txt": "hello`), "unknown field"},
		"both":               {replaced(`"base64": "eP8="`, `"base64": "eP8=", "text": "x"`), "one member"},
		"bad base64":         {replaced(`eP8=`, `eP9=`), "base64"},
		"no skill":           {changed(func(r *Recording) { r.Skill = "" }), "names no skill"},
		"well with an error": {changed(func(r *Recording) { r.Outcome.OK = true }), "has an error"},
		"no fuel":            {changed(func(r *Recording) { r.Limits.Fuel = 0 }), "limit"},
		"too much memory":    {changed(func(r *Recording) { r.Limits.MemoryBytes = 1 << 40 }), "limit"},
		"negative calls":     {changed(func(r *Recording) { r.Limits.HostCalls = -1 }), "limit"},
		"output beyond":      {changed(func(r *Recording) { r.Limits.OutputBytes = 1 }), "longer than the limits"},
		"an event of two":    {changed(func(r *Recording) { r.Events[3].Call = r.Events[0].Call }), "it is 2 things"},
		"an event of none":   {changed(func(r *Recording) { r.Events[3] = Event{} }), "it is 0 things"},
		"a clock of theirs":  {changed(func(r *Recording) { r.Events[3].Clock = &Clock{ID: "lunar"} }), "clock"},
		"answer too large":   {changed(func(r *Recording) { r.Limits.MemoryBytes = 1 << 16; r.Events[0].Call.AnswerBody = make(Bytes, 1<<17) }), "answer is longer"},
		"read beyond":        {changed(func(r *Recording) { r.Events[7].File.Length = 1 }), "more was read"},
		"written beyond":     {changed(func(r *Recording) { r.Events[8].File.Result.N = 2 }), "more was written"},
		"not opened":         {changed(func(r *Recording) { r.Events[7].File.Handle = 9 }), "not opened"},
		"no operation":       {changed(func(r *Recording) { r.Events[7].File.Op = "format" }), "unknown operation"},
		"no error":           {changed(func(r *Recording) { r.Events[8].File.Result.Errno = "EVIL" }), "unknown error"},
		"files without any":  {changed(func(r *Recording) { r.Files = nil }), "no file tree"},
		"huge counts":        {changed(func(r *Recording) { r.Grants = make([]string, maxList+1) }), "more grants"},
		"too much randomness": {changed(func(r *Recording) {
			b := make(Bytes, 2<<20)
			r.Events[5].Random = &b
		}), "randomness"},
	} {
		_, err := Parse([]byte(c.text))
		if !errors.Is(err, ErrFormat) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); !errors.Is(err, ErrFormat) {
		t.Errorf("too long: %v", err)
	}
}

// FuzzParse has anything be a recording: what is read is written and read again
// as the same.
func FuzzParse(f *testing.F) {
	whole, err := sample().Encode()
	must(f, err)
	f.Add(whole)
	small := sample()
	small.Events, small.Files, small.Outcome = []Event{}, nil, Outcome{OK: true, Logs: []task.LogLine{}, Denials: []task.Denial{}}
	b, err := plainly(small)
	must(f, err)
	f.Add(b)
	f.Add([]byte(`{"skillet_recording":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%v", err)
			}
			return
		}
		first, err := r.Encode()
		if errors.Is(err, ErrTooLarge) {
			return
		}
		must(t, err)
		back, err := Parse(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		second, err := back.Encode()
		must(t, err)
		if !bytes.Equal(first, second) {
			t.Errorf("written as\n%s\nand then as\n%s", first, second)
		}
		Try(r) // whatever it holds can be prepared for a trial
	})
}

// TestStrike takes secrets out wherever they may be, in each spelling.
func TestStrike(t *testing.T) {
	t.Parallel()
	const value = `s3cr3t"value/+`
	r := sample()
	r.Input = Bytes("before " + value + " behind")
	r.Events[0].Call.Request = Meta(`{"url":"https://x/?t=s3cr3t%22value%2F%2B"}`)
	r.Events[0].Call.AnswerBody = Bytes(base64.StdEncoding.EncodeToString([]byte("xx" + value + "yyy")))
	r.Events[7].File.Result.Data = Bytes("abc" + value[:5])
	r.Events[8] = Event{Clock: &Clock{"realtime", 1}}
	r.Events[9].File = &File{FileAsk{Op: opRead, Handle: 1, Offset: 8, Length: 100}, FileResult{Data: Bytes(value[5:] + "def")}}
	r.Config["a"], r.Outcome.Logs[0].Fields["f"], r.Outcome.Output = value, value, Bytes(value)
	short := r.Strike([]Secret{{"token", []byte(value)}, {"pin", []byte("123")}})
	if len(short) != 1 || short[0] != "pin" {
		t.Errorf("too short: %v", short)
	}
	b, err := r.Encode()
	must(t, err)
	for _, form := range []string{value, `s3cr3t\"value`, "s3cr3t%22", "czNjcjN0", "s3cr", "cr3t"} {
		if bytes.Contains(b, []byte(form)) {
			t.Errorf("%q is still there:\n%s", form, b)
		}
	}
	if _, err := Parse(b); err != nil {
		t.Error(err)
	}
	if got := string(r.Input); len(got) != len("before ")+len(value)+len(" behind") || !strings.Contains(got, "[secret]") {
		t.Errorf("input %q", got)
	}
	var where []string
	for _, s := range r.Struck[1:] {
		where = append(where, fmt.Sprintf("%s %v", s.Where, s.Seen))
	}
	want := "[event 8 file read true input true config true event 1 call request false event 1 call answer body true outcome output false outcome logs fields false]"
	if fmt.Sprint(where) != want {
		t.Errorf("struck at %v\nwant      %v", where, want)
	}
}

// TestNothingStruck leaves a recording alone that holds no secret.
func TestNothingStruck(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Struck, r.Inexact = nil, ""
	before := asText(r)
	r.Strike([]Secret{{"token", []byte("nowhere to be found")}})
	if asText(r) != before {
		t.Error("it changed")
	}
}

// TestShelf keeps the newest within its bounds.
func TestShelf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewArchive(filepath.Join(dir, "recordings"), Bounds{Calls: 3})
	for i := range 5 {
		r := sample()
		r.Tool = fmt.Sprint("t", i)
		must(t, s.Keep(r))
	}
	all, err := s.List("csv")
	must(t, err)
	if len(all) != 3 {
		t.Fatalf("%d are kept", len(all))
	}
	for i, k := range all {
		r, err := Read(t.Context(), k.Path)
		must(t, err)
		if r.Tool != fmt.Sprint("t", 4-i) {
			t.Errorf("number %d is %s", i, r.Tool)
		}
		st, err := os.Stat(k.Path)
		must(t, err)
		if st.Mode().Perm() != 0o600 {
			t.Errorf("mode %o", st.Mode().Perm())
		}
	}
	few := NewArchive(filepath.Join(dir, "recordings"), Bounds{Calls: 3, Bytes: 2*all[0].Bytes + 100})
	must(t, few.Keep(sample()))
	if all, _ = few.List("csv"); len(all) != 2 {
		t.Errorf("%d are kept of twice the bytes", len(all))
	}
	old := NewArchive(filepath.Join(dir, "recordings"), Bounds{Calls: 3, Age: time.Nanosecond})
	if all, _ = old.List("csv"); len(all) != 0 {
		t.Errorf("%d are shown that are too old", len(all))
	}
	none := NewArchive(filepath.Join(dir, "none"), Bounds{})
	must(t, none.Keep(sample()))
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("an archive that keeps nothing made a directory")
	}
	if n, bytes, err := old.Prune(true); n != 2 || bytes == 0 || err != nil {
		t.Errorf("%d are too old, %d bytes, %v", n, bytes, err)
	}
	must(t, s.Forget("csv"))
	if all, _ = s.List("csv"); len(all) != 0 {
		t.Error("something is left")
	}
	for _, bad := range []string{"", "..", "a/b", "/etc"} {
		if err := s.Forget(bad); err == nil {
			t.Errorf("%q is a skill", bad)
		}
	}
}
