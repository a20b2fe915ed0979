package llm

import (
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// Scores say how good a choice a model is, each from 0 to 1.
type Scores struct {
	// Health is 0 when the provider did not answer when it was last asked, else
	// 1 - f/5 after f failures in a row.
	Health float64 `json:"health"`
	// Load is 1 - n/limit, while the provider has n requests under way.
	Load float64 `json:"load"`
	// History is 0.7 s + 0.3 q/(q+t): s is the moving average of attempts that
	// succeeded, t that of how long they took, and q the tier's quick time. A model
	// that was never asked has 0.71 (s = 0.8, t = q).
	History float64 `json:"history"`
	// Memory is 1 for a model that is loaded or takes no memory here, 0.5 for one
	// that has room, and 0.25 for one that others have to be unloaded for.
	Memory float64 `json:"memory"`
	// Cost is 0.01/(0.01+usd), where usd is what the request may cost: 1 when it
	// is free, a half for one cent. Of a model elsewhere whose price nobody said it
	// is 0: free is what is known to be.
	Cost float64 `json:"cost"`
	// Fitness is 1, times 0.6 when the request has a schema that the model has to
	// be told in words, 0.6 when it is to think and cannot, 0.9 when pieces are
	// wanted and it gives none, 0.9 when its context is not known.
	Fitness float64 `json:"fitness"`
}

// Weights are what the scores count for in the total. Together they are 1.
func Weights() Scores {
	return Scores{Health: 0.30, Load: 0.15, History: 0.20, Memory: 0.10, Cost: 0.15, Fitness: 0.10}
}

// Total is the weighted sum, from 0 to 1.
func (s Scores) Total() float64 {
	w := Weights()
	return s.Health*w.Health + s.Load*w.Load + s.History*w.History + s.Memory*w.Memory + s.Cost*w.Cost + s.Fitness*w.Fitness
}

// facts are what the scores follow from.
type facts struct {
	down     bool // the provider did not answer
	record   record
	underWay int
	limit    int // of requests under way
	quick    time.Duration
	room     room
	usd      float64
	unpriced bool
	model    provider.Model
	need     Need
}

// scores follow from facts and from nothing else.
func (f facts) scores() Scores {
	return Scores{
		Health: f.health(), Load: max(0, 1-float64(f.underWay)/float64(max(f.limit, 1))), History: f.historyScore(),
		Memory: f.room.score(), Cost: f.cost(), Fitness: f.fitness(),
	}
}

func (f facts) cost() float64 {
	if f.unpriced {
		return 0
	}
	return 0.01 / (0.01 + f.usd)
}

func (f facts) health() float64 {
	if f.down {
		return 0
	}
	return max(0, 1-float64(f.record.Row)/openAfter)
}

func (f facts) historyScore() float64 {
	success, speed := 0.8, 0.5
	if f.record.Calls > 0 {
		success = f.record.Success
	}
	if f.record.LatencyMS > 0 {
		q := float64(f.quick.Milliseconds())
		speed = q / (q + f.record.LatencyMS)
	}
	return 0.7*success + 0.3*speed
}

func (f facts) fitness() float64 {
	fit := 1.0
	for _, row := range []struct {
		holds  bool
		factor float64
	}{
		{f.need.Schema && !f.model.JSONSchema, 0.6},
		{f.need.Thinking > 0 && !f.model.Thinking, 0.6},
		{f.need.Streaming && !f.model.Streaming, 0.9},
		{f.model.ContextTokens == 0, 0.9},
	} {
		if row.holds {
			fit *= row.factor
		}
	}
	return fit
}

// A room says whether there is memory for a model.
type room int

const (
	roomUnneeded room = iota // it is loaded, or takes none here
	roomFree
	roomAfter // when others are unloaded
	roomNever
)

func (r room) score() float64 { return [...]float64{1, 0.5, 0.25, 0}[r] }
