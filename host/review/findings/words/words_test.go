package words_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/review/findings/words"
)

// The automaton finds what the standard library finds.
func TestWords(t *testing.T) {
	list := []string{"a", "ab", "bab", "bc", "bca", "c", "caa", "key", "api_key", "-----"}
	w := words.New(list)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, r.IntN(40))
		for i := range text {
			text[i] = "abckeypi_-ABCKEY \x00"[r.IntN(18)]
		}
		var have, want []string
		w.Each(text, func(word, end int) { have = append(have, fmt.Sprint(end, list[word])) })
		lower := bytes.ToLower(text)
		for end := range len(text) + 1 {
			for _, word := range list {
				if bytes.HasSuffix(lower[:end], []byte(word)) && end <= len(text) {
					want = append(want, fmt.Sprint(end, word))
				}
			}
		}
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Fatalf("%q: have %v, want %v", text, have, want)
		}
	}
}
