package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fullHome makes a home that has some of every kind of data.
func (p *person) fullHome() (template string) {
	p.t.Helper()
	p.pack("kept", "kept", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("new", "new", "1.0.0", "")
	p.must(0, "install", "./kept", "--yes")
	p.must(0, "permission", "grant", "kept", "notify")
	p.must(0, "permission", "revoke", "kept", "notify")
	p.must(6, "install", "./new", "--generated-by", "m")
	p.must(0, "run", "kept", "--input", "warm")
	for i := range 12 {
		p.must(0, "memory", "add", fmt.Sprintf("fact number %d is that %d times two is %d", i, i, 2*i))
	}
	p.run("task", "run", "count the words of: one two three")
	for i := range 3 {
		p.must(0, "task", "run", fmt.Sprintf("say %d", i), "--detach")
	}
	return p.keep("template")
}

// holds is what a home says it holds.
func (p *person) holds() string {
	p.t.Helper()
	var b strings.Builder
	for _, args := range [][]string{
		{"memory", "list", "--limit", "100"}, {"task", "list", "--all"}, {"list", "--all"}, {"permission", "show", "kept"}, {"approvals", "list", "--all"},
	} {
		code, out, errs := p.run(args...)
		fmt.Fprintf(&b, "%s: %d\n%s%s\n", strings.Join(args[:2], " "), code, out, errs)
	}
	return withoutTimes(b.String())
}

// recovered does what commands say is to be done, if they say so, and returns what the
// home holds then.
func (p *person) recovered(finish ...string) (holds string, told bool) {
	p.t.Helper()
	code, _, errs := p.run("list")
	if code != 0 {
		if code != 7 || !strings.Contains(errs, "skillet "+strings.Join(finish[:2], " ")) {
			p.t.Fatalf("list: exit code %d, and no way out: %s", code, errs)
		}
		told = true
		p.must(0, finish...)
	}
	p.must(0, "store", "verify")
	p.must(0, "audit", "verify")
	p.must(0, "doctor")
	return p.holds(), told
}

// A rebuild, a repair or a restore that is killed at any moment loses nothing: the home
// holds what it held, at once or after the command that it names.
func TestKilledRebuildsLoseNothing(t *testing.T) {
	p := newPerson(t)
	template := p.fullHome()
	p.at(template)
	p.must(0, "store", "backup", "backup.bin")
	want := p.holds()
	if !strings.Contains(want, "fact number 11") || !strings.Contains(want, "say 2") {
		t.Fatalf("the home does not hold what it should:\n%s", want)
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
			took := time.Since(start)
			ended, told := 0, 0
			n := rounds(4, 100)
			for range n {
				prepare()
				if p.kill(rand.N(took+took/4), c.args) {
					ended++
				}
				got, named := p.recovered("audit", "repair", "--yes")
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
