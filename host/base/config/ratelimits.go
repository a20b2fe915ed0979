package config

import (
	"fmt"
	"path"
	"regexp"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// rateLimitsKey is the setting that is a list of rate limits.
const rateLimitsKey = "rate_limits"

// A RateLimit is how often skills may be called: MaxCalls in a burst, and as many
// again in each PerSeconds seconds.
type RateLimit struct {
	// Skill is the name of a skill, or a pattern with * for any characters; each
	// skill that fits is counted apart.
	Skill string `koanf:"skill" json:"skill"`
	// Tool is the name of a tool, or a pattern; each tool that fits is counted
	// apart. Empty counts the tools of a skill together.
	Tool       string  `koanf:"tool" json:"tool,omitempty"`
	MaxCalls   int     `koanf:"max_calls" json:"max_calls"`
	PerSeconds float64 `koanf:"per_seconds" json:"per_seconds"`
}

// String is as `skillet config list` shows it.
func (r RateLimit) String() string {
	name := r.Skill
	if r.Tool != "" {
		name += ":" + r.Tool
	}
	return fmt.Sprintf("%s=%d/%gs", name, r.MaxCalls, r.PerSeconds)
}

var toolPattern = lazyregexp.New(`^[A-Za-z0-9_*]*$`)

// checkRateLimits refuses what cannot be meant, saying which entry it is.
func checkRateLimits(rs []RateLimit, source string) error {
	for i, r := range rs {
		for _, c := range []struct {
			field, value string
			ok           bool
			want         string
		}{
			{"skill", r.Skill, fits(namePattern(), r.Skill), "a name such as csv, or a pattern such as acme-*"},
			{"tool", r.Tool, fits(toolPattern(), r.Tool), "a name such as read_text, or a pattern such as read_*"},
			{"max_calls", fmt.Sprint(r.MaxCalls), r.MaxCalls >= 1 && r.MaxCalls <= 1_000_000, "1 to 1000000"},
			{"per_seconds", fmt.Sprint(r.PerSeconds), r.PerSeconds > 0 && r.PerSeconds <= 86400*31, "more than 0, at most 2678400"},
		} {
			if !c.ok {
				return fault.Errorf(fault.KindUsage, "setting %s[%d]%s: the %s is %q", rateLimitsKey, i, from(source), c.field, c.value).WithHint("it must be %s", c.want)
			}
		}
	}
	return nil
}

func fits(allowed *regexp.Regexp, pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && allowed.MatchString(pattern)
}
