// Command catalog packs the first-party skills and lists them for the program: it writes
// NAME-VERSION.skill files and catalog.json, which the next build embeds.
//
//	catalog -output dist -skills skills skills/text skills/csv
//
// The arguments are directories to pack. Listed are all packages in the output directory
// that are named like a directory of skills, so also interpreters that were made there.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/fetch/catalog"
)

func main() {
	out := flag.String("output", "dist", "write to `DIR`, which is made")
	skills := flag.String("skills", "skills", "the `DIR` whose directories are named like the first-party packages")
	flag.Parse()
	if err := run(*out, *skills, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(out, skills string, dirs []string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := catalog.Pack(dir, out); err != nil {
			return fmt.Errorf("pack: %w", err)
		}
	}
	names, err := catalog.Names(skills)
	if err != nil {
		return err
	}
	list, err := catalog.Make(out, names, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%s lists %d packages\n", filepath.Join(out, catalog.ListFile), len(list.Packages))
	return nil
}
