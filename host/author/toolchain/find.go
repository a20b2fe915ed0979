package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Need is a program that a language needs, as it was found here.
type Need struct {
	Program string `json:"program"`
	// Minimum is the oldest version that works; empty when any does.
	Minimum string `json:"minimum,omitempty"`
	// Version is what is installed, and Command how it is started; both are empty
	// when nothing was found.
	Version string   `json:"version,omitempty"`
	Command []string `json:"command,omitempty"`
	// Problem says what is wrong, empty for nothing, and Get how to get it.
	Problem string `json:"problem,omitempty"`
	Get     string `json:"get,omitempty"`
}

// A Toolchain is what a language needs, as it was found here.
type Toolchain struct {
	Language Language `json:"language"`
	Title    string   `json:"title"`
	// Ready is true when nothing is missing. Needs is empty for scripts.
	Ready bool   `json:"ready"`
	Needs []Need `json:"needs"`
}

// Words says in a few words what is installed, or what is missing.
func (t Toolchain) Words() string {
	if len(t.Needs) == 0 {
		return "needs no compiler"
	}
	var have, lack []string
	for _, n := range t.Needs {
		switch {
		case n.Problem != "":
			lack = append(lack, n.Problem)
		case n.Minimum != "":
			have = append(have, n.Program+" "+n.Version)
		}
	}
	if len(lack) > 0 {
		return strings.Join(lack, "; ")
	}
	return strings.Join(have, ", ") + " is here"
}

// found are the words that start each program of a toolchain.
type found map[string][]string

// command is the program with further words behind it.
func (f found) command(program string, words ...string) []string {
	return append(append([]string{}, f[program]...), words...)
}

// Find looks for what a language needs to build the project in dir, which may be
// empty for none. What is missing is in the result.
func Find(ctx context.Context, l Language, dir string, s Settings) Toolchain {
	t, _ := find(ctx, l, dir, s)
	return t
}

// FindAll is [Find] for several languages, in their order, with no project. Each
// program is asked once.
func FindAll(ctx context.Context, ls []Language, s Settings) []Toolchain {
	var all []Toolchain
	known := map[string]Need{}
	for _, l := range ls {
		t, _ := findKnown(ctx, l, "", s, known)
		all = append(all, t)
	}
	return all
}

func find(ctx context.Context, l Language, dir string, s Settings) (Toolchain, found) {
	return findKnown(ctx, l, dir, s, map[string]Need{})
}

func findKnown(ctx context.Context, l Language, dir string, s Settings, known map[string]Need) (Toolchain, found) {
	r, _ := rowOf(l)
	t, f := Toolchain{Language: l, Title: r.title, Ready: true, Needs: []Need{}}, found{}
	look := search{ctx: ctx, dir: dir, settings: s, environ: environ(r, s.Environ)}
	for _, p := range r.needs {
		n, ok := known[p.name+p.minimum]
		if !ok {
			n = look.program(p)
			known[p.name+p.minimum] = n
		}
		t.Ready = t.Ready && n.Problem == ""
		t.Needs = append(t.Needs, n)
		f[p.name] = n.Command
	}
	return t, f
}

// Missing is the error for a toolchain that is not complete: it names each
// program, and says how to get it. It is nil for one that is ready.
func (t Toolchain) Missing() error {
	if t.Ready {
		return nil
	}
	var lines, ways []string
	for _, n := range t.Needs {
		if n.Problem != "" {
			lines, ways = append(lines, n.Problem), append(ways, n.Get)
		}
	}
	return fault.Errorf(fault.KindNotFound, "building %s needs what is not here: %s", t.Title, strings.Join(lines, "; ")).
		WithHint("%s", strings.Join(ways, "; then "))
}

// askTime bounds how long a program may take to say its version.
const askTime = 20 * time.Second

// A search looks for programs.
type search struct {
	ctx      context.Context
	dir      string
	settings Settings
	environ  []string
}

func (s search) program(p program) Need {
	n := Need{Program: p.name, Minimum: p.minimum, Get: p.get.here(), Problem: p.name + " is not found"}
	for _, st := range p.starts {
		words, ok := s.words(st.words)
		if !ok {
			continue
		}
		version, ok := s.version(p, append(append([]string{}, words...), st.ask...))
		switch {
		case !ok:
		case !atLeast(version, p.minimum):
			n.Problem = fmt.Sprintf("%s is %s, and %s or later is needed", p.name, version, p.minimum)
		default:
			n.Version, n.Command, n.Problem, n.Get = version, words, "", ""
			return n
		}
	}
	return n
}

// words finds the file of the first word.
func (s search) words(words []string) ([]string, bool) {
	path := words[0]
	switch rest, tool := strings.CutPrefix(path, "tools/"); {
	case tool:
		path = s.inTools(rest)
	case strings.HasPrefix(path, "./") && s.dir != "":
		path = executable(filepath.Join(s.dir, path))
	case strings.HasPrefix(path, "./"):
		path = ""
	default:
		path = s.onPath(path)
	}
	if path == "" {
		return nil, false
	}
	return append([]string{path}, words[1:]...), true
}

// inTools finds a file in one of the directories of tools.
func (s search) inTools(name string) string {
	dirs := []string{s.settings.Tools}
	if s.dir != "" {
		dirs = append(dirs, filepath.Join(s.dir, ".tools"))
	}
	for _, d := range dirs {
		if d == "" {
			continue
		}
		if path := executable(filepath.Join(d, filepath.FromSlash(name))); path != "" {
			return path
		}
	}
	return ""
}

// executable is path when there is a file, or else nothing.
func executable(path string) string {
	if runtime.GOOS == "windows" {
		for _, e := range []string{".exe", ".cmd"} {
			if st, err := os.Stat(path + e); err == nil && st.Mode().IsRegular() {
				return path + e
			}
		}
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

// onPath finds a program on the PATH of the settings, never in a relative
// directory of it.
func (s search) onPath(name string) string {
	for _, dir := range filepath.SplitList(lookUp(s.settings.Environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// version asks a program for its version; false when it does not tell.
func (s search) version(p program, words []string) (string, bool) {
	ctx, cancel := context.WithTimeout(s.ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env, cmd.Dir = s.environ, s.dir
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", false
	}
	m := p.version.FindStringSubmatch(strings.TrimSpace(out.String()))
	if m == nil {
		return "", false
	}
	if p.minimum == "" { // what it names must be there
		_, err := os.Stat(m[1])
		return m[1], err == nil
	}
	return m[1], true
}

// atLeast compares versions of numbers with dots.
func atLeast(have, want string) bool {
	if want == "" {
		return true
	}
	h, w := numbers(have), numbers(want)
	for i := range w {
		switch {
		case i >= len(h) || h[i] < w[i]:
			return false
		case h[i] > w[i]:
			return true
		}
	}
	return true
}

func numbers(version string) []int {
	var all []int
	for _, part := range strings.Split(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}
