// Package hashing turns texts into vectors by feature hashing (Weinberger et al.,
// "Feature Hashing for Large Scale Multitask Learning", 2009): words, pairs of
// neighbouring words and parts of words each go to a dimension that their hash names.
//
// It needs no model, no network and no state, and gives the same vector for the same
// text everywhere. And it knows no meaning: texts are near each other when they have
// words, or parts of words, in common. "car" and "cars" are; "car" and "automobile"
// are not. It refuses to know more than the letters.
package hashing

import (
	"context"
	"fmt"
	"math"

	"github.com/skillet-run/skillet/host/agents/memory/text"
)

// DefaultDimensions are enough for the words of a few pages to seldom meet.
const DefaultDimensions = 384

// MaxTerms is how many words of a text count, the first ones.
const MaxTerms = 4096

// Embedder is a feature-hashing embedder. It is safe for concurrent use.
type Embedder struct{ dimensions int }

// New returns an embedder; zero dimensions mean 384.
func New(dimensions int) Embedder {
	if dimensions <= 0 {
		dimensions = DefaultDimensions
	}
	return Embedder{dimensions}
}

// Name says which model this is, and of how many dimensions. It changes when the
// same text would get another vector.
func (e Embedder) Name() string { return fmt.Sprintf("hashing-1/%d", e.dimensions) }

// Dimensions is how many components each vector has.
func (e Embedder) Dimensions() int { return e.dimensions }

// Embed returns a vector of length 1 for each text. Its only error is that of ctx.
func (e Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		all[i] = e.vector(s)
	}
	return all, nil
}

// Weights of the kinds of features: a word tells most.
const (
	wordWeight = 1.0
	pairWeight = 0.5
	partWeight = 0.35
)

// partLength is how many bytes a part of a word has; shorter words have none.
const partLength = 4

func (e Embedder) vector(s string) []float32 {
	v := make([]float32, e.dimensions)
	last, n := "", 0
	for word := range text.Tokens(s) {
		if n++; n > MaxTerms {
			break
		}
		e.add(v, 'w', wordWeight, word)
		if last != "" {
			e.add(v, 'p', pairWeight, last, word)
		}
		for i := 0; i+partLength <= len(word) && len(word) > partLength; i++ {
			e.add(v, 'c', partWeight, word[i:i+partLength])
		}
		last = word
	}
	if n == 0 {
		e.add(v, 'r', 1, s) // a text without words is near only to itself
	}
	return unit(v)
}

// add adds or takes away weight where the hash of a feature says, so that features
// that meet by chance do not add up.
func (e Embedder) add(v []float32, kind byte, weight float32, parts ...string) {
	h := mix(offset, string(kind))
	for _, p := range parts {
		h = mix(mix(h, p), "\x00")
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93 // an odd constant: FNV mixes its high bits badly
	h ^= h >> 32
	if h&1 == 1 {
		weight = -weight
	}
	v[(h>>1)%uint64(len(v))] += weight
}

// FNV-1a, 64 bits.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

func mix(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return h
}

// unit damps what comes again and again and scales v to length 1. If everything
// cancelled itself out, any fixed direction is as good.
func unit(v []float32) []float32 {
	var squares float64
	for i, c := range v {
		v[i] = float32(math.Copysign(math.Sqrt(math.Abs(float64(c))), float64(c)))
		squares += float64(v[i]) * float64(v[i])
	}
	if squares == 0 {
		v[0] = 1
		return v
	}
	scale := float32(1 / math.Sqrt(squares))
	for i := range v {
		v[i] *= scale
	}
	return v
}
