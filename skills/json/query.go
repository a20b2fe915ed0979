package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/itchyny/gojq"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultResults = 1000
	maxResults     = 100_000
	defaultSteps   = 5_000_000
	maxSteps       = 1_000_000_000
)

type queryInput struct {
	Data       json.RawMessage            `json:"data"`
	Text       *string                    `json:"text"`
	Expression string                     `json:"expression"`
	Variables  map[string]json.RawMessage `json:"variables"`
	Limit      *int                       `json:"limit"`
	MaxSteps   *int                       `json:"max_steps"`
}

type queryOutput struct {
	Results   []json.RawMessage `json:"results"`
	Count     int               `json:"count"`
	Truncated bool              `json:"truncated"`
}

// query runs a jq expression on each document. The expression sees no files, no
// environment and no further input.
func query(in queryInput) (queryOutput, error) {
	out := queryOutput{Results: []json.RawMessage{}}
	limit, err := within("limit", in.Limit, defaultResults, 1, maxResults)
	if err != nil {
		return out, err
	}
	steps, err := within("max_steps", in.MaxSteps, defaultSteps, 1, maxSteps)
	if err != nil {
		return out, err
	}
	code, values, err := compile(in.Expression, in.Variables)
	if err != nil {
		return out, err
	}
	documents, err := source{in.Data, in.Text}.documents()
	if err != nil {
		return out, err
	}
	budget := newBudget(steps)
	for _, doc := range documents {
		if err := out.collect(code.RunWithContext(budget, doc, values...), limit); err != nil {
			return out, err
		}
	}
	out.Count = len(out.Results)
	return out, nil
}

// compile prepares an expression and the values of its variables, in order.
func compile(expression string, variables map[string]json.RawMessage) (*gojq.Code, []any, error) {
	parsed, err := gojq.Parse(expression)
	if err != nil {
		return nil, nil, skill.Errorf(skill.Invalid, "expression: %w", err)
	}
	var names []string
	var values []any
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		v, err := decodeOne("variables."+name, variables[name])
		if err != nil {
			return nil, nil, err
		}
		names, values = append(names, "$"+name), append(values, v)
	}
	code, err := gojq.Compile(parsed, gojq.WithVariables(names))
	if err != nil {
		return nil, nil, skill.Errorf(skill.Invalid, "expression: %w", err)
	}
	return code, values, nil
}

// collect takes results until there are no more or the limit is reached.
func (o *queryOutput) collect(results gojq.Iter, limit int) error {
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			return queryError(err)
		}
		if len(o.Results) == limit {
			o.Truncated = true
			return nil
		}
		encoded, err := gojq.Marshal(v)
		if err != nil {
			return skill.Errorf(skill.Failed, "encode result %d: %w", len(o.Results), err)
		}
		o.Results = append(o.Results, encoded)
	}
}

// queryError says how an expression failed; halt is a wanted end, not a failure.
func queryError(err error) error {
	var halt *gojq.HaltError
	switch {
	case errors.Is(err, errSteps):
		return skill.Errorf(skill.Limit, "expression: %w", err)
	case errors.As(err, &halt) && halt.Value() == nil:
		return nil
	default:
		return skill.Errorf(skill.Invalid, "expression: %w", err)
	}
}

// errSteps ends a query that has used up its steps.
var errSteps = errors.New("stopped after max_steps steps: it may never end, or give it more")

// budget is a context that ends after a number of steps rather than at a time:
// the interpreter asks for Done before each step.
type budget struct {
	context.Context
	left int
	over chan struct{}
}

func newBudget(steps int) *budget {
	over := make(chan struct{})
	close(over)
	return &budget{Context: context.Background(), left: steps, over: over}
}

// Done takes one step from the budget; its channel is closed when none is left.
func (b *budget) Done() <-chan struct{} {
	if b.left == 0 {
		return b.over
	}
	b.left--
	return nil
}

// Err returns errSteps when the budget is used up.
func (b *budget) Err() error {
	if b.left == 0 {
		return errSteps
	}
	return nil
}
