package main

import (
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/approval"
)

// scopeFlags are the flags that say for how long, and for which calls, grants
// hold.
func scopeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "scope", Usage: "for which calls the grants hold: always, once, run=ID, session=ID"},
		&cli.StringFlag{Name: "until", Usage: "end the grants at this `TIME`: a date such as 2030-01-31, or 2030-01-31T12:00:00Z, or in 24h or 7d"},
		&cli.StringSliceFlag{Name: "for", Usage: "only for calls whose input has this `PATH=GLOB`, such as 'url=https://example.com/*'; may be repeated"},
	}
}

// scopeTerms are the terms that these flags mean.
func scopeTerms(c *cli.Context) (approval.Terms, error) {
	var terms approval.Terms
	if err := setScope(&terms, c.String("scope")); err != nil {
		return terms, err
	}
	if c.IsSet("until") {
		at, err := untilTime(c.String("until"), time.Now())
		if err != nil {
			return terms, err
		}
		terms.ExpiresAt = at
	}
	for _, text := range c.StringSlice("for") {
		p, err := approval.ParsePattern(text)
		if err != nil {
			return terms, err
		}
		terms.For = append(terms.For, p)
	}
	return terms, nil
}

// setScope reads a scope as it is typed.
func setScope(t *approval.Terms, text string) error {
	kind, id, named := strings.Cut(text, "=")
	switch scope := approval.Scope(kind); {
	case text == "", scope == approval.ScopeAlways && !named:
	case scope == approval.ScopeOnce && !named:
		t.MaxUses = 1
	case scope == approval.ScopeRun && id != "":
		t.Run = id
	case scope == approval.ScopeSession && id != "":
		t.Session = id
	default:
		return fault.Errorf(fault.KindUsage, "--scope %s: there is no such scope", text).
			WithHint("it is one of: always, once, run=ID, session=ID; --until says how long")
	}
	return nil
}

// untilTime reads when grants end. A date alone means the end of that day, where
// the person is.
func untilTime(text string, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if day, dayErr := time.ParseInLocation(time.DateOnly, text, time.Local); dayErr == nil {
		at, err = day.AddDate(0, 0, 1), nil
	}
	if d, spanErr := span(text); spanErr == nil {
		at, err = now.Add(d), nil
	}
	switch {
	case err != nil:
		return at, fault.Errorf(fault.KindUsage, "--until %s: this is no time", text).
			WithHint("write a date, such as 2030-01-31, a time, such as 2030-01-31T12:00:00Z, or how long, such as 24h or 7d")
	case !at.After(now):
		return at, fault.Errorf(fault.KindUsage, "--until %s: that is over", text).WithHint("name a time that is still to come")
	}
	return at.UTC(), nil
}
