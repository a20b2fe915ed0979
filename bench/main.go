// Command bench measures Skillet's sandbox against what it is built on and what
// it competes with, in one run on one machine, and says which of the project's
// figures are reached. It is a module of its own, so that the product depends
// on none of the competitors.
//
//	cd bench && go run .
//
// Every answer of every guest is checked. A figure that is not reached is no
// error of this command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
	"github.com/skillet-run/skillet/bench/report"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	rounds                      int
	module, row, sections, path string
	quick, cpu                  bool
	holdModule                  string // see memory.go
	holdSkills                  int
}

func parse(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&s.rounds, "rounds", 31, "samples of each figure; the median counts")
	f.StringVar(&s.module, "module", "", "only modules whose name contains this `text`, such as c/ or extism")
	f.StringVar(&s.row, "row", "", "only rows whose name contains this `text`, besides the two that are compared")
	f.StringVar(&s.sections, "section", "", "only these `sections`, with commas: "+sectionNames())
	f.BoolVar(&s.cpu, "cpu", false, "count processor time of this process instead of time on the clock, on a machine that is busy with other things")
	f.BoolVar(&s.quick, "quick", false, "everything once: figures mean nothing, answers are checked")
	f.StringVar(&s.path, "json", "", "write the figures to this `file`; a whole run writes report.json without being asked")
	f.StringVar(&s.holdModule, "hold-module", "", "used by the command itself")
	f.IntVar(&s.holdSkills, "hold-skills", 0, "used by the command itself")
	err := f.Parse(args)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if s.path == "" && !s.quick && s.module == "" && s.row == "" && s.sections == "" {
		s.path = "report.json"
	}
	return s, err
}

// A bench is one run.
type bench struct {
	settings
	out     io.Writer
	plan    measure.Plan
	tmp     string
	shop    *engine.Workshop
	skillet string // path of the program
	report  report.Report
	left    []string // what was left out, and why
	modules map[string][]byte
}

// sections are the parts of a run, in their order.
var sections = []struct {
	name  string
	title string
	run   func(*bench, context.Context) error
}{
	{"call", "One call: time of a warm instance of wazero, and the others as multiples of it", (*bench).calls},
	{"fuel", "Fuel and deadline: long work without host calls, as multiples of wazero without them", (*bench).fuel},
	{"copy", "1 MB in and out", (*bench).copies},
	{"throughput", "Concurrent callers: calls per second, and as multiples of one caller", (*bench).throughput},
	{"memory", "Memory of many loaded skills", (*bench).memory},
	{"ready", "A cached skill: from nothing to loaded, and to its first answer", (*bench).ready},
}

func sectionNames() string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.holdModule != "" {
		return hold(ctx, s.holdModule, s.holdSkills, out)
	}
	tmp, err := os.MkdirTemp("", "skillet-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	shop, err := engine.NewWorkshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close(ctx)) }()
	b := &bench{settings: s, out: out, tmp: tmp, shop: shop, modules: map[string][]byte{}}
	b.report.Machine = machine()
	if !s.quick {
		b.plan = measure.Plan{Rounds: s.rounds, Slot: 2 * time.Millisecond}
	}
	if s.cpu {
		if b.plan.Clock = measure.Processor(); b.plan.Clock == nil {
			return errors.New("--cpu: this system is not asked for processor time")
		}
		b.report.Machine += ", processor time"
	}
	return b.all(ctx)
}

func (b *bench) all(ctx context.Context) error {
	b.say("%s", b.report.Machine)
	if b.quick {
		b.say("Everything but counting 1 MB runs once: the figures mean nothing.")
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	for _, s := range sections {
		if b.sections != "" && !strings.Contains(","+b.sections+",", ","+s.name+",") || b.cpu && s.name == "throughput" {
			continue
		}
		b.say("\n%s", s.title)
		if err := s.run(b, ctx); err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
	}
	b.bars()
	b.say("\n%s", b.report.Bars())
	for _, line := range b.left {
		b.say("left out: %s", line)
	}
	if b.path == "" {
		return nil
	}
	return b.report.Write(b.path)
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// leaveOut keeps a reason why something is not measured, once.
func (b *bench) leaveOut(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, old := range b.left {
		if old == line {
			return
		}
	}
	b.left = append(b.left, line)
}

// build makes the program whose processes are measured.
func (b *bench) build(ctx context.Context) error {
	b.skillet = filepath.Join(b.tmp, "skillet")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.skillet, "./cmd/skillet")
	cmd.Dir = ".."
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build skillet: %w\n%s", err, text)
	}
	return nil
}

// module returns the bytes of a guest; nil when it is left out.
func (b *bench) module(g guests.Guest) ([]byte, error) {
	if !strings.Contains(g.Name, b.settings.module) {
		return nil, nil
	}
	if wasm, ok := b.modules[g.Name]; ok {
		return wasm, nil
	}
	wasm, err := g.Module("guests", b.tmp)
	if errors.Is(err, guests.ErrAbsent) {
		b.leaveOut("%v", err)
		err = nil
	}
	b.modules[g.Name] = wasm
	return wasm, err
}

// eachModule goes through the guests that are not left out.
func (b *bench) eachModule(list []guests.Guest, do func(g guests.Guest, wasm []byte) error) error {
	for _, g := range list {
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil {
			continue
		}
		if err := do(g, wasm); err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	return nil
}

// among has something done with the contestants for a guest, and closes them.
func (b *bench) among(ctx context.Context, g guests.Guest, wasm []byte, ways []engine.Way, do func(list []contestant) error) error {
	list, err := b.contestants(ctx, g, wasm, ways)
	if err != nil {
		return err
	}
	return errors.Join(do(list), closeAll(ctx, list))
}

// machine names what the figures were measured on.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s %s, %s", processor(), runtime.NumCPU(), runtime.GOOS, kernel(), runtime.Version())
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}
