package main

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// diversity is how much being like a sentence that is taken counts against
// being central: 1-λ of maximal marginal relevance (Carbonell and Goldstein,
// "The Use of MMR, Diversity-Based Reranking", 1998).
const diversity = 0.3

// same is the cosine from which on two sentences say the same in the same words.
const same = 0.95

// ratings are sentences as vectors, and how central each of them is.
//
// A sentence is the vector of its words with weights tf·idf, of length 1; idf is
// ln(1 + N/n) for a word in n of N sentences. Its centrality is the mean of its
// cosines with all sentences: the degree centrality of LexRank without a
// threshold (Erkan and Radev, "LexRank: Graph-based Lexical Centrality as
// Salience in Text Summarization", 2004, section 3.1). The sum of the cosines
// with all vectors is the product with their sum, so no pairs are compared. It is
// given as a share of the greatest, so that 1 is the most central sentence.
type ratings struct {
	characters []int
	vectors    [][]weight
	central    []float64
	words      int // different ones
}

// weight is one word's part of a sentence; words are numbered as they come, and
// a vector has them in that order.
type weight struct {
	word  int
	value float64
}

func rate(sentences []string) ratings {
	r := ratings{vectors: make([][]weight, len(sentences)), central: make([]float64, len(sentences))}
	numbers := make(map[string]int)
	var spread []int // in how many sentences each word is
	for i, s := range sentences {
		r.characters = append(r.characters, uniseg.GraphemeClusterCount(s))
		r.vectors[i] = counted(s, numbers)
		for _, w := range r.vectors[i] {
			if w.word == len(spread) {
				spread = append(spread, 0)
			}
			spread[w.word]++
		}
	}
	r.words = len(spread)
	sum := make([]float64, r.words)
	for _, v := range r.vectors {
		weigh(v, spread, len(sentences))
		for _, w := range v {
			sum[w.word] += w.value
		}
	}
	for i, v := range r.vectors {
		for _, w := range v {
			r.central[i] += w.value * sum[w.word]
		}
	}
	if len(r.central) > 0 {
		greatest := slices.Max(r.central)
		for i := range r.central {
			r.central[i] /= greatest
		}
	}
	return r
}

// counted returns how often each word is in a sentence, and numbers new words.
func counted(sentence string, numbers map[string]int) []weight {
	words := wordsOf(sentence)
	ids := make([]int, len(words))
	for i, word := range words {
		id, known := numbers[word]
		if !known {
			id = len(numbers)
			numbers[word] = id
		}
		ids[i] = id
	}
	slices.Sort(ids)
	var v []weight
	for i, id := range ids {
		if i == 0 || id != ids[i-1] {
			v = append(v, weight{word: id})
		}
		v[len(v)-1].value++
	}
	return v
}

// weigh turns counts into tf·idf and scales the vector to length 1.
func weigh(v []weight, spread []int, sentences int) {
	var squares float64
	for i, w := range v {
		v[i].value = w.value * math.Log(1+float64(sentences)/float64(spread[w.word]))
		squares += v[i].value * v[i].value
	}
	length := math.Sqrt(squares)
	for i := range v {
		v[i].value /= length
	}
}

// choose returns the sentences of a summary in their order: again and again the
// one that is most central and least like those that are there, of those that
// say something else and fit into what is left of chars, with a space between.
func (r ratings) choose(count, chars int) []int {
	var chosen []int
	likeness := make([]float64, len(r.vectors))
	for len(chosen) < count {
		best, bestScore := -1, 0.0
		for i := range r.vectors {
			score := rounded((1-diversity)*r.central[i] - diversity*likeness[i])
			if likeness[i] < same && r.characters[i] <= chars && (best < 0 || score > bestScore) {
				best, bestScore = i, score
			}
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, best)
		chars -= r.characters[best] + 1
		r.compare(best, likeness)
	}
	slices.Sort(chosen)
	return chosen
}

// compare raises the likeness of each sentence to its cosine with one of them.
func (r ratings) compare(with int, likeness []float64) {
	values := make([]float64, r.words)
	for _, w := range r.vectors[with] {
		values[w.word] = w.value
	}
	for i, v := range r.vectors {
		var cosine float64
		for _, w := range v {
			cosine += w.value * values[w.word]
		}
		likeness[i] = max(likeness[i], cosine)
	}
	likeness[with] = 1
}

// best returns the most central sentence, the first of several.
func (r ratings) best() int {
	best := 0
	for i, c := range r.central {
		if rounded(c) > rounded(r.central[best]) {
			best = i
		}
	}
	return best
}

// wordsOf returns the words of a sentence in lower case.
func wordsOf(sentence string) []string {
	var all []string
	for word := range words(sentence) {
		all = append(all, strings.ToLower(word))
	}
	return all
}

// words yields the words of a text: segments with a letter or a number.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		state := -1
		for len(text) > 0 {
			var word string
			word, text, state = uniseg.FirstWordInString(text, state)
			if hasContent(word) && !yield(word) {
				return
			}
		}
	}
}
