package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// What an agent can ask of its host, as it is kept.
const (
	askThink    = "think"
	askCall     = "call"
	askRecall   = "recall"
	askRemember = "remember"
	askPropose  = "propose"
)

// An exchange is one thing that an agent asked of its host, and the answer. What is asked
// is kept as its digest: it has to be the same when the agent is run again.
type exchange struct {
	Scope  string    `json:"scope"`
	Number int       `json:"number"`
	Kind   string    `json:"kind"`
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	// Subject is the purpose of a thought, the name of a tool or a query.
	Subject string `json:"subject,omitempty"`
	// Effect says that a call may not be made twice, and Input is the digest of what
	// it was called with.
	Effect bool   `json:"effect,omitempty"`
	Input  string `json:"input,omitempty"`
	// Done says that it has an answer. Without, it was begun, and nobody knows how
	// that ended.
	Done bool `json:"done,omitempty"`
	// Uncertain says that it was begun by a process that died. Waits says that it was
	// not made, because a person has to approve it. Reused names the scope in which
	// the same had been done before.
	Uncertain bool   `json:"uncertain,omitempty"`
	Waits     bool   `json:"waits,omitempty"`
	Reused    string `json:"reused,omitempty"`
	// Refused says that a person refused it.
	Refused bool `json:"refused,omitempty"`

	Response *provider.Response `json:"response,omitempty"`
	MicroUSD int64              `json:"micro_usd,omitempty"`
	Provider string             `json:"provider,omitempty"`
	Result   *agent.ToolResult  `json:"result,omitempty"`
	// Models is what the skill of a call asked of models.
	Models *task.ModelUse `json:"models,omitempty"`
	// Data is the JSON of what a tool answered, for references; Hint is what a person
	// could do about a refusal.
	Data     json.RawMessage `json:"data,omitempty"`
	Hint     string          `json:"hint,omitempty"`
	Remedies []fault.Remedy  `json:"remedies,omitempty"`
	Passages []agent.Passage `json:"passages,omitempty"`
	Name     string          `json:"name,omitempty"` // of a proposal
	// Final says that other attempts will not be answered either.
	Final bool `json:"final,omitempty"`
	// Failure is why the host could not answer, and Class the class of a failure of a
	// model, which agents look at.
	Failure *fault.Error   `json:"failure,omitempty"`
	Class   provider.Class `json:"class,omitempty"`
}

// position is where something is kept: its step and its number.
func (k exchange) position() string { return fmt.Sprintf("%s/%06d", k.Scope, k.Number) }

// failed is why the host could not answer; nil when it did.
func (k exchange) failed() error {
	switch {
	case k.Failure == nil:
		return nil
	case k.Class != "":
		return &provider.Error{Class: k.Class, Message: k.Failure.Message}
	}
	return k.Failure
}

// digestOf recognises what was asked.
func digestOf(v any) (string, error) {
	text, err := json.Marshal(v)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// A transcript is what is kept of a task, by scope and number.
type transcript map[string]map[int]exchange

func (t transcript) put(k exchange) {
	if t[k.Scope] == nil {
		t[k.Scope] = map[int]exchange{}
	}
	t[k.Scope][k.Number] = k
}

// each calls fn for everything that is kept, in an order that does not change.
func (t transcript) each(fn func(exchange)) {
	var all []exchange
	for _, scope := range t {
		for _, k := range scope {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b exchange) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.position()), []byte(b.position()))
	})
	for _, k := range all {
		fn(k)
	}
}

// telemetry adds up what was asked.
func (t transcript) telemetry() task.Telemetry {
	var sum task.Telemetry
	var models task.ModelUse
	t.each(func(k exchange) {
		switch {
		case k.Kind == askThink && k.Response != nil:
			models.Add(k.use())
		case k.Kind == askCall && k.Reused == "" && !k.Waits:
			addCall(&sum, k)
			if k.Models != nil {
				models.Add(*k.Models)
			}
		}
	})
	sum.ModelCalls, sum.Models, sum.MicroUSD = models.Calls, models.Names, models.MicroUSD
	sum.InputTokens, sum.OutputTokens, sum.ThinkingTokens = models.InputTokens, models.OutputTokens, models.ThinkingTokens
	return sum
}

// use is what a thought cost.
func (k exchange) use() task.ModelUse {
	u := k.Response.Usage
	return task.ModelUse{
		Calls: 1, InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens), ThinkingTokens: int64(u.ThinkingTokens),
		MicroUSD: k.MicroUSD, Names: []string{k.Provider + "/" + k.Response.Model},
	}
}

func addCall(sum *task.Telemetry, k exchange) {
	sum.ToolCalls++
	switch {
	case k.Uncertain || !k.Done:
		sum.Uncertain++
	case k.Result == nil || k.Result.OK:
	case k.Result.Kind == string(fault.KindDenied):
		sum.Denials++
	default:
		sum.ToolFailures++
	}
}

// had are the effects of a call in other scopes than one: those that it had, and
// those of which nobody knows.
func (t transcript) had(scope, tool, input string) (all []exchange) {
	t.each(func(k exchange) {
		if k.Kind != askCall || !k.Effect || k.Waits || k.Scope == scope || k.Subject != tool || k.Input != input {
			return
		}
		if !k.Done || k.Uncertain || k.Result != nil && k.Result.OK {
			all = append(all, k)
		}
	})
	return all
}

// keep writes down what was asked.
func (w *work) keep(k exchange) error {
	text, err := encode(k)
	if err == nil && len(text) > store.MaxValue {
		err = fault.Errorf(fault.KindLimit, "%s %s: the answer has %d bytes; at most %d can be kept", k.Kind, k.Subject, len(text), store.MaxValue)
	}
	if err == nil {
		_, err = w.o.kv.Put(context.WithoutCancel(w.hard), exchangeKey+w.task.ID+"/"+k.position(), text, store.AnyRevision)
	}
	if err != nil {
		return fmt.Errorf("keep what was asked in the step %s: %w", k.Scope, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log.put(k)
	return nil
}
