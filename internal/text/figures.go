package text

import (
	"fmt"
	"strings"
	"time"
)

// Size is a number of bytes: "12 bytes", "1.5 KiB", "20 MiB".
func Size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return Count(int(n), "byte")
}

// minute is how times to the minute are written.
const minute = "2006-01-02 15:04"

// When is a time to the minute, where this machine is.
func When(at time.Time) string { return at.Local().Format(minute) }

// ReadWhen reads what [When] wrote, and nothing else.
func ReadWhen(s string) (at time.Time, ok bool) {
	at, err := time.ParseInLocation(minute, s, time.Local)
	return at, err == nil && len(s) == len(minute)
}

// Millis is a number of milliseconds: "12 µs", "1.5 ms", "2.0 s".
func Millis(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f µs", ms*1000)
}

// Span is a number of seconds in whole units: "12s", "5m", "3h", "2d". What is below 0
// counts as 0.
func Span(seconds float64) string {
	d := time.Duration(max(seconds, 0) * float64(time.Second))
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Wrapped breaks text into lines of at most n bytes, at its spaces.
func Wrapped(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > n {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// From is a time as it is told at another: "5 min ago", "in 3 h", "2 days ago"; a date where
// it is far from it.
func From(at, now time.Time) string {
	d := now.Sub(at)
	ago := func(n int, unit string) string {
		if d < 0 {
			return fmt.Sprintf("in %d %s", n, unit)
		}
		return fmt.Sprintf("%d %s ago", n, unit)
	}
	const day = 24 * time.Hour
	switch away := d.Abs(); {
	case away < time.Minute:
		return "now"
	case away < time.Hour:
		return ago(int(away/time.Minute), "min")
	case away < day:
		return ago(int(away/time.Hour), "h")
	case away < 2*day:
		return ago(1, "day")
	case away < 30*day:
		return ago(int(away/day), "days")
	}
	return at.Local().Format(time.DateOnly)
}
