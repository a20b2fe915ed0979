package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// flags are those of make build: no paths of this machine, no symbols, no debugger's tables.
var flags = []string{"-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-buildvcs=true"}

// A program is skillet, built for a platform.
type program struct {
	platform
	path string
	info *buildinfo.BuildInfo
}

// build builds the program for each platform, and for this machine, which answers what is in
// its pages. The version and the time of the release are those that the program carries.
func (r *release) build(ctx context.Context, dir string, s *shelf) ([]program, error) {
	var all []program
	for _, p := range r.platforms {
		r.say("%s: build", p)
		b, err := r.buildOne(ctx, dir, p, s)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, r.identify(all[0].info)
}

func (r *release) buildOne(ctx context.Context, dir string, p platform, s *shelf) (program, error) {
	path, err := filepath.Abs(filepath.Join(dir, p.String(), p.program()))
	if err == nil {
		s.overlay, err = filepath.Abs(s.overlay)
	}
	if err != nil {
		return program{}, err
	}
	cmd := r.goFor(ctx, p.os, p.arch, append(append([]string{"build"}, flags...), "-overlay", s.overlay, "-o", path, "./cmd/skillet")...)
	if err := cmd.Run(); err != nil {
		return program{}, fmt.Errorf("%s: go build: %w", p, cmp.Or(ctx.Err(), err))
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program{}, fmt.Errorf("%s: %w", p, err)
	}
	return program{p, path, info}, nil
}

// identify takes the version and the time of a release from what Go wrote into the program.
func (r *release) identify(info *buildinfo.BuildInfo) error {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["vcs.revision"] == "" {
		return fmt.Errorf("%s is not the top of a git clone, from which Go takes the version (it takes none from a worktree)", r.source)
	}
	if settings["vcs.modified"] == "true" && !r.modified {
		return fmt.Errorf("the sources differ from commit %.12s: commit them, or give -modified", settings["vcs.revision"])
	}
	made, err := time.Parse(time.RFC3339, settings["vcs.time"])
	if err != nil {
		return fmt.Errorf("time of the commit: %w", err)
	}
	r.version, r.made = info.Main.Version, made.UTC()
	return nil
}

// ask runs the program for this machine and returns what it prints.
func (r *release) ask(ctx context.Context, programs []program, args ...string) ([]byte, error) {
	for _, p := range programs {
		if p.os != runtime.GOOS || p.arch != runtime.GOARCH {
			continue
		}
		var out, failed bytes.Buffer
		cmd := exec.CommandContext(ctx, p.path, args...)
		cmd.Stdout, cmd.Stderr = &out, &failed
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("skillet %s: %w: %s", args, err, failed.Bytes())
		}
		return out.Bytes(), nil
	}
	return nil, fmt.Errorf("%s/%s is not among the platforms: the program has to run here once", runtime.GOOS, runtime.GOARCH)
}
