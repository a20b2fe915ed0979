package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/casetest"
	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// caseName is a name that a file of a recorded case can have.
var caseName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// maxRecorded is how long a recorded case may be: as long as a file of cases may be.
const maxRecorded = 1 << 20

// recordCase makes a real call, and of it a case in a file of its own, whose path in
// the package it returns.
func (t *terminal) recordCase(ctx context.Context, c *cli.Context, h *host.Host, s subject) (string, error) {
	name := c.String("record")
	switch {
	case s.dir == "":
		return "", fault.Errorf(fault.KindUsage, "--record writes into a directory, and %s is none", s.name).WithHint("name the directory of the skill")
	case !s.pkg.Manifest().Type.IsCode():
		return "", fault.Errorf(fault.KindUsage, "--record records the call of a tool, and %s is a %s", s.name, s.pkg.Manifest().Type).
			WithHint("a case of a prompt is its parameters and its text, which `skillet run %s --render` shows", s.name)
	case !caseName().MatchString(name):
		return "", fault.Errorf(fault.KindUsage, "--record %q: a case has a name of letters, digits and . _ -, with which its file is called", name)
	}
	file := testcase.Dir + "/" + name + ".json"
	if exists(filepath.Join(s.dir, filepath.FromSlash(file))) && !c.Bool("update") {
		return "", fault.Errorf(fault.KindConflict, "%s exists already", file).WithHint("give the case another name, or replace it with --update")
	}
	call, err := t.recordedCall(ctx, c, h, s)
	if err != nil {
		return "", err
	}
	done := t.waiting("recording %s", s.name)
	a, err := h.Invoke().Invoke(ctx, call)
	done()
	if err != nil {
		return "", err
	}
	if a.Recording == nil {
		return "", fmt.Errorf("record the case %s: %w", name, a.Error)
	}
	for _, secret := range a.TooShort {
		t.note("skillet: the secret %s is too short to be struck out: look at the case before giving it away", plain(secret))
	}
	made, err := casetest.Recorded(name, a.Recording, os.ReadFile)
	if err != nil {
		return "", fault.Wrap(fault.KindUsage, err)
	}
	return file, writeCase(s.dir, file, made)
}

// recordedCall is the call that flags ask for.
func (t *terminal) recordedCall(ctx context.Context, c *cli.Context, h *host.Host, s subject) (invoke.Invocation, error) {
	target, err := h.Invoke().Local(ctx, s.name, c.String("tool"), s.pkg)
	if err != nil {
		return invoke.Invocation{}, err
	}
	call := invoke.Invocation{Target: target, By: t.person(), NoCache: true, Record: true}
	if c.IsSet("input") {
		if call.Input, err = t.readInput(ctx, c.String("input")); err != nil {
			return call, err
		}
	}
	if call.Allow, err = t.allow(c); err != nil {
		return call, err
	}
	call.Workspace, err = workspace(c)
	return call, err
}

// writeCase writes a case into its file.
func writeCase(dir, file string, made testcase.Case) error {
	b, err := testcase.Encode(made)
	if err != nil {
		return err
	}
	if len(b) > maxRecorded {
		return fault.Errorf(fault.KindLimit, "the case is %d bytes long, and at most %d are read", len(b), maxRecorded).
			WithHint("record a call that reads less, or write the case by hand, with long texts in files of tests/data")
	}
	if _, err := testcase.Parse(b, file); err != nil { // nobody could run it
		return fmt.Errorf("write the recorded case: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	defer root.Close()
	if err := root.Mkdir(testcase.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	if err := root.WriteFile(filepath.FromSlash(file), b, 0o644); err != nil {
		return fmt.Errorf("write the recorded case: %w", err)
	}
	return nil
}
