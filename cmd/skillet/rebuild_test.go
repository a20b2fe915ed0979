package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
)

// keeper has the tools put, which keeps a value, and get, which answers with it.
func keeper() []byte {
	m := wasmtest.New()
	sig := wasmtest.Sig("i32 i32 i32 i32", "i64")
	put, get := m.ImportFunc("skillet:host/v1", "kv_put", sig), m.ImportFunc("skillet:host/v1", "kv_get", sig)
	read := m.ImportFunc("skillet:host/v1", "response_read", wasmtest.Sig("i32 i32", ""))
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Sig("i32 i32", ""))
	m.Memory(16, 16)
	m.ExportMemory("memory")
	const meta, value = `{"key":"color"}`, "ultramarine"
	m.Data(0, []byte(meta+value))
	c, wrap := wasmtest.I32Const, wasmtest.Op(0xa7)
	m.ExportFunc("put", m.Func(wasmtest.Sig("", "i32"), "", c(0), c(int32(len(meta))), c(int32(len(meta))), c(int32(len(value))),
		wasmtest.Call(put), wasmtest.Drop(), c(0)))
	m.ExportFunc("get", m.Func(wasmtest.Sig("", "i32"), "i64", c(0), c(int32(len(meta))), c(0), c(0), wasmtest.Call(get), wasmtest.LocalSet(0),
		c(1<<16), c(2<<16), wasmtest.Call(read), c(2<<16), wasmtest.LocalGet(0), wrap, wasmtest.Call(write), c(0)))
	return m.Bytes()
}

// fullHome makes a home that has some of every kind of data: what a skill keeps, a
// session, memories, tasks that ended and others that wait, usage and budgets of models,
// grants and a proposal.
func (p *person) fullHome() (template string) {
	p.t.Helper()
	p.pack("kept", "kept", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("new", "new", "1.0.0", "")
	p.must(0, "install", "./kept", "--yes")
	p.must(0, "permission", "grant", "kept", "notify")
	p.must(0, "permission", "revoke", "kept", "notify")
	p.must(6, "install", "./new", "--generated-by", "m")
	p.must(0, "run", "kept", "--input", "warm")
	p.write("keeper/main.wasm", keeper())
	p.write("keeper/skill.json", []byte(`{"name":"keeper","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm",
		"tools":[{"name":"put"},{"name":"get"}],"security":{"permissions":{"kv":{"reason":"r"}}}}`))
	p.write("notebook/main.wasm", notebook())
	p.write("notebook/skill.json", []byte(notebookManifest))
	p.must(0, "install", "./keeper", "./notebook", "--yes")
	p.must(0, "run", "keeper:put")
	for range 2 {
		p.must(0, "run", "notebook:next", "--session", "work")
	}
	for i := range 12 {
		p.must(0, "memory", "add", fmt.Sprintf("fact number %d is that %d times two is %d", i, i, 2*i))
	}
	p.run("task", "run", "count the words of: one two three")
	p.ask("paid", "")
	p.must(0, "task", "run", "say something", "--plan", "never")
	if err := os.Remove(filepath.Join(p.home, "config.yaml")); err != nil { // what it says is no data
		p.t.Fatal(err)
	}
	for i := range 3 {
		p.must(0, "task", "run", fmt.Sprintf("say %d", i), "--detach")
	}
	return p.keep("template")
}

// holds is what a home says it holds.
func (p *person) holds() string {
	p.t.Helper()
	var b strings.Builder
	code, out, errs := p.run("store", "rebuild", "--dry-run", "--json")
	var counted struct {
		Kinds []struct {
			Kind  string
			After int
		}
	}
	if err := json.Unmarshal([]byte(out), &counted); err != nil {
		fmt.Fprintf(&b, "count: %d %s\n", code, errs)
	}
	for _, k := range counted.Kinds {
		fmt.Fprintf(&b, "%d-%s\n", k.After, strings.ReplaceAll(k.Kind, " ", "-"))
	}
	for _, args := range [][]string{
		{"memory", "list", "--limit", "100"}, {"task", "list", "--all"}, {"list", "--all"}, {"permission", "show", "kept"}, {"approvals", "list", "--all"},
		{"stats", "models", "memory"}, {"run", "keeper:get"}, {"run", "notebook:next", "--session", "work"},
	} {
		code, out, errs := p.run(args...)
		fmt.Fprintf(&b, "%s: %d\n%s%s\n", strings.Join(args[:2], " "), code, out, errs)
	}
	return withoutTimes(b.String())
}

// recovered looks at a home with one of the commands that say whether it is well,
// does what they say is to be done, if they say so, and returns what the home holds
// then. What says that all is well has to be right.
func (p *person) recovered(look []string, finish ...string) (holds string, told bool) {
	p.t.Helper()
	way := "skillet " + strings.Join(finish[:2], " ")
	well := func(args ...string) bool {
		code, out, errs := p.run(args...)
		if code != 0 && (code != 7 || !strings.Contains(out+errs, way)) {
			p.t.Fatalf("%q: exit code %d, and no way out: %s%s", args, code, out, errs)
		}
		return code == 0
	}
	said := well(look...)
	if !well("list") {
		if said && look[0] != "store" { // which says nothing about the audit log
			p.t.Fatalf("%q says that all is well, and it is not", look)
		}
		told = true
		p.must(0, finish...)
	}
	for _, look := range looks[1:] { // the list is in what it holds
		p.must(0, look...)
	}
	return p.holds(), told
}

// looks are the commands that say whether a home is well.
var looks = [][]string{{"list"}, {"store", "verify"}, {"audit", "verify"}, {"doctor"}}

// A rebuild, a repair or a restore that is killed at any moment loses nothing: the home
// holds what it held, at once or after the command that it names.
func TestKilledRebuildsLoseNothing(t *testing.T) {
	long(t, "it kills a command over and over")
	p := newPerson(t)
	template := p.fullHome()
	p.at(template)
	p.must(0, "store", "backup", "backup.bin")
	want := p.holds()
	for _, part := range []string{"fact number 11", "say 2", "1-values-that-skills-keep", "3-jobs-in-queues", "budgets-of-models", "days-of-models'-usage", "budget of the day: 20 of 5000000 tokens, $0.0020", "ultramarine", "notebook:next: 0 ac"} {
		if !strings.Contains(want, part) {
			t.Fatalf("the home does not hold %s:\n%s", part, want)
		}
	}
	for _, c := range []struct {
		name   string
		args   []string
		damage bool
	}{
		{"rebuild", []string{"store", "rebuild", "--yes"}, false},
		{"repair", []string{"audit", "repair", "--yes"}, true},
		{"restore", []string{"store", "restore", "backup.bin", "--yes"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			prepare := func() {
				p.at(template)
				if c.damage { // of the head of the journal, so that no decision is lost
					flipBit(t, filepath.Join(p.home, "journal", "decisions", "HEAD"), 20)
				}
			}
			prepare()
			start := time.Now()
			p.must(0, c.args...)
			when := moments{time.Since(start) * 5 / 4}
			ended, told := 0, 0
			n := rounds(4, 300)
			for i := range n {
				prepare()
				said := p.kill(when.next(), c.args)
				when.had(said)
				if said {
					ended++
				}
				got, named := p.recovered(looks[i%len(looks)], "audit", "repair", "--yes")
				if named {
					told++
				}
				if got != want {
					t.Fatalf("the home holds:\n%s\nwant:\n%s", got, want)
				}
			}
			t.Logf("proof: %s killed %d times: %d had ended, %d named the command that finishes it, nothing was lost", c.name, n, ended, told)
		})
	}
}

// One altered byte in any file of a home: what the commands for that make of it has
// everything else.
func TestOneAlteredByteCostsNothingElse(t *testing.T) {
	long(t, "it alters a home over and over")
	p := newPerson(t)
	template := p.fullHome()
	p.at(template)
	want := strings.Split(p.holds(), " ")
	files := homeFiles(t, p.home)
	n := rounds(12, 3*len(files))
	lossy := 0
	for i := range n {
		rel := files[(i*len(files)/min(n, len(files)))%len(files)]
		p.at(template)
		path := filepath.Join(p.home, rel)
		size := written(t, path, 1<<30)
		if size == 0 {
			continue
		}
		where := flipBit(t, path, rand.Int64N(size))
		if code, _, _ := p.run("audit", "repair", "--yes"); code == 8 {
			p.must(0, "audit", "repair", "--yes", "--force")
		}
		if code, _, errs := p.run("store", "rebuild", "--yes"); code == 8 {
			lossy++
			p.must(0, "store", "rebuild", "--yes", "--force")
		} else if code != 0 && !strings.Contains(errs, "hint:") {
			t.Errorf("%s: exit code %d and no way out: %s", where, code, errs)
		}
		if missing := missingFrom(p.holds(), want); missing > mostWords {
			t.Errorf("%s: %d of %d words are not there any more:\n%s", where, missing, len(want), p.holds())
		}
	}
	t.Logf("proof: one altered byte, %d times in %d files: %d times one entry was lost, and otherwise none", n, len(files), lossy)
}

// mostWords is how many words are told of the longest entry that one byte can cost: an
// installation, of which both the list of skills and that of its grants tell.
const mostWords = 24

func missingFrom(got string, want []string) (n int) {
	for _, w := range want {
		if !strings.Contains(got, w) {
			n++
		}
	}
	return n
}

// homeFiles are the files of a home that it cannot make again.
func homeFiles(t *testing.T, home string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(home, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == "cache" || rel == "history" || rel == "keys") {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() && info.Size() > 0 && !strings.HasSuffix(rel, ".vlog") {
			files = append(files, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
