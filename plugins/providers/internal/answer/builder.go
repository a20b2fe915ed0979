// Package answer assembles the pieces that servers of models stream into the one
// answer that the contract of a provider asks for. It refuses to know which
// server the pieces come from.
package answer

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
)

// maxCalls bounds the tool calls of one answer.
const maxCalls = 128

// A Builder collects an answer and hands its text on as it comes. Make one with
// [NewBuilder].
type Builder struct {
	emit           func(provider.Delta) error
	failed         error
	text, thinking strings.Builder
	calls          []*call
}

type call struct {
	index    int
	id, name string
	input    bytes.Buffer
}

// NewBuilder returns a builder that hands text and thinking to emit, which may
// be nil.
func NewBuilder(emit func(provider.Delta) error) *Builder {
	if emit == nil {
		emit = func(provider.Delta) error { return nil }
	}
	return &Builder{emit: emit}
}

// Text adds to the text. Its error is that of emit.
func (b *Builder) Text(piece string) error {
	if piece == "" {
		return nil
	}
	b.text.WriteString(piece)
	return b.hand(provider.Delta{Text: piece})
}

// Thinking adds to the thinking. Its error is that of emit.
func (b *Builder) Thinking(piece string) error {
	if piece == "" {
		return nil
	}
	b.thinking.WriteString(piece)
	return b.hand(provider.Delta{Thinking: piece})
}

func (b *Builder) hand(d provider.Delta) error {
	b.failed = b.emit(d)
	return b.failed
}

// EmitError is the error of emit that ended the answer, or nil.
func (b *Builder) EmitError() error { return b.failed }

// Call adds a piece of the tool call at an index. A piece with a name and an ID
// other than that of the call at its index begins another one: some servers say
// index 0 for each call.
func (b *Builder) Call(index int, id, name, piece string) error {
	c := b.at(index)
	if c == nil || id != "" && name != "" && c.id != "" && c.id != id {
		if len(b.calls) == maxCalls {
			return Broken("more than %d tool calls in one answer", maxCalls)
		}
		c = &call{index: index}
		b.calls = append(b.calls, c)
	}
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name = name
	}
	c.input.WriteString(piece)
	return nil
}

// at returns the call that was begun last at an index.
func (b *Builder) at(index int) *call {
	for i := len(b.calls) - 1; i >= 0; i-- {
		if b.calls[i].index == index {
			return b.calls[i]
		}
	}
	return nil
}

// Response returns the answer that ended with finish, without model and usage.
// An answer with calls that stopped is one that wants tools called. Calls that
// an answer was cut off in are left out; in any other answer a call whose input
// is no JSON object is an error.
func (b *Builder) Response(finish string) (provider.Response, error) {
	r := provider.Response{Text: b.text.String(), Thinking: b.thinking.String(), Finish: finish}
	cut := finish == provider.FinishLength || finish == provider.FinishFilter
	for _, c := range b.calls {
		input, err := Object(c.input.Bytes())
		if err != nil && cut {
			continue
		}
		if err != nil {
			return provider.Response{}, Broken("the model calls %s with an input that is %v", quote(c.name), err)
		}
		r.Calls = append(r.Calls, provider.ToolCall{ID: CallID(c.id), Name: c.name, Input: input})
	}
	if len(r.Calls) > 0 && finish == provider.FinishStop {
		r.Finish = provider.FinishTools
	}
	if len(r.Calls) == 0 && finish == provider.FinishTools {
		r.Finish = provider.FinishStop
	}
	return r, nil
}

// Broken is an answer of the server that is not what its API says.
func Broken(format string, args ...any) error {
	return &provider.Error{Class: provider.ClassInternal, Message: fmt.Sprintf(format, args...)}
}

func quote(name string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	return fmt.Sprintf("%q", name)
}

// Object returns one JSON object without the white space around it; nothing at
// all is the empty object.
func Object(text []byte) (json.RawMessage, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}"), nil
	}
	if text[0] != '{' || !json.Valid(text) {
		return nil, fmt.Errorf("not a JSON object")
	}
	return bytes.Clone(text), nil
}

// CallID returns the ID a server gave a call, or a random one where it gave none.
func CallID(id string) string {
	if id == "" {
		return "call_" + rand.Text()
	}
	return id
}

// Unit scales a vector to length 1 in place. A vector of zeros stays as it is;
// one with numbers that are none is an error.
func Unit(vector []float32) error {
	var sum float64
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) || len(vector) == 0 {
		return Broken("a vector that is not numbers")
	}
	if sum == 0 {
		return nil
	}
	scale := 1 / math.Sqrt(sum)
	for i, v := range vector {
		vector[i] = float32(float64(v) * scale)
	}
	return nil
}

// Check refuses a request that no server could answer, which some would answer
// all the same.
func Check(r provider.Request) error {
	if len(r.Messages) == 0 {
		return &provider.Error{Class: provider.ClassInvalid, Message: "there are no messages"}
	}
	for _, m := range r.Messages {
		if m.Role != provider.RoleUser && m.Role != provider.RoleAssistant && m.Role != provider.RoleTool {
			return &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("there is no role %q", m.Role)}
		}
	}
	return nil
}

// ToolNames maps the ID of each call in a conversation to the name of its tool,
// for servers that want to be told the name with the result.
func ToolNames(messages []provider.Message) map[string]string {
	names := map[string]string{}
	for _, m := range messages {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
	}
	return names
}

// Estimate is what an answer cost when the server does not say: a token for
// every four bytes.
func Estimate(asked provider.Request, r provider.Response) provider.Usage {
	in := len(asked.System) + len(asked.Schema)
	for _, m := range asked.Messages {
		in += len(m.Text) + callBytes(m.Calls)
	}
	for _, t := range asked.Tools {
		in += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	thought := (len(r.Thinking) + 3) / 4
	return provider.Usage{
		InputTokens: in/4 + 1, OutputTokens: (len(r.Text)+callBytes(r.Calls))/4 + thought + 1, ThinkingTokens: thought, Estimated: true,
	}
}

func callBytes(calls []provider.ToolCall) int {
	n := 0
	for _, c := range calls {
		n += len(c.Name) + len(c.Input)
	}
	return n
}
