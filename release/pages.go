package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// A page is a file that goes with the program: where it lies in an archive, and on a system.
type page struct {
	name, installed string
	text            []byte
}

// shells are those whose completions a package installs, and where they look for them.
var shells = []struct{ name, file, installed string }{
	{"bash", "completions/skillet.bash", "/usr/share/bash-completion/completions/skillet"},
	{"zsh", "completions/_skillet", "/usr/share/zsh/vendor-completions/_skillet"},
	{"fish", "completions/skillet.fish", "/usr/share/fish/vendor_completions.d/skillet.fish"},
}

// copied are files of the sources that go with the program as they are.
var copied = []string{"README.md", "LICENSE", "CHANGELOG.md"}

// pages are the files that go with the program on every platform.
func (r *release) pages(ctx context.Context, programs []program, s *shelf) ([]page, error) {
	pages := slices.Clone(s.pages)
	for _, s := range shells {
		text, err := r.ask(ctx, programs, "completion", s.name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{s.file, s.installed, text})
	}
	for _, name := range copied {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{name, "/usr/share/doc/skillet/" + name, text})
	}
	reference, err := os.ReadFile(filepath.Join(r.source, "docs", "cli.md"))
	if err != nil {
		return nil, err
	}
	licences, err := r.licences(ctx, programs, s)
	return append(pages,
		page{"skillet.1", "/usr/share/man/man1/skillet.1", md2man.Render(r.manual(reference))},
		page{"LICENCES.txt", "/usr/share/doc/skillet/copyright", licences}), err
}

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->\n*`)
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// manual turns the reference of the command line, docs/cli.md, into the Markdown that md2man
// reads: a title with the section, and no links, which a terminal cannot follow.
func (r *release) manual(reference []byte) []byte {
	_, text, _ := bytes.Cut(reference, []byte("\n"))
	text = link.ReplaceAll(comment.ReplaceAll(text, nil), []byte("$1"))
	title := fmt.Sprintf("%% SKILLET 1 %q %q\n# NAME\nskillet - run untrusted skills as WebAssembly modules\n\n# DESCRIPTION\n",
		r.made.Format("2006-01-02"), "skillet "+r.version)
	return append([]byte(title), text...)
}

// licence matches the names of files that say under which terms a module may be used.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// licences is the text of every licence of what is linked into one of the programs, or into
// a skill that goes with them.
func (r *release) licences(ctx context.Context, programs []program, s *shelf) ([]byte, error) {
	var b bytes.Buffer
	own, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	section(&b, "skillet "+r.version, own)
	tools, err := goRoot(ctx)
	if err != nil {
		return nil, err
	}
	if err := licencesOf(&b, "Go "+runtime.Version(), tools); err != nil {
		return nil, err
	}
	modules, err := r.modules(ctx, programs, s)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := licencesOf(&b, m.Path+" "+m.Version, m.Dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func section(b *bytes.Buffer, title string, text []byte) {
	line := strings.Repeat("=", 79)
	fmt.Fprintf(b, "%s\n%s\n%s\n\n%s\n\n", line, title, line, bytes.TrimSpace(text))
}

// licencesOf adds the licences that lie at the top of a module. A module without any is an
// error: nobody may pass on what it holds.
func licencesOf(b *bytes.Buffer, title, dir string) error {
	entries, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil {
		return fmt.Errorf("licence of %s: %w", title, err)
	}
	found := false
	for _, e := range entries {
		if !licence.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		section(b, title+": "+e.Name(), text)
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", title, dir)
	}
	return nil
}

func goRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out)), err
}

// A module is one that is linked in, and where its sources lie on this machine.
type module struct{ Path, Version, Dir string }

// modules are all that are linked into one of the programs or skills, in order of their paths.
func (r *release) modules(ctx context.Context, programs []program, s *shelf) ([]module, error) {
	args := []string{"mod", "download", "-json"}
	for _, d := range linked(programs, s) {
		args = append(args, d.Path+"@"+d.Version)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = r.source, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	var all []module
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var m module
		if err := d.Decode(&m); err != nil {
			return nil, fmt.Errorf("go mod download: %w", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// linked are the modules that Go says are in the programs and skills, each once and in order.
func linked(programs []program, s *shelf) []debug.Module {
	all := slices.Clone(s.linked)
	for _, p := range programs {
		for _, d := range p.info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			all = append(all, *d)
		}
	}
	slices.SortFunc(all, func(a, b debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b debug.Module) bool { return a.Path == b.Path })
}
