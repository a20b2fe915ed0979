package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/casetest"
	"github.com/skillet-run/skillet/host/invoke"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

func (t *terminal) testCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "run the test cases of a skill",
		ArgsUsage: "[DIR | FILE.skill | SKILL[@VERSION]]",
		Description: "Runs the cases in tests/*.json, *.yaml and *.txtar of a skill, several at once, each in a workspace of\n" +
			"its own that is deleted. What a case grants holds for it alone, and only its files, mocks and made-up\n" +
			"secrets stand behind it: no case reaches a file, a server or a secret of this machine. A directory with\n" +
			"sources is built first, by compilers that run with your rights: for the project of a stranger, use\n" +
			"--no-build. What a case can say is in docs/testing.md.\n\n" +
			"--update writes the golden files of cases anew (expect_file, and the sections of .txtar files). --record\n" +
			"makes a case of a real run: it calls the tool with what --allow gives, and writes down what the call\n" +
			"was told, with the values of secrets struck out.\n\n" +
			"The exit code is 0 when all cases pass, and 1 when one fails.\n\n" +
			"Examples:\n  skillet test\n  skillet test ./word-count --run 'empty' --verbose\n  skillet test --junit report.xml\n" +
			"  skillet test --update\n" +
			"  skillet test --record fetches --tool fetch --input '{\"url\":\"https://example.com/\"}' --allow 'http:GET https://example.com/*'",
		Flags: append(buildFlags(),
			&cli.StringFlag{Name: "run", Usage: "only the cases whose \"file: name\" matches this regular expression, as `REGEXP`"},
			&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` cases at once (default: one a processor)"},
			&cli.StringFlag{Name: "junit", Usage: "also write a JUnit report to this `FILE`"},
			&cli.BoolFlag{Name: "update", Usage: "write golden files anew"},
			&cli.BoolFlag{Name: "verbose", Usage: "show every case, with its figures, log and refusals"},
			&cli.BoolFlag{Name: "no-build", Usage: "test what is there, without building it"},
			&cli.StringFlag{Name: "record", Usage: "make a real call, and of it the case with this `NAME`"},
			&cli.StringFlag{Name: "tool", Usage: "with --record: the `TOOL` to call"},
			&cli.StringFlag{Name: "input", Usage: "with --record: the input: `JSON`, @FILE, or - for standard input"},
			&cli.StringSliceFlag{Name: "allow", Usage: "with --record: allow this `CAPABILITY`; may be repeated"},
			workspaceFlag(),
		),
		Action: t.withState(t.test),
	}
}

// A subject is what is tested.
type subject struct {
	pkg *bundle.Package
	// dir is where its sources are; empty for what is packed or installed.
	dir string
	// name is what it was called.
	name string
}

// tested is what --json prints of test.
type tested struct {
	OK bool `json:"ok"`
	casetest.Report
	// Updated are the golden files that were written, and Recorded the case that was
	// recorded; empty for none.
	Updated  []string `json:"updated,omitempty"`
	Recorded string   `json:"recorded,omitempty"`
}

func (t *terminal) test(ctx context.Context, c *cli.Context, h *host.Host) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	o, err := testOptions(c)
	if err != nil {
		return err
	}
	s, err := t.subject(ctx, c, h, at)
	if err != nil {
		return err
	}
	out := tested{}
	if c.IsSet("record") {
		if out.Recorded, err = t.recordCase(ctx, c, h, s); err != nil {
			return err
		}
		o.Match = only(out.Recorded)
		if s.pkg, err = bundle.ReadDir(s.dir); err != nil {
			return err
		}
	}
	if c.Bool("update") {
		if out.Updated, err = t.updateGoldens(ctx, h, &s, o); err != nil {
			return err
		}
	}
	if !t.json {
		o.Done = func(r casetest.Result) { t.showResultOf(r, c.Bool("verbose")) }
	}
	if out.Report, err = h.Tester.Run(ctx, s.pkg, o); err != nil {
		return err
	}
	return t.concludeTest(c, s, out)
}

// only matches the cases of one file.
func only(file string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.QuoteMeta(file+": "))
}

// testOptions are those that flags ask for.
func testOptions(c *cli.Context) (casetest.Options, error) {
	o := casetest.Options{Jobs: c.Int("jobs")}
	for _, name := range []string{"tool", "input", "allow", "workspace"} {
		if c.IsSet(name) && !c.IsSet("record") {
			return o, fault.Errorf(fault.KindUsage, "--%s goes with --record only", name).WithHint("a case says itself what it is given; `skillet run` makes a call")
		}
	}
	if !c.IsSet("run") {
		return o, nil
	}
	re, err := regexp.Compile(c.String("run"))
	if err != nil {
		return o, fault.Errorf(fault.KindUsage, "--run: %w", err).WithHint("write a regular expression in RE2 syntax, such as 'empty|long'")
	}
	o.Match = re
	return o, nil
}

// subject finds what is to be tested, and builds it if it is a directory with sources.
func (t *terminal) subject(ctx context.Context, c *cli.Context, h *host.Host, at string) (subject, error) {
	if st, err := os.Stat(at); err == nil && st.IsDir() {
		s, err := t.builtSubject(ctx, c, at)
		return s, cmp.Or(err, unrevoked(ctx, h, s))
	}
	if strings.ContainsAny(at, `/\`) || filepath.Ext(at) == bundle.Extension || filepath.Ext(at) == ".wasm" {
		p, err := sources.Open(at)
		s := subject{pkg: p, name: at}
		return s, cmp.Or(err, unrevoked(ctx, h, s))
	}
	ref, err := manifests.ParseRef(at)
	if err != nil {
		return subject{}, fault.Wrap(fault.KindUsage, err).WithHint("name a directory, a .skill file or an installed skill")
	}
	g, err := h.Invoke().Find(ctx, invoke.Address{Ref: ref}, nil)
	return subject{pkg: g.Package(), name: at}, err
}

// unrevoked refuses to test a package that was revoked, as it refuses to run it.
func unrevoked(ctx context.Context, h *host.Host, s subject) error {
	if s.pkg == nil {
		return nil
	}
	_, err := h.Invoke().Local(ctx, s.name, "", s.pkg)
	return err
}

func (t *terminal) builtSubject(ctx context.Context, c *cli.Context, dir string) (subject, error) {
	if !c.Bool("no-build") {
		if _, err := t.buildAt(ctx, c, dir); err != nil {
			return subject{}, err
		}
	}
	p, err := sources.Open(dir)
	return subject{pkg: p, dir: dir, name: dir}, err
}

// showResultOf shows a case: one that failed with all that is wrong with it.
func (t *terminal) showResultOf(r casetest.Result, verbose bool) {
	at := fmt.Sprintf("%s:%d: %s", visible(r.File), r.Line, visible(r.Name))
	switch {
	case r.Outcome == casetest.Failed:
		t.say("FAIL %s (%s)", at, visible(r.Tool))
		for _, line := range r.Lines() {
			t.say("       %s", visible(line))
		}
	case !verbose:
		return
	case r.Outcome == casetest.Skipped:
		t.say("skip %s: %s", at, visible(r.Detail))
		return
	default:
		t.say("pass %s (%s)", at, visible(r.Tool))
	}
	if !verbose {
		return
	}
	t.say("       %.1f ms, %d fuel, %s, %s", r.DurationMS, r.Fuel, size(int64(r.PeakMemoryBytes)), count(r.HostCalls, "host call"))
	for _, l := range r.Logs {
		t.say("       [%s] %s%s", visible(l.Level), visible(l.Message), visible(fields(l)))
	}
	for _, d := range r.Denials {
		t.say("       refused %s: %s", visible(d.Request), visible(d.Reason))
	}
}

// concludeTest writes the reports and says how it went.
func (t *terminal) concludeTest(c *cli.Context, s subject, out tested) error {
	r := out.Report
	if out.OK = r.OK(); len(r.Results) == 0 && len(r.Problems) == 0 {
		return noCases(c, s, r)
	}
	if file := c.String("junit"); file != "" {
		if err := writeJUnit(file, r); err != nil {
			return err
		}
	}
	if t.json {
		if err := t.printJSON(out); err != nil {
			return err
		}
	} else {
		t.showTested(out)
	}
	if !out.OK {
		return reported{fault.KindSkill}
	}
	return nil
}

func (t *terminal) showTested(out tested) {
	r := out.Report
	for _, p := range r.Problems {
		t.say("FAIL %s", strings.ReplaceAll(plainLines(p), "\n", "\n       "))
	}
	for _, f := range out.Updated {
		t.say("updated %s", visible(f))
	}
	if out.Recorded != "" {
		t.say("recorded %s", visible(out.Recorded))
	}
	most := ""
	if r.Fuel > 0 { // not for a prompt
		most = fmt.Sprintf("; at most %d fuel, %s", r.Fuel, size(int64(r.PeakMemoryBytes)))
	}
	t.say("%s@%s: %s in %.2f s%s", plain(r.Skill), plain(r.Version), tally(r), r.DurationMS/1000, most)
}

// noCases says how to write a case.
func noCases(c *cli.Context, s subject, r casetest.Report) error {
	m := s.pkg.Manifest()
	if r.Found > 0 && !m.Type.IsPlugin() {
		return fault.Errorf(fault.KindNotFound, "none of the %d test cases of %s matches %s", r.Found, m.Name, c.String("run")).
			WithHint("--run looks at \"file: name\", such as \"tests/a.json: empty\"")
	}
	switch {
	case m.Type.IsPlugin():
		return fault.Errorf(fault.KindNotFound, "%s is a plugin: test cases are for tools, and it has none", m.Name).
			WithHint("`skillet provider test %s` asks a provider", m.Name)
	case m.Type.IsPrompt():
		return fault.Errorf(fault.KindNotFound, "%s has no test cases", m.Name).
			WithHint("write tests/first.json: [{\"name\": \"what it shows\", \"input\": {}, \"expect_text\": {\"$contains\": \"what the prompt says\"}}]; `skillet run %s --render` shows the prompt", s.name)
	}
	tool := ""
	if len(m.Tools) > 0 {
		tool = m.Tools[0].Name
	}
	return fault.Errorf(fault.KindNotFound, "%s has no test cases", m.Name).
		WithHint("write tests/first.json: [{\"name\": \"what it shows\", \"tool\": %q, \"input\": {}, \"expect\": {}}], or make one of a real call: skillet test --record first --tool %s --input '{}'", tool, tool)
}

func writeJUnit(file string, r casetest.Report) error {
	var b bytes.Buffer
	if err := casetest.WriteJUnit(&b, r); err != nil {
		return err
	}
	if err := atomicfile.Write(file, b.Bytes()); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

// updateGoldens writes the golden files of cases that fail, and reads the package anew.
func (t *terminal) updateGoldens(ctx context.Context, h *host.Host, s *subject, o casetest.Options) ([]string, error) {
	if s.dir == "" {
		return nil, fault.Errorf(fault.KindUsage, "--update writes into a directory, and %s is none", s.name).WithHint("name the directory of the skill")
	}
	r, err := h.Tester.Run(ctx, s.pkg, o)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("update golden files: %w", err)
	}
	defer root.Close()
	var updated []string
	for _, x := range r.Results {
		if x.Outcome != casetest.Failed || x.Golden == "" || x.Failure != nil {
			continue
		}
		if err := writeGolden(root, x); err != nil {
			return updated, fmt.Errorf("update %s: %w", x.Golden, err)
		}
		updated = append(updated, x.Golden)
	}
	s.pkg, err = bundle.ReadDir(s.dir)
	return updated, err
}

// writeGolden writes what a case came to into its golden file.
func writeGolden(root *os.Root, r casetest.Result) error {
	name := filepath.FromSlash(r.Golden)
	if r.Section == "" {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return root.WriteFile(name, testcase.GoldenFile(r.Golden, r.Output), 0o644)
	}
	if !bytes.HasSuffix(r.Output, []byte("\n")) && filepath.Ext(r.Section) == ".txt" {
		return errors.New("a section ends with a line feed, and the output does not: use expect_file instead")
	}
	old, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	text, ok := testcase.WithSection(old, r.Section, string(testcase.GoldenFile(r.Section, r.Output)))
	if !ok {
		return errors.New("the section " + r.Section + " is not there any more")
	}
	return root.WriteFile(name, text, 0o644)
}
