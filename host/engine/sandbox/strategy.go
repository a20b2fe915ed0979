package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// A Strategy is how the memory of an instance is returned to its snapshot.
// What a guest sees is the same with all of them; they differ in speed.
type Strategy string

const (
	// StrategyFaults does what StrategyScan does, but asks only after calls that
	// caused a page fault: only with one does a page come to those that were
	// written before, which are all copied back.
	StrategyFaults Strategy = "page-faults"
	// StrategyScan maps the snapshot copy-on-write, asks the kernel after each
	// call which pages were written (PAGEMAP_SCAN of Linux 6.7), and copies
	// those back.
	StrategyScan Strategy = "pagemap-scan"
	// StrategyMadvise maps the snapshot copy-on-write and drops every page
	// that was written (MADV_DONTNEED), on Linux.
	StrategyMadvise Strategy = "madvise"
	// StrategyCopy copies the whole snapshot back, on every system.
	StrategyCopy Strategy = "copy"
	// StrategyNone makes a new instance for each call.
	StrategyNone Strategy = "new-instance"
)

// Strategies returns those this system has, fastest first. The last two are
// there on every system.
func Strategies() []Strategy {
	return append(mappedStrategies(), StrategyCopy, StrategyNone)
}

// chooseStrategy checks a wish, or takes the fastest there is for "".
func chooseStrategy(want Strategy) (Strategy, error) {
	all := Strategies()
	switch {
	case want == "":
		return all[0], nil
	case slices.Contains(all, want):
		return want, nil
	}
	var names []string
	for _, s := range all {
		names = append(names, string(s))
	}
	return "", fmt.Errorf("reset strategy %q is not one this system has: %s", want, strings.Join(names, ", "))
}

// mapped reports whether instances map the snapshot's memory.
func (s Strategy) mapped() bool {
	return s == StrategyFaults || s == StrategyScan || s == StrategyMadvise
}
