package cmdline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// synonyms are what other programs call our commands, and what each means: a line that
// begins with the one does what begins with the other.
var synonyms = map[string]string{
	"add":       "install",
	"allow":     "permission grant",
	"approve":   "approvals approve",
	"delete":    "remove",
	"deny":      "permission revoke",
	"exec":      "run",
	"grant":     "permission grant",
	"init":      "new",
	"reject":    "approvals reject",
	"revoke":    "permission revoke",
	"show":      "info",
	"uninstall": "remove",
}

// likely are words that can mean more than one of our commands.
var likely = map[string]string{
	"history": "`skillet audit`",
	"log":     "`skillet logs`, or `skillet task logs`",
	"ps":      "`skillet task list`, or `skillet list`",
	"undo":    "`skillet rollback`, or `skillet approvals revert`",
}

// Synonym is what a word at the beginning of a line stands for: the names of a command.
// Nothing when it is not a synonym.
func Synonym(word string) []string { return strings.Fields(synonyms[word]) }

// oldWords are names of flags and commands that still work, and that help does not show.
var oldWords = []string{"notes", "note", "preview", "expires", "delete", "recall"}

// Names are the names of a flag or command that people are told of: the first, and those
// that are not only kept for lines that were written before.
func Names(all []string) []string {
	kept := slices.Clone(all[:1])
	for _, n := range all[1:] {
		if !slices.Contains(oldWords, n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// ReasonFlag is the flag of everything that keeps why somebody decided it.
func ReasonFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: []string{"notes", "note"}, Usage: usage}
}

var (
	spanPart = lazyregexp.New(`^(\d{1,6})\s*([a-z]+)(?:\s*,?\s*(?:and\s+)?|$)`)
	units    = map[string]time.Duration{
		"s": time.Second, "sec": time.Second, "second": time.Second,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute,
		"h": time.Hour, "hour": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour,
		"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}
)

// Span reads a duration as Go writes it, or in words with days and weeks: 30d, 2 weeks,
// 1 day 12 hours.
func Span(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	var all time.Duration
	for rest := strings.ToLower(strings.TrimSpace(text)); ; {
		m := spanPart().FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		unit, ok := units[m[2]]
		if !ok {
			unit, ok = units[strings.TrimSuffix(m[2], "s")]
		}
		n, err := strconv.Atoi(m[1])
		if !ok || err != nil {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		all += time.Duration(n) * unit
		if rest = rest[len(m[0]):]; rest == "" {
			return all, nil
		}
	}
}
