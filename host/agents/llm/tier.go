package llm

import (
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A Tier is a class of models.
type Tier string

// The tiers.
const (
	Fast         Tier = "fast"         // small steps: classify, extract, rewrite
	Balanced     Tier = "balanced"     // most work
	Smart        Tier = "smart"        // plans and hard questions
	Code         Tier = "code"         // writes code
	Conversation Tier = "conversation" // talks with a person: answers at once
)

// Tiers returns every tier.
func Tiers() []Tier { return []Tier{Fast, Balanced, Smart, Code, Conversation} }

// Known reports whether t is one of [Tiers].
func (t Tier) Known() bool { return slices.Contains(Tiers(), t) }

// A tierRow is what is fixed about a tier.
type tierRow struct {
	// standIns are the tiers that answer when none of its own models can, nearest
	// first.
	standIns []Tier
	// timeout bounds one attempt, and quick is the time in which an answer is as
	// good as half at once.
	timeout, quick time.Duration
}

func rowOf(t Tier) tierRow {
	switch t {
	case Fast:
		return tierRow{[]Tier{Conversation, Balanced, Smart, Code}, 30 * time.Second, 2 * time.Second}
	case Smart:
		return tierRow{[]Tier{Code, Balanced, Fast, Conversation}, 180 * time.Second, 20 * time.Second}
	case Code:
		return tierRow{[]Tier{Smart, Balanced, Fast, Conversation}, 180 * time.Second, 20 * time.Second}
	case Conversation:
		return tierRow{[]Tier{Fast, Balanced, Smart, Code}, 30 * time.Second, 2 * time.Second}
	}
	return tierRow{[]Tier{Smart, Fast, Conversation, Code}, 90 * time.Second, 8 * time.Second}
}

// DefaultTimeout bounds one attempt of a tier: 30 seconds for fast and
// conversation, 90 for balanced, 180 for smart and code.
func DefaultTimeout(t Tier) time.Duration { return rowOf(t).timeout }

// TierOf returns the tiers that a model belongs to when no settings say so: those
// its provider names, else those that follow from what it costs. Of a model on this
// machine that is memory: up to 4 GiB is fast, up to 10 GiB balanced, more is smart.
// Of one elsewhere it is the price of a million tokens of answers: up to $1 is fast,
// up to $8 balanced, more is smart. One of which neither is known is balanced. A fast
// model is also for conversation, and one with "code" in its name, or a smart one,
// is also for code. A model that makes no text belongs to none.
func TierOf(m provider.Model) []Tier {
	if !m.Text {
		return nil
	}
	var named []Tier
	for _, t := range m.Tiers {
		if t := Tier(t); t.Known() {
			named = append(named, t)
		}
	}
	if len(named) > 0 {
		return named
	}
	return tiersBySize(m)
}

func tiersBySize(m provider.Model) []Tier {
	const gib = 1 << 30
	own := Balanced
	switch {
	case m.MemoryBytes > 10*gib || m.MemoryBytes == 0 && m.OutputUSD > 8:
		own = Smart
	case m.MemoryBytes > 0 && m.MemoryBytes <= 4*gib || m.MemoryBytes == 0 && m.OutputUSD > 0 && m.OutputUSD <= 1:
		own = Fast
	}
	tiers := []Tier{own}
	if own == Fast {
		tiers = append(tiers, Conversation)
	}
	if own == Smart || strings.Contains(strings.ToLower(m.Name), "code") {
		tiers = append(tiers, Code)
	}
	return tiers
}

// members are the models of a tier: those the settings name, in their order, or
// those that belong to it and are not a last resort.
func (s Settings) members(t Tier, entries []entry) []Ref {
	if named := s.Tiers[t]; len(named) > 0 {
		return resolveAll(named, entries)
	}
	var refs []Ref
	last := resolveAll(s.LastResort, entries)
	for _, e := range entries {
		if slices.Contains(TierOf(e.model), t) && !slices.Contains(last, e.ref) {
			refs = append(refs, e.ref)
		}
	}
	return refs
}

// wanted are the names in the settings that are asked for a tier, also those that
// stand in.
func (s Settings) wanted(t Tier) []string {
	names := slices.Clone(s.Tiers[t])
	if len(names) == 0 && s.Default != "" && !Tier(s.Default).Known() {
		names = append(names, s.Default)
	}
	if len(s.Fallback) > 0 {
		return append(names, s.Fallback...)
	}
	for _, in := range rowOf(t).standIns {
		names = append(names, s.Tiers[in]...)
	}
	return names
}

// resolve finds the models that a name means: "provider/model" one, "model" those
// of every provider that has one of that name; an empty name none.
func resolve(name string, entries []entry) []Ref {
	var refs []Ref
	for _, e := range entries {
		if e.ref.String() == name || e.ref.Model == name {
			refs = append(refs, e.ref)
		}
	}
	if i := slices.IndexFunc(refs, func(r Ref) bool { return r.String() == name }); i >= 0 {
		return refs[i : i+1]
	}
	return refs
}

func resolveAll(names []string, entries []entry) []Ref {
	var refs []Ref
	for _, name := range names {
		for _, r := range resolve(name, entries) {
			if !slices.Contains(refs, r) {
				refs = append(refs, r)
			}
		}
	}
	return refs
}
