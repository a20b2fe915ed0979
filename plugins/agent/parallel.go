package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Parallel is what a [Host] may be, too: one that takes several calls at once.
type Parallel interface {
	// Calls makes calls side by side, as far as the host wants to, and returns their
	// results in the order of the calls. It counts as if the calls had been made one
	// after the other in that order, so what is kept of them does not depend on
	// which ends first. It fails as a whole, as Call does.
	Calls(ctx context.Context, calls []Call) ([]ToolResult, error)
}

// CallAll makes calls that do not depend on each other: at once if the host is [Parallel],
// else one after the other. An agent that makes calls from
// several goroutines instead makes them in another order each time, and cannot be
// started again.
func CallAll(ctx context.Context, h Host, calls []Call) ([]ToolResult, error) {
	p, ok := h.(Parallel)
	if !ok || len(calls) < 2 {
		return oneByOne(ctx, h, calls)
	}
	results, err := p.Calls(ctx, calls)
	if err == nil && len(results) != len(calls) {
		err = fmt.Errorf("make %d calls: the host answered %d", len(calls), len(results))
	}
	return results, err
}

func oneByOne(ctx context.Context, h Host, calls []Call) ([]ToolResult, error) {
	results := make([]ToolResult, 0, len(calls))
	for _, c := range calls {
		r, err := h.Call(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// isObject reports whether a text is one JSON object.
func isObject(b json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(b, &o) == nil && o != nil
}
