// Command demo shows what skillet is for, by using it: it runs the real
// program on real input in a home of its own, tells what happens in plain
// words, and fails when anything goes otherwise than told.
//
//	demo -bin bin/skillet -readme README.md
//
// With KEEP=1 in the environment the home stays, for looking around.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	bin := flag.String("bin", "bin/skillet", "the skillet program")
	readme := flag.String("readme", "README.md", "a Markdown file to work on")
	flag.Parse()
	if err := demo(*bin, *readme); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(bin, readme string) (err error) {
	dir, err := os.MkdirTemp("", "skillet-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if os.Getenv("KEEP") == "1" {
			fmt.Printf("\nKept in %s\n", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	s, err := newStage(dir, bin, readme)
	if err != nil {
		return err
	}
	defer s.server.Close()
	for i, scene := range scenes() {
		fmt.Printf("\n=== %d. %s\n", i+1, scene.title)
		if err := scene.play(s); err != nil {
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	fmt.Println("\nThat is all. Everything above ran in a sandbox; nothing is left behind.")
	return nil
}

// newStage prepares the directory the demo plays in: a home, documents a skill
// will be granted, and one it will not.
func newStage(dir, bin, readme string) (*stage, error) {
	s := &stage{dir: dir, home: filepath.Join(dir, "home"), docs: filepath.Join(dir, "docs")}
	var err error
	if s.bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	if s.readme, err = os.ReadFile(readme); err != nil {
		return nil, err
	}
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
	s.server, err = serve()
	return s, err
}
