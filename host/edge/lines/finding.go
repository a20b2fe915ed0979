package lines

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/author"
)

// Findings are what a scan found, for a person who decides.
func Findings(r author.Findings) []string { return written(Style{}, func(b *block) { b.report(r) }) }

func (b *block) report(r author.Findings) {
	for _, f := range r.Findings {
		b.say("%-5s %s  %s: %s", f.Severity, f.Rule, findingPlace(f), visible(f.Message))
		if f.Excerpt != "" {
			b.say("             | %s", visible(f.Excerpt))
		}
	}
	for _, m := range r.More {
		b.say("      %s  and %d more of these", m.Rule, m.Count)
	}
}

// findingPlace is where a finding is.
func findingPlace(f author.Finding) string {
	switch {
	case f.Line > 0:
		return fmt.Sprintf("%s:%d:%d", visible(f.File), f.Line, f.Column)
	case f.Offset > 0:
		return fmt.Sprintf("%s at byte %d", visible(f.File), f.Offset)
	}
	return visible(f.File)
}

// Totals says how many findings there are.
func Totals(r author.Findings) string {
	var parts []string
	for _, s := range []struct {
		author.Severity
		words string
	}{{author.Block, "to block"}, {author.Warn, "to look at"}, {author.Info, "to know"}} {
		if n := r.Count(s.Severity); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	if len(parts) == 0 {
		return "nothing was found"
	}
	return "found " + strings.Join(parts, ", ")
}
