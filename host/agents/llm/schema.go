package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A form is what an answer has to fit: a JSON Schema. nil is for text.
type form struct {
	text     json.RawMessage
	compiled *manifests.ValueSchema
	anything bool // every JSON value fits
}

// formOf compiles the schema of a request. The error is [ErrInvalid].
func formOf(schema json.RawMessage) (*form, error) {
	if schema == nil {
		return nil, nil
	}
	compiled, err := manifests.CompileSchema(schema)
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "%w schema of the answer: %s", ErrInvalid, err)
	}
	plain := string(bytes.TrimSpace(schema))
	return &form{schema, compiled, plain == "{}" || plain == "true"}, nil
}

// native reports whether a model is given the schema as such. The formats of providers
// cannot say "anything".
func (f *form) native(m provider.Model) bool { return m.JSONSchema && !f.anything }

// ask is the request as a model is sent it: with no more than it can do. One that
// knows no schemas is told in words.
func (f *form) ask(r provider.Request, m provider.Model) provider.Request {
	r.Model = m.Name
	if !m.Thinking {
		r.Thinking = 0
	}
	if m.OutputTokens > 0 && r.MaxTokens > m.OutputTokens {
		r.MaxTokens = m.OutputTokens
	}
	if f == nil || f.native(m) {
		return r
	}
	r.Schema = nil
	words := "Answer with one JSON value and nothing else: no explanation, no code fence."
	if !f.anything {
		words += " It must fit this JSON Schema:\n" + string(f.text)
	}
	if len(r.Tools) > 0 {
		words += "\nThis holds for your answer, not for calls of tools."
	}
	r.System = strings.TrimLeft(r.System+"\n\n"+words, "\n")
	return r
}

// check returns the JSON of an answer, or what is wrong with it. A response that calls
// tools is not an answer yet.
func (f *form) check(resp provider.Response) (string, error) {
	if f == nil || len(resp.Calls) > 0 {
		return resp.Text, nil
	}
	value := unwrapped(resp.Text)
	if !json.Valid([]byte(value)) {
		return "", fmt.Errorf("the answer is not JSON")
	}
	if err := f.compiled.Check(json.RawMessage(value)); err != nil {
		return "", fmt.Errorf("the answer does not fit its schema: %w", err)
	}
	return value, nil
}

// unwrapped takes a value out of a code fence, or out of the sentences around it,
// when what is left is JSON.
func unwrapped(text string) string {
	text = strings.TrimSpace(text)
	if json.Valid([]byte(text)) {
		return text
	}
	if _, inside, ok := strings.Cut(text, "```"); ok {
		inside = strings.TrimPrefix(inside, "json")
		inside, _, _ = strings.Cut(inside, "```")
		if inside = strings.TrimSpace(inside); json.Valid([]byte(inside)) {
			return inside
		}
	}
	for _, pair := range []string{"{}", "[]"} {
		from, to := strings.IndexByte(text, pair[0]), strings.LastIndexByte(text, pair[1])
		if from >= 0 && to > from && json.Valid([]byte(text[from:to+1])) {
			return text[from : to+1]
		}
	}
	return text
}

// maxProblem bounds how much of what is wrong a model is told.
const maxProblem = 4096

// repair is the request that shows a model what was wrong with its answer.
func repair(r provider.Request, resp provider.Response, problem error) provider.Request {
	text := problem.Error()
	text = strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
	r.Messages = append(slices.Clone(r.Messages),
		provider.Message{Role: provider.RoleAssistant, Text: resp.Text, Opaque: resp.Opaque},
		provider.Message{Role: provider.RoleUser, Text: text + "\nAnswer again, with the corrected JSON value and nothing else."},
	)
	return r
}
