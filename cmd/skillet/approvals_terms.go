package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// scopeFlags are the flags that say for how long, and for which calls, grants
// hold.
func scopeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "scope", Usage: "for which calls the grants hold: always, once, run=ID, session=ID"},
		&cli.StringFlag{Name: "until", Usage: "end the grants at this `TIME`: a date such as 2030-01-31, or 2030-01-31T12:00:00Z, or in 24h, 7d or '2 weeks'"},
		&cli.IntFlag{Name: "times", Usage: "for at most `N` runs; of a script, for at most N such calls"},
		&cli.StringSliceFlag{Name: "for", Usage: "only for calls whose input has this `PATH=GLOB`, such as 'url=https://example.com/*'; may be repeated"},
	}
}

// scopeTerms are the terms that these flags mean: without any, for always.
func scopeTerms(c *cli.Context) (govern.Terms, error) {
	terms, err := parseScope(c.String("scope"))
	if err != nil {
		return terms, err
	}
	if c.IsSet("until") {
		if terms.Until, err = untilTime(c.String("until"), time.Now()); err != nil {
			return terms, err
		}
	}
	if terms.Uses = c.Int("times"); c.IsSet("times") && terms.Uses < 1 {
		return terms, fault.Errorf(fault.KindUsage, "--times %d: not a number of times", terms.Uses).WithHint("give a number of at least 1")
	}
	for _, text := range c.StringSlice("for") {
		p, err := govern.ParsePattern(text)
		if err != nil {
			return terms, err
		}
		terms.For = append(terms.For, p)
	}
	return terms, nil
}

// parseScope reads a scope as it is typed.
func parseScope(text string) (govern.Terms, error) {
	kind, id, named := strings.Cut(text, "=")
	t := govern.Terms{Scope: cmp.Or(govern.Scope(kind), govern.ScopeAlways), ID: id}
	switch {
	case text == "":
	case !named && (t.Scope == govern.ScopeAlways || t.Scope == govern.ScopeOnce):
	case id != "" && (t.Scope == govern.ScopeRun || t.Scope == govern.ScopeSession):
	default:
		return t, fault.Errorf(fault.KindUsage, "--scope %s: unknown scope", text).
			WithHint("it is one of: always, once, run=ID, session=ID; --until says how long")
	}
	return t, nil
}

// untilTime reads when grants end. A date alone means the end of that day, where
// the person is.
func untilTime(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if day, dayErr := time.ParseInLocation(time.DateOnly, text, time.Local); dayErr == nil {
		at, err = day.AddDate(0, 0, 1), nil
	}
	if d, spanErr := cmdline.Span(text); spanErr == nil {
		at, err = now.Add(d), nil
	}
	switch {
	case err != nil:
		return at, fault.Errorf(fault.KindUsage, "--until %s: not a time", text).
			WithHint("write a date, such as 2030-01-31, a time, such as 2030-01-31T12:00:00Z, or how long, such as 24h, 7d or '2 weeks'")
	case !at.After(now):
		return at, fault.Errorf(fault.KindUsage, "--until %s: that time has passed", text).WithHint("give a time in the future")
	}
	return at.UTC(), nil
}
