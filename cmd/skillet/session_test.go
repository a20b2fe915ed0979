package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// notebook has the tools next, which counts its calls in memory and answers aa, ab,
// ac and so on, slow, which takes some time for it, and crash, which counts and dies.
func notebook() []byte {
	m := wasmtest.New()
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Sig("i32 i32", ""))
	m.Memory(1, 1)
	c, load, store := wasmtest.I32Const, wasmtest.Load(0x28, 0), wasmtest.Store(0x36, 0)
	count := func(at, divide byte) []byte { // writes 'a' plus a digit of the number of calls before
		return wasmtest.Code(c(int32(at)), c(64), load, c(26), wasmtest.Op(divide), c('a'), wasmtest.Op(0x6a), wasmtest.Store(0x3a, 0))
	}
	next := wasmtest.Code(count(0, 0x6e), count(1, 0x70), c(64), c(64), load, c(1), wasmtest.Op(0x6a), store)
	answer := wasmtest.Code(c(0), c(2), wasmtest.Call(write))
	spin := wasmtest.Code(c(50_000_000), wasmtest.LocalSet(0), wasmtest.Loop(wasmtest.Empty,
		wasmtest.LocalGet(0), c(1), wasmtest.Op(0x6b), wasmtest.LocalTee(0), wasmtest.BrIf(0)))
	m.ExportFunc("next", m.Func(wasmtest.Signature{}, "", next, answer))
	m.ExportFunc("slow", m.Func(wasmtest.Signature{}, "i32", next, spin, answer))
	m.ExportFunc("crash", m.Func(wasmtest.Signature{}, "", next, wasmtest.Unreachable()))
	return m.Bytes()
}

// caller has tools that call other skills and answer with what they are told:
// echo as run, trap as fail, and next of the notebook in its session work as note.
func caller() []byte {
	m := wasmtest.New()
	call := m.ImportFunc("skillet:host/v1", "skill_call", wasmtest.Sig("i32 i32 i32 i32", "i64"))
	read := m.ImportFunc("skillet:host/v1", "response_read", wasmtest.Sig("i32 i32", ""))
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Sig("i32 i32", ""))
	m.Memory(16, 16)
	m.ExportMemory("memory")
	c, wrap, at := wasmtest.I32Const, wasmtest.Op(0xa7), int32(16)
	text := func(s string) []byte {
		m.Data(at, []byte(s))
		at += int32(len(s)) + 1
		return wasmtest.Code(c(at-int32(len(s))-1), c(int32(len(s))))
	}
	for tool, meta := range map[string]string{
		"run": `{"skill":"echo","tool":"echo"}`, "note": `{"skill":"notebook","tool":"next","session":"work"}`, "fail": `{"skill":"trap"}`,
	} {
		m.ExportFunc(tool, m.Func(wasmtest.Sig("", "i32"), "i64",
			text(meta), text(`{"from":"caller"}`), wasmtest.Call(call), wasmtest.LocalSet(0),
			c(1<<16), c(4<<16), wasmtest.Call(read),
			c(1<<16), wasmtest.LocalGet(0), wasmtest.I64Const(32), wasmtest.Op(0x88), wrap, wasmtest.Call(write),
			c(4<<16), wasmtest.LocalGet(0), wrap, wasmtest.Call(write), c(0)))
	}
	return m.Bytes()
}

// A session lasts longer than the longest proof.
const notebookManifest = `{"name":"notebook","version":"1.0.0","description":"Counts.","type":"code_session","command":"main.wasm",
	"session_config":{"session_timeout":86400},"tools":[{"name":"next"},{"name":"slow"},{"name":"crash"}]}`

func newNotebook(t *testing.T) *person {
	p := newPerson(t)
	p.write("notebook/main.wasm", notebook())
	p.write("notebook/skill.json", []byte(notebookManifest))
	p.must(0, "install", "./notebook", "--yes")
	return p
}

// nth is the answer to the nth call of a session, from 0.
func nth(n int) string { return string([]byte{byte('a' + n/26), byte('a' + n%26)}) }

// TestSessionsSurviveKill kills calls at random: a session then is what it was
// before the call, or what the call made of it, and never anything else.
func TestSessionsSurviveKill(t *testing.T) {
	long(t, "it kills a command over and over")
	t.Parallel()
	p := newNotebook(t)
	calls, killed, kept := 0, 0, 0
	p.must(0, "run", "notebook:next", "--session", "work")
	calls++
	for range rounds(6, 300) {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := p.command(ctx, "run", "notebook:slow", "--session", "work")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rand.Int64N(int64(400*time.Millisecond))), cancel) // kills with SIGKILL
		err := cmd.Wait()
		cancel()
		got := p.must(0, "run", "notebook:next", "--session", "work")
		switch {
		case got == nth(calls):
		case got == nth(calls+1):
			calls++
			kept++
		default:
			t.Fatalf("after %d calls the next one answers %q", calls, got)
		}
		if err != nil {
			killed++
		} else if got != nth(calls) {
			t.Fatal("a call that ended left nothing")
		}
		calls++
	}
	t.Logf("%d of the calls were killed, %d left what they did", killed, kept)
	var all []struct {
		Calls int  `json:"calls"`
		InUse bool `json:"in_use"`
	}
	if err := json.Unmarshal([]byte(p.must(0, "session", "list", "--json")), &all); err != nil || len(all) != 1 || all[0].Calls != calls || all[0].InUse {
		t.Errorf("listed %+v after %d calls, %v", all, calls, err)
	}
	if files, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "*", "*.session")); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
}

// TestProcessesShareASession has processes call one session at the same time.
func TestProcessesShareASession(t *testing.T) {
	t.Parallel()
	p := newNotebook(t)
	const n = 6
	got := make(chan string, n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { got <- p.must(0, "run", "notebook:next", "--session", "work") })
	}
	wg.Wait()
	close(got)
	seen := map[string]bool{}
	for a := range got {
		seen[a] = true
	}
	for i := range n {
		if !seen[nth(i)] {
			t.Errorf("nobody got %s of %v", nth(i), seen)
		}
	}
}

// TestSessionsArePrivate looks at who may read what sessions hold.
func TestSessionsArePrivate(t *testing.T) {
	t.Parallel()
	p := newNotebook(t)
	p.must(0, "run", "notebook:next", "--session", "work")
	if out := p.must(0, "doctor"); !strings.Contains(out, "sessions") {
		t.Errorf("the doctor says nothing of sessions:\n%s", out)
	}
	files, err := filepath.Glob(filepath.Join(p.home, "sessions", "*", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if mode := modeOf(t, f); mode&0o077 != 0 {
			t.Errorf("%s has mode %o", f, mode)
		}
	}
	if out := fmt.Sprint(files); strings.Contains(out, "ada") {
		t.Errorf("names of files tell whose they are: %s", out)
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode().Perm()
}

// spoilSession changes a bit in the file of a session.
func spoilSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spoil-session HOME SKILL/NAME")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "sessions", "skill", args[1]+".*.session"))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("files %v", files)
	}
	flip(ts, false, files)
}
