package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultTop            = 10
	maxTop                = 1000
	defaultWordsPerMinute = 200
	minWordsPerMinute     = 10
	maxWordsPerMinute     = 2000
)

type statisticsInput struct {
	Text           string `json:"text"`
	Top            *int   `json:"top"`
	WordsPerMinute *int   `json:"words_per_minute"`
}

type statisticsOutput struct {
	Characters             int         `json:"characters"`
	CharactersWithoutSpace int         `json:"characters_without_spaces"`
	CodePoints             int         `json:"code_points"`
	Bytes                  int         `json:"bytes"`
	Words                  int         `json:"words"`
	UniqueWords            int         `json:"unique_words"`
	Sentences              int         `json:"sentences"`
	Paragraphs             int         `json:"paragraphs"`
	Lines                  int         `json:"lines"`
	ReadingTimeSeconds     int         `json:"reading_time_seconds"`
	TopWords               []wordCount `json:"top_words"`
}

type wordCount struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// statistics counts what a text is made of. Characters, words and sentences are
// those of Unicode Standard Annex 29, so that no language is taken for granted.
func statistics(in statisticsInput) (statisticsOutput, error) {
	top, err := within("top", in.Top, defaultTop, 0, maxTop)
	if err != nil {
		return statisticsOutput{}, err
	}
	speed, err := within("words_per_minute", in.WordsPerMinute, defaultWordsPerMinute, minWordsPerMinute, maxWordsPerMinute)
	if err != nil {
		return statisticsOutput{}, err
	}
	out := statisticsOutput{
		CodePoints: utf8.RuneCountInString(in.Text),
		Bytes:      len(in.Text),
		Lines:      countLines(in.Text),
	}
	out.Characters, out.CharactersWithoutSpace = countCharacters(in.Text)
	for paragraph := range paragraphs(in.Text) {
		out.Paragraphs++
		out.Sentences += countSentences(paragraph)
	}
	words := countWords(in.Text)
	for _, n := range words {
		out.Words += n
	}
	out.UniqueWords = len(words)
	out.ReadingTimeSeconds = (out.Words*60 + speed - 1) / speed
	out.TopWords = mostFrequent(words, top)
	return out, nil
}

// within returns the value of an option, or its default when it is not given.
func within(name string, value *int, preset, low, high int) (int, error) {
	if value == nil {
		return preset, nil
	}
	if *value < low || *value > high {
		return 0, skill.Errorf(skill.Invalid, "%s: must be from %d to %d, not %d", name, low, high, *value)
	}
	return *value, nil
}

// countCharacters counts grapheme clusters: what a reader sees as one character.
func countCharacters(text string) (all, withoutSpace int) {
	state := -1
	for len(text) > 0 {
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		all++
		if r, _ := utf8.DecodeRuneInString(cluster); !unicode.IsSpace(r) {
			withoutSpace++
		}
	}
	return all, withoutSpace
}

// countWords counts how often each word occurs, without regard to case. A word
// is a segment with at least one letter or number.
func countWords(text string) map[string]int {
	counts := make(map[string]int)
	for word := range words(text) {
		counts[strings.ToLower(word)]++
	}
	return counts
}

func countSentences(paragraph string) int {
	n, state := 0, -1
	for len(paragraph) > 0 {
		var sentence string
		sentence, paragraph, state = uniseg.FirstSentenceInString(paragraph, state)
		if hasContent(sentence) {
			n++
		}
	}
	return n
}

// hasContent says whether s has a letter or number, as opposed to spaces and
// punctuation only.
func hasContent(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// mostFrequent returns the n most frequent words; of equally frequent ones the
// first in code point order.
func mostFrequent(words map[string]int, n int) []wordCount {
	all := make([]wordCount, 0, len(words))
	for word, count := range words {
		all = append(all, wordCount{word, count})
	}
	slices.SortFunc(all, func(a, b wordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	return slices.Clone(all[:min(n, len(all))])
}
