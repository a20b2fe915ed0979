package memory

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/agents/memory/text"
)

// A Summarizer makes one text of several. What it returns is stored like anything
// else that a model wrote.
type Summarizer interface {
	// Summarize returns a text of at most maxBytes bytes with what matters of texts,
	// which are in order of time.
	Summarize(ctx context.Context, texts []string, maxBytes int) (string, error)
}

// Extractive is a Summarizer that needs no model: it keeps whole sentences, each once,
// in their order; when not all fit, those with the words that most of the texts have.
// It understands nothing.
type Extractive struct{}

// Summarize implements [Summarizer]. It returns no error.
func (Extractive) Summarize(_ context.Context, texts []string, maxBytes int) (string, error) {
	return extract(texts, maxBytes), nil
}

// sentence is one with its place and weight.
type sentence struct {
	text   string
	words  []string
	weight float64
	index  int
}

func extract(texts []string, maxBytes int) string {
	all := sentencesOf(texts)
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b sentence) int { return cmp.Compare(b.weight, a.weight) })
	var kept []sentence
	room := maxBytes
	for _, s := range best {
		if len(s.text)+1 <= room {
			kept = append(kept, s)
			room -= len(s.text) + 1
		}
	}
	if len(kept) == 0 && len(best) > 0 {
		return strings.ToValidUTF8(best[0].text[:min(len(best[0].text), maxBytes)], "")
	}
	slices.SortFunc(kept, func(a, b sentence) int { return cmp.Compare(a.index, b.index) })
	lines := make([]string, len(kept))
	for i, s := range kept {
		lines[i] = s.text
	}
	return strings.Join(lines, "\n")
}

// sentencesOf are the different sentences of texts. One that has the same words as an
// earlier one is the same.
func sentencesOf(texts []string) []sentence {
	var all []sentence
	seen, in := map[string]bool{}, map[string]int{}
	for _, t := range texts {
		words := map[string]bool{}
		for _, s := range split(t) {
			tokens := slices.Collect(text.Tokens(s))
			for _, w := range tokens {
				words[w] = true
			}
			key := cmp.Or(strings.Join(tokens, " "), s)
			if !seen[key] {
				seen[key] = true
				all = append(all, sentence{text: s, words: tokens, index: len(all)})
			}
		}
		for w := range words {
			in[w]++
		}
	}
	for i := range all {
		all[i].weigh(in)
	}
	return all
}

// weigh gives a sentence the mean of how many texts have its words, and a little more
// to longer ones.
func (s *sentence) weigh(in map[string]int) {
	for _, w := range s.words {
		s.weight += float64(in[w])
	}
	if n := float64(len(s.words)); n > 0 {
		s.weight *= math.Log(1+n) / n
	}
}

// split takes a text apart behind full stops, question and exclamation marks that a
// space follows, and at line breaks.
func split(t string) (sentences []string) {
	start, ended := 0, false
	add := func(end int) {
		if s := strings.TrimSpace(t[start:end]); s != "" {
			sentences = append(sentences, s)
		}
		start = end
	}
	for i, r := range t {
		if r == '\n' || ended && unicode.IsSpace(r) {
			add(i)
		}
		ended = strings.ContainsRune(".!?。！？", r)
	}
	add(len(t))
	return sentences
}
