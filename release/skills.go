package main

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fetch/catalog"
)

// installedSkills is where a system has the packages of the catalog.
const installedSkills = "/usr/share/skillet/skills/"

// A shelf is what of the first-party packages goes with the program: their files, which
// are pages like others, and what is linked into them.
type shelf struct {
	// overlay is the file by which the compiler embeds the list.
	overlay string
	pages   []page
	linked  []debug.Module
}

// shelve builds and packs the first-party skills, has a program of this machine make the
// interpreters, lists all of it, and signs it when there is a key.
func (r *release) shelve(ctx context.Context, dir string) (*shelf, error) {
	out := filepath.Join(dir, "skills")
	if err := os.Mkdir(out, 0o755); err != nil {
		return nil, err
	}
	names, err := catalog.Names(filepath.Join(r.source, "skills"))
	if err != nil {
		return nil, err
	}
	linked, err := r.packSkills(ctx, dir, out, names)
	if err != nil {
		return nil, err
	}
	if err := r.makeEngines(ctx, dir, out); err != nil {
		return nil, err
	}
	var key crypto.Signer
	if r.key != "" {
		if key, err = readKey(r.key); err != nil {
			return nil, fmt.Errorf("-key %s: %w", r.key, err)
		}
	} else {
		r.say("the packages of skills are not signed: -key was not given")
	}
	if _, err := catalog.Make(out, names, key); err != nil {
		return nil, err
	}
	s := &shelf{linked: linked, overlay: filepath.Join(dir, "overlay.json")}
	if err := r.overlay(s.overlay, filepath.Join(out, catalog.ListFile)); err != nil {
		return nil, err
	}
	s.pages, err = filesOf(out)
	return s, err
}

// packSkills packs every skill that is not an interpreter, and returns the modules of Go
// that are linked into them.
func (r *release) packSkills(ctx context.Context, dir, out string, names []string) ([]debug.Module, error) {
	var compiled []string
	for _, name := range names {
		source := filepath.Join(r.source, "skills", name)
		switch {
		case exists(filepath.Join(source, "main.go")):
			compiled = append(compiled, "./skills/"+name)
		case !exists(filepath.Join(source, "skill.json")):
			continue // an interpreter, which is made by the program
		}
		r.say("skill %s", name)
		if err := r.packSkill(ctx, filepath.Join(dir, "tree", name), source, out); err != nil {
			return nil, fmt.Errorf("skill %s: %w", name, err)
		}
	}
	return r.linkedInto(ctx, compiled)
}

// packSkill packs a copy of a skill with its module, and leaves the sources as they are.
func (r *release) packSkill(ctx context.Context, work, source, out string) error {
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		return err
	}
	if exists(filepath.Join(source, "main.go")) {
		module, err := filepath.Abs(filepath.Join(work, "main.wasm"))
		if err != nil {
			return err
		}
		if err := r.goFor(ctx, "wasip1", "wasm", append(append([]string{"build"}, flags...), "-buildmode=c-shared", "-buildvcs=false", "-o", module, "./skills/"+filepath.Base(source))...).Run(); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	return catalog.Pack(work, out)
}

// goFor is a go command in the sources, for a platform.
func (r *release) goFor(ctx context.Context, system, arch string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = r.source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH="+arch)
	return cmd
}

// linkedInto are the modules of Go that packages consist of, but this one.
func (r *release) linkedInto(ctx context.Context, packages []string) ([]debug.Module, error) {
	cmd := r.goFor(ctx, "wasip1", "wasm", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}"}, packages...)...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "@"))
	slices.Sort(lines)
	var all []debug.Module
	for _, line := range slices.Compact(lines) {
		path, version, _ := strings.Cut(line, "@")
		all = append(all, debug.Module{Path: path, Version: version})
	}
	return all, nil
}

// makeEngines has a program that is built for this machine make the interpreters.
func (r *release) makeEngines(ctx context.Context, dir, out string) error {
	if len(r.engines) == 0 {
		return nil
	}
	r.say("engines")
	program, err := filepath.Abs(filepath.Join(dir, "engines", r.here().program()))
	if err != nil {
		return err
	}
	build := r.goFor(ctx, r.here().os, r.here().arch, append(append([]string{"build"}, flags...), "-o", program, "./cmd/skillet")...)
	if err := build.Run(); err != nil {
		return fmt.Errorf("engines: go build: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, append(append([]string{"engine", "build"}, r.engines...), "--output", out, "--home", filepath.Join(dir, "home"), "--set", "secret_key=file")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("engines: %w", err)
	}
	return nil
}

// overlay writes the file by which go build has a list in place of the empty one.
func (r *release) overlay(path, list string) error {
	source, err := filepath.Abs(filepath.Join(r.source, "host", "fetch", "catalog", catalog.ListFile))
	if err != nil {
		return err
	}
	if list, err = filepath.Abs(list); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {source: list}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// filesOf are the packages and their signatures, as files that go with the program.
func filesOf(dir string) ([]page, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var pages []page
	for _, e := range entries {
		if e.Name() == catalog.ListFile { // it is in the program
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{"skills/" + e.Name(), installedSkills + e.Name(), text})
	}
	return pages, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
