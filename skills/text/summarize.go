package main

import (
	"math"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultSentences = 5
	maxSentences     = 100
	maxSummaryChars  = 1_000_000
)

type summarizeInput struct {
	Text      string `json:"text"`
	Sentences *int   `json:"sentences"`
	MaxChars  *int   `json:"max_chars"`
	Format    string `json:"format"`
}

type summarizeOutput struct {
	Summary   string          `json:"summary"`
	Sentences []ratedSentence `json:"sentences"`
	Total     int             `json:"total_sentences"`
	Truncated bool            `json:"truncated"`
}

// ratedSentence is a sentence of a summary: what it says, which sentence of the
// text it is, from 1, and how central it is there; 1 for the most central.
type ratedSentence struct {
	Text     string  `json:"text"`
	Position int     `json:"position"`
	Score    float64 `json:"score"`
}

// summarize returns the sentences of a text that are most like all the others,
// in their order. It writes none of its own.
func summarize(in summarizeInput) (summarizeOutput, error) {
	count, err := within("sentences", in.Sentences, defaultSentences, 1, maxSentences)
	if err != nil {
		return summarizeOutput{}, err
	}
	chars, err := within("max_chars", in.MaxChars, maxSummaryChars, 1, maxSummaryChars)
	if err != nil {
		return summarizeOutput{}, err
	}
	blocks, err := blocksOf(in.Text, in.Format)
	if err != nil {
		return summarizeOutput{}, err
	}
	all := sentences(blocks)
	out := summarizeOutput{Sentences: []ratedSentence{}, Total: len(all)}
	rated := rate(all)
	for _, i := range rated.choose(count, chars) {
		out.Sentences = append(out.Sentences, ratedSentence{all[i], i + 1, rounded(rated.central[i])})
	}
	if len(out.Sentences) == 0 && len(all) > 0 {
		i := rated.best()
		out.Sentences = append(out.Sentences, ratedSentence{cut(all[i], chars), i + 1, rounded(rated.central[i])})
		out.Truncated = true
	}
	out.Summary = joined(out.Sentences)
	return out, nil
}

// blocksOf returns the paragraphs of a text; of Markdown those that are prose.
func blocksOf(text, format string) ([]string, error) {
	switch format {
	case "text":
		return slices.Collect(paragraphs(text)), nil
	case "markdown":
		return prose(text), nil
	case "", "auto":
		if looksLikeMarkdown(text) {
			return prose(text), nil
		}
		return slices.Collect(paragraphs(text)), nil
	default:
		return nil, skill.Errorf(skill.Invalid, "format: must be auto, text or markdown, not %q", format)
	}
}

// minWords is how many words a sentence has. A shorter piece belongs to what
// follows it in its paragraph, as "Dr." does.
const minWords = 3

// sentences returns the sentences of all paragraphs. Pieces without words for
// one are left out, unless there is nothing else.
func sentences(blocks []string) []string {
	var all, short []string
	for _, block := range blocks {
		pending, state := "", -1
		for len(block) > 0 {
			var piece string
			piece, block, state = uniseg.FirstSentenceInString(block, state)
			if pending += piece; isSentence(pending) {
				all = append(all, strings.TrimSpace(pending))
				pending = ""
			}
		}
		if hasContent(pending) {
			short = append(short, strings.TrimSpace(pending))
		}
	}
	if len(all) == 0 {
		return short
	}
	return all
}

func isSentence(text string) bool {
	n := 0
	for range words(text) {
		if n++; n == minWords {
			return true
		}
	}
	return false
}

// cut shortens a sentence to at most n characters, where a word ends if it can.
func cut(sentence string, n int) string {
	var kept strings.Builder
	lastSpace, state := 0, -1
	for rest := sentence; len(rest) > 0 && n > 1; n-- {
		var cluster string
		if cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state); cluster == " " {
			lastSpace = kept.Len()
		}
		kept.WriteString(cluster)
	}
	if s := kept.String(); lastSpace == 0 {
		return s + "…"
	}
	return kept.String()[:lastSpace] + "…"
}

func joined(all []ratedSentence) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.Text
	}
	return strings.Join(texts, " ")
}

// rounded keeps four decimals: what is behind them differs between processors.
func rounded(score float64) float64 { return math.Round(score*1e4) / 1e4 }
