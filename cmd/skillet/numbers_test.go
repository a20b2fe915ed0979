package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"
)

// No flag takes a number or a time that could be read as no limit at all: what is
// said to end in 0 seconds must not hold for ever.
func TestNumbersOfFlags(t *testing.T) {
	checked := 0
	for path, c := range leaves("skillet", newApp(&terminal{}).Commands) {
		for _, f := range c.Flags {
			values := map[bool][]string{}
			switch f.(type) {
			case *cli.DurationFlag:
				values[false], values[true] = []string{"-1s", "-1ns"}, []string{"0s", "0"}
			case *cli.IntFlag, *cli.Int64Flag:
				values[false], values[true] = []string{"-1"}, []string{"0", "-0"}
			case *cli.Uint64Flag:
				values[true] = []string{"0"}
			case *cli.Float64Flag:
				values[false], values[true] = []string{"-0.001", "NaN", "-Inf"}, []string{"0", "-0.0"}
			default:
				continue
			}
			name := f.Names()[0]
			refused := values[false]
			if !slices.Contains(zeroMeans[strings.TrimPrefix(path, "skillet ")], name) {
				refused = append(refused, values[true]...)
			}
			for _, v := range refused {
				checked++
				line := append(strings.Fields(path), "--"+name+"="+v)
				err := newApp(&terminal{}).Run(line)
				if e := fault.AsError(err); err == nil || e.Kind != fault.KindUsage || !strings.Contains(e.Message, "--"+name+" must be ") {
					t.Errorf("%s: %v", strings.Join(line, " "), err)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d values were tried", checked)
	}
}

// Each flag that people are told of says what it does.
func TestFlagsSayWhatTheyDo(t *testing.T) {
	for path, c := range leaves("skillet", newApp(&terminal{}).Commands) {
		var help strings.Builder
		if err := cmdline.WriteHelp(&help, cmdline.Of(path, c)); err != nil {
			t.Fatal(err)
		}
		_, flags, _ := strings.Cut(help.String(), "\nFlags:\n")
		for line := range strings.Lines(flags) {
			if _, what, found := strings.Cut(strings.TrimSpace(line), "  "); !found || strings.TrimSpace(what) == "" {
				t.Errorf("%s: %q", path, line)
			}
		}
	}
}

// What stands for the value of a flag in help is the first thing in back-quotes of its
// usage, if there is any: a name in capitals, and no command that the usage mentions.
func TestPlaceholders(t *testing.T) {
	name := regexp.MustCompile("^[^`]*(`[A-Z][A-Z0-9_=:|,/.@-]*`|$)")
	checked := 0
	for path, c := range leaves("skillet", newApp(&terminal{}).Commands) {
		for _, f := range c.Flags {
			d, ok := f.(cli.DocGenerationFlag)
			if !ok || !d.TakesValue() {
				continue
			}
			checked++
			if !name.MatchString(d.GetUsage()) {
				t.Errorf("%s --%s: %q", path, f.Names()[0], d.GetUsage())
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d flags were looked at", checked)
	}
}
