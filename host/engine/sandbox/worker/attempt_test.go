package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// tries are what tests have a worker try. Each returns what it got hold of, or
// nothing when it did not get it.
var tries = attempts{
	"panic": func(text string) string { panic(text) },
	"exit":  func(string) string { os.Exit(3); return "" },
	"environment": func(string) string {
		var other []string
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "TMPDIR=") && !strings.HasPrefix(e, "GOMAXPROCS=") {
				other = append(other, e)
			}
		}
		return strings.Join(other, "\n")
	},
	"arguments": func(string) string { return strings.Join(os.Args[1:], " ") },
	"input": func(string) string {
		b := make([]byte, 10)
		n, _ := os.Stdin.Read(b)
		return string(b[:n])
	},
	"read": func(path string) string { return got(os.ReadFile(path)) },
	"list": func(path string) string {
		entries, err := os.ReadDir(path)
		return got(fmt.Append(nil, entries), err)
	},
	"write":  func(path string) string { return done(os.WriteFile(path, []byte("x"), 0o600)) },
	"append": func(path string) string { return got(appended(path)) },
	"remove": func(path string) string { return done(os.Remove(path)) },
	"rename": func(path string) string { return done(os.Rename(path, os.TempDir()+"/x")) },
	"link":   func(path string) string { return done(os.Symlink(path, os.TempDir()+"/link")) },
	"own files": func(string) string {
		path := os.TempDir() + "/dir/file"
		err := errors.Join(os.Mkdir(os.TempDir()+"/dir", 0o700), os.WriteFile(path, []byte("x"), 0o600), os.Rename(path, path+"2"), os.Remove(path+"2"))
		return fmt.Sprint(err)
	},
	"big file": func(string) string {
		f, err := os.Create(os.TempDir() + "/big")
		if err != nil {
			return ""
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("x"), 600<<20)
		return done(err)
	},
	"open files": func(string) string {
		n := 0
		for f, err := os.Open(os.TempDir()); err == nil; f, err = os.Open(os.TempDir()) {
			defer f.Close()
			n++
		}
		return fmt.Sprint(n)
	},
	"output": func(text string) string {
		for range 1 << 10 {
			fmt.Fprintln(os.Stderr, strings.Repeat(text, 1<<10))
		}
		return ""
	},
	"exec":   func(program string) string { return got(exec.Command(program).CombinedOutput()) },
	"memory": func(string) string { return eat(64) },
	"spin": func(string) string {
		for {
			runtime.Gosched()
		}
	},
}

func got(b []byte, err error) string {
	if err != nil {
		return ""
	}
	return "got " + string(b)
}

func done(err error) string { return got(nil, err) }

func appended(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = f.WriteString("x")
	return nil, err
}

// eat takes so many GiB.
func eat(gib int) string {
	var all [][]byte
	for range gib << 4 {
		b := make([]byte, 64<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	return fmt.Sprint(len(all))
}

// try has a worker try something, and returns what it says came of it.
func try(p *process, name, text string) (string, error) {
	var came tried
	if err := p.request(kindAttempt, &attempt{name, text}, kindTried, 1<<20, &came); err != nil {
		return "", p.judge(err)
	}
	return came.Text, nil
}
