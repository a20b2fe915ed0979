// Command prove shows of a real `skillet serve`, from outside, what no test of a package can: that
// it answers any request as its OpenAPI document says, what it does under load for minutes, and
// how it is with thousands of skills, what is left of its home when the power fails, and what a
// governed call takes.
//
//	prove -bin bin/skillet openapi load many power governed
//
// Each proof has a home of its own, talks to this machine alone and ends by itself. Its report is
// written to standard output and to a file in the directory of reports. With KEEP=1 in the
// environment the homes stay, for looking around.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

// A proof is what one word of the command line does.
type proof struct {
	name string
	run  func(context.Context, *stage) error
}

var proofs = []proof{{"openapi", openAPI}, {"load", load}, {"many", many}, {"power", power}, {"governed", governed}, {"agentskills", agentSkills}}

// A stage is what a proof has: a program, a directory of its own, and where its report goes.
type stage struct {
	bin, dir, tools, bench string
	collection, engine     string
	short                  bool
	out                    io.Writer
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func main() {
	var s stage
	flag.StringVar(&s.bin, "bin", "bin/skillet", "the skillet program")
	flag.StringVar(&s.tools, "tools", ".tools", "directory with the tools that make tools installs")
	flag.StringVar(&s.bench, "guests", "bench/testdata", "directory with the guests of the benchmarks")
	flag.StringVar(&s.engine, "engine", "cpython", "for agentskills: the interpreter that runs them, cpython or cpython-office")
	flag.StringVar(&s.collection, "collection", "", "for agentskills: a directory of skills, whose scripts are run")
	flag.BoolVar(&s.short, "short", false, "do a small part of it")
	reports := flag.String("reports", "proof", "directory of the reports")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed := false
	for _, name := range flag.Args() {
		if err := s.prove(ctx, name, *reports); err != nil {
			fmt.Fprintf(os.Stderr, "prove: %s: %v\n", name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func (s stage) prove(ctx context.Context, name, reports string) (err error) {
	i := slices.IndexFunc(proofs, func(p proof) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("not a proof")
	}
	for _, path := range []*string{&s.bin, &s.tools, &s.bench} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(reports, 0o755); err != nil {
		return err
	}
	report, err := os.Create(filepath.Join(reports, name+".txt"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, report.Close()) }()
	s.out = io.MultiWriter(os.Stdout, report)
	if s.dir, err = os.MkdirTemp("", "skillet-prove-"); err != nil {
		return err
	}
	defer func() {
		if os.Getenv("KEEP") == "1" {
			s.say("kept in %s", s.dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(s.dir))
	}()
	return proofs[i].run(ctx, &s)
}
