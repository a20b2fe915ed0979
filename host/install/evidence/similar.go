package evidence

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/manifests"
)

// Similar is an installed skill that is much like a package.
type Similar struct {
	Skill       string `json:"skill"`
	Description string `json:"description"`
	// Score is how much of their words they share: 0 for nothing, 1 for all. It is
	// the weighted Jaccard index of the words of names, tools and descriptions.
	Score float64 `json:"score"`
	// Shared are the words that both have, those that count most first.
	Shared []string `json:"shared"`
}

// What is shown of similar skills.
const (
	maxSimilar = 5
	maxShared  = 8
	leastScore = 0.2
	maxWords   = 500 // that are looked at
)

// A word of a name says more about a skill than one of its description.
const (
	nameWeight        = 4
	toolWeight        = 3
	descriptionWeight = 1
)

// common are words that say nothing about what a skill is for.
var common = strings.Fields("a an and are as at be by for from in into is it its of on or that the this to with you your skill tool tools")

// words are those of a text, with how much each counts.
type words map[string]float64

func (w words) add(text string, weight float64) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) < maxWords && !slices.Contains(common, word) {
			w[word] = max(w[word], weight)
		}
	}
}

func wordsOf(name string, tools []string, description string) words {
	w := words{}
	w.add(name, nameWeight)
	for _, t := range tools {
		w.add(t, toolWeight)
	}
	w.add(description, descriptionWeight)
	return w
}

// overlap is how much a and b share, and which words.
func (w words) overlap(o words) (score float64, shared []string) {
	var both, either float64
	for word, weight := range w {
		both += min(weight, o[word])
		either += max(weight, o[word])
		if o[word] > 0 {
			shared = append(shared, word)
		}
	}
	for word, weight := range o {
		if w[word] == 0 {
			either += weight
		}
	}
	slices.SortFunc(shared, func(a, b string) int { return cmp.Or(cmp.Compare(w[b], w[a]), strings.Compare(a, b)) })
	if either == 0 {
		return 0, nil
	}
	return math.Round(both/either*100) / 100, shared
}

// similar are the active skills that are much like the one of a manifest, but not
// the skill itself.
func (c *Collector) similar(ctx context.Context, m *manifests.Manifest) ([]Similar, error) {
	all, err := c.registry.List(ctx)
	if err != nil {
		return nil, err
	}
	var tools []string
	for _, t := range m.Tools {
		tools = append(tools, t.Name)
	}
	mine := wordsOf(m.Name, tools, m.Description)
	found := []Similar{}
	for _, s := range all {
		if s.Name == m.Name || !s.Active {
			continue
		}
		score, shared := mine.overlap(wordsOf(s.Name, s.Tools, s.Description))
		if score >= leastScore {
			found = append(found, Similar{s.Ref(), s.Description, score, shared[:min(len(shared), maxShared)]})
		}
	}
	slices.SortFunc(found, func(a, b Similar) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Skill, b.Skill))
	})
	return found[:min(len(found), maxSimilar)], nil
}
