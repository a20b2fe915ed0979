// Package demo shows what skillet is for, by using it: it runs the program on real input in
// a home of its own, tells what happens in plain words, and fails when anything goes
// otherwise than told. Nothing of it stays.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Show says what is shown, and to whom. All of it is needed.
type Show struct {
	// Program is the path of skillet, and Environ what it is run with.
	Program string
	Environ []string
	// Out is who looks on.
	Out io.Writer
}

// A Scene is one part that went as told.
type Scene struct {
	Title string `json:"title"`
}

// Needs are the first-party skills that are shown. They have to come with the program.
func Needs() []string { return []string{"files", "http", "markdown", "text"} }

// Run plays all scenes, in a directory that is removed behind them. It returns those that
// went as told; the error says which did not. When the context ends, so does the scene.
func (w Show) Run(ctx context.Context) (played []Scene, err error) {
	dir, err := os.MkdirTemp("", "skillet-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newStage(ctx, dir, w)
	if err != nil {
		return nil, err
	}
	defer s.server.Close()
	for i, scene := range scenes() {
		s.say("\n=== %d. %s", i+1, scene.title)
		if err := scene.play(s); err != nil {
			return played, fmt.Errorf("%s: %w", scene.title, err)
		}
		played = append(played, Scene{scene.title})
	}
	s.say("\nThat is all. Everything above ran in a sandbox; nothing is left behind.")
	return played, nil
}

// newStage prepares the directory that all happens in: a home, documents a skill will be
// granted, and one it will not.
func newStage(ctx context.Context, dir string, w Show) (*stage, error) {
	s := &stage{dir: dir, home: filepath.Join(dir, "home"), docs: filepath.Join(dir, "docs"), ctx: ctx, Show: w}
	for path, text := range map[string]string{
		filepath.Join(s.docs, "plan.txt"):      "Plan: ship it on Friday.\nThen rest.\n",
		filepath.Join(dir, "private", "diary"): "Nobody may read this.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	var err error
	s.server, err = serve()
	return s, err
}
