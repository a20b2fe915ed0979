package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Scope says in one word how long a grant holds.
type Scope string

// The scopes of a grant.
const (
	ScopeAlways  Scope = "always"  // until it is revoked, or used up
	ScopeOnce    Scope = "once"    // for the next run alone
	ScopeRun     Scope = "run"     // for the calls of one run
	ScopeSession Scope = "session" // for the calls of one session
	ScopeUntil   Scope = "until"   // up to a date
)

// A Grant is a capability a person gave to one package, byte for byte.
type Grant struct {
	ID         string                `json:"id"`
	Skill      string                `json:"skill"`
	Digest     manifests.Digest      `json:"digest"`
	Capability capability.Capability `json:"capability"`
	Scope      Scope                 `json:"scope"`
	// Run and Session name the run, and the session, for whose calls alone it
	// holds; empty for any.
	Run     string `json:"run,omitempty"`
	Session string `json:"session,omitempty"`
	// For are patterns that the input of a call must fit, all of them; none for
	// any input.
	For []Pattern `json:"for,omitempty"`
	// ExpiresAt is zero for a grant without an end.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// MaxUses is the number of runs the grant is good for; 0 means any number.
	MaxUses int       `json:"max_uses,omitempty"`
	Uses    int       `json:"uses,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"granted_by"`
	At      time.Time `json:"granted_at,omitzero"`
}

// Live reports whether g still grants anything at the given time.
func (g Grant) Live(now time.Time) bool {
	return (g.ExpiresAt.IsZero() || now.Before(g.ExpiresAt)) && (g.MaxUses == 0 || g.Uses < g.MaxUses)
}

// Conditional reports whether g holds for some calls alone.
func (g Grant) Conditional() bool { return g.Run != "" || g.Session != "" || len(g.For) > 0 }

// Unconditional reports whether g grants at the given time for any number of calls,
// whatever they are.
func (g Grant) Unconditional(now time.Time) bool {
	return g.Live(now) && g.MaxUses == 0 && !g.Conditional()
}

// Holds reports whether g grants for a call at the given time.
func (g Grant) Holds(u Use, now time.Time) bool {
	return g.Live(now) &&
		(g.Run == "" || g.Run == u.Run) && (g.Session == "" || g.Session == u.Session) &&
		fits(g.For, u.Input)
}

// A Use is the call that grants are asked for. The zero value is a call of
// which nothing is known: no conditional grant holds for it.
type Use struct {
	// Run and Session are those the call belongs to; empty for none.
	Run     string
	Session string
	// Input is the call's input.
	Input []byte
}

// Terms are the conditions of a grant. The zero value is a grant without end.
type Terms struct {
	// ExpiresAt is when the grant ends; zero for never.
	ExpiresAt time.Time
	// MaxUses is how many runs it is good for; 0 for any number.
	MaxUses int
	// Run and Session restrict it to the calls of a run and of a session.
	Run     string
	Session string
	// For restricts it to calls whose input fits all of the patterns.
	For []Pattern
	// Reason is shown wherever the grant is.
	Reason string
}

// Scope is the scope of a grant with these terms.
func (t Terms) Scope() Scope {
	switch {
	case t.MaxUses == 1:
		return ScopeOnce
	case t.Run != "":
		return ScopeRun
	case t.Session != "":
		return ScopeSession
	case !t.ExpiresAt.IsZero():
		return ScopeUntil
	}
	return ScopeAlways
}

// Conditions reports whether the terms say anything at all, beside a reason.
func (t Terms) Conditions() bool {
	return t.Scope() != ScopeAlways || t.MaxUses != 0 || len(t.For) > 0
}

// Bounds on what terms say, so that a grant fits an entry of the audit log.
const (
	maxPatterns    = 16
	maxPatternText = 1024
)

func (t Terms) check() error {
	if t.MaxUses < 0 {
		return fault.Errorf(fault.KindUsage, "a grant cannot be for %d runs", t.MaxUses).WithHint("give a number of at least 1, or none for any number")
	}
	for _, id := range []string{t.Run, t.Session} {
		if len(id) > maxPatternText {
			return fault.Errorf(fault.KindUsage, "the name of a run or a session is %d bytes long, and at most %d are accepted", len(id), maxPatternText)
		}
	}
	if len(t.For) > maxPatterns {
		return fault.Errorf(fault.KindUsage, "%d patterns are too many for one grant", len(t.For)).WithHint("give at most %d", maxPatterns)
	}
	return nil
}

// A Pattern says what one value of a call's input must be.
type Pattern struct {
	// Path leads to the value: names of members and numbers of items, with dots
	// between them; a backslash takes the meaning from a dot. "." is the whole
	// input.
	Path string `json:"path"`
	// Glob is what the value must be as text: * stands for any text, ? for any
	// one character, and a backslash takes the meaning from what follows. A value
	// that is not text is compared as canonical JSON.
	Glob string `json:"glob"`
}

// String is PATH=GLOB.
func (p Pattern) String() string { return p.Path + "=" + p.Glob }

// ParsePattern reads PATH=GLOB. Errors are [fault.Error]s of [fault.KindUsage].
func ParsePattern(text string) (Pattern, error) {
	path, glob, ok := strings.Cut(text, "=")
	p := Pattern{path, glob}
	if !ok || path == "" || len(text) > maxPatternText || path != "." && slices.Contains(p.steps(), "") {
		return Pattern{}, fault.Errorf(fault.KindUsage, "%q is not a pattern for an argument", text).
			WithHint("write PATH=GLOB, such as 'url=https://example.com/*' or 'options.limit=10'")
	}
	return p, nil
}

// steps are the parts of the path.
func (p Pattern) steps() []string {
	var parts []string
	var b strings.Builder
	for i := 0; i < len(p.Path); i++ {
		switch c := p.Path[i]; {
		case c == '\\' && i+1 < len(p.Path):
			i++
			b.WriteByte(p.Path[i])
		case c == '.':
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(parts, b.String())
}

// fits reports whether an input fits all of ps.
func fits(ps []Pattern, input []byte) bool {
	if len(ps) == 0 {
		return true
	}
	canonical, err := Canonical(input)
	return err == nil && !slices.ContainsFunc(ps, func(p Pattern) bool { return !p.Fits(canonical) })
}

// Fits reports whether the value in a canonical JSON text that p leads to is
// there and is what p says.
func (p Pattern) Fits(canonical []byte) bool {
	at := json.RawMessage(canonical)
	if p.Path != "." {
		for _, step := range p.steps() {
			var ok bool
			if at, ok = descend(at, step); !ok {
				return false
			}
		}
	}
	return glob(p.Glob, textOf(at))
}

// descend finds a member or an item of a JSON value.
func descend(v json.RawMessage, step string) (json.RawMessage, bool) {
	if bytes.HasPrefix(v, []byte("[")) {
		var items []json.RawMessage
		n, err := strconv.Atoi(step)
		if err != nil || json.Unmarshal(v, &items) != nil || n < 0 || n >= len(items) || strconv.Itoa(n) != step {
			return nil, false
		}
		return items[n], true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) != nil {
		return nil, false
	}
	m, ok := members[step]
	return m, ok
}

// textOf is a string as it is, and anything else as JSON.
func textOf(v json.RawMessage) string {
	var s string
	if bytes.HasPrefix(v, []byte(`"`)) && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// glob matches in time linear in the text for each star.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	pi, ti, star, mark := 0, 0, -1, 0
	for ti < len(t) {
		lit, width := literal(p, pi)
		switch {
		case pi < len(p) && p[pi] == '*':
			star, mark = pi, ti
			pi++
		case pi < len(p) && (p[pi] == '?' || width > 0 && lit == t[ti]):
			pi += max(width, 1)
			ti++
		case star >= 0:
			mark++
			pi, ti = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// literal is the character that a pattern has at i, and how long it is written;
// a width of 0 means that none is.
func literal(p []rune, i int) (r rune, width int) {
	switch {
	case i >= len(p) || p[i] == '*' || p[i] == '?':
		return 0, 0
	case p[i] == '\\' && i+1 < len(p):
		return p[i+1], 2
	}
	return p[i], 1
}

// Words says in words for which calls g holds: "", or " for the run x, ...".
func (g Grant) Words() string {
	var parts []string
	if g.Run != "" {
		parts = append(parts, "in the run "+g.Run)
	}
	if g.Session != "" {
		parts = append(parts, "in the session "+g.Session)
	}
	for _, p := range g.For {
		parts = append(parts, fmt.Sprintf("where %s is %q", p.Path, p.Glob))
	}
	return strings.Join(parts, ", ")
}
