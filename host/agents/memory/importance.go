package memory

import (
	"math"
	"time"
)

// The weights of what makes a record important; they add up to 1.
const (
	recencyWeight   = 0.25
	successWeight   = 0.30
	relevanceWeight = 0.35
	frequencyWeight = 0.10
)

const (
	// HalfLife is the age at which recency is a half.
	HalfLife = 7 * 24 * time.Hour
	// failure is the part of success of a record that tells of a failure: less
	// than that of a success, but worth remembering.
	failure = 0.3
	// claim is the part of success of what an agent remembered of its own accord: nobody
	// has confirmed it, and a text that the agent read may have wanted it said.
	claim = 0.6
	// often is how many retrievals are as many as count.
	often = 10
)

// Importance says how much a record matters. All parts are 0 to 1.
type Importance struct {
	Recency   float64 `json:"recency"`   // 1 when it was just written, half after each HalfLife
	Success   float64 `json:"success"`   // 1, 0.6 for what an agent said, 0.3 for what failed
	Relevance float64 `json:"relevance"` // the cosine to the query, or with [Settings].Hybrid its mean with [Match].TextScore; at least 0
	Frequency float64 `json:"frequency"` // retrievals, of ten
	// Total is 0.25 Recency + 0.30 Success + 0.35 Relevance + 0.10 Frequency.
	Total float64 `json:"total"`
}

// importanceOf weighs a record that was updated age ago, and that tells of a failure or is
// what an agent said.
func importanceOf(age time.Duration, failed, said bool, relevance float64, retrievals uint64) Importance {
	i := Importance{
		Recency:   math.Exp2(-max(0, age.Hours()) / HalfLife.Hours()),
		Success:   1,
		Relevance: min(1, max(0, relevance)),
		Frequency: min(1, float64(retrievals)/often),
	}
	switch {
	case failed:
		i.Success = failure
	case said:
		i.Success = claim
	}
	i.Total = recencyWeight*i.Recency + successWeight*i.Success + relevanceWeight*i.Relevance + frequencyWeight*i.Frequency
	return i
}
