package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A reference is a place in the input of a step that stands for what another step
// answered: ${steps.ID.text}, or ${steps.ID.json.PATH} for a part of it, where PATH
// are names of members and numbers of items with dots between. "$${" stands for
// "${" itself.
type reference struct {
	step string
	json bool
	path []string
}

const opening = "${steps."

// parseReference reads what is between "${steps." and "}".
func parseReference(text string) (reference, error) {
	parts := strings.Split(text, ".")
	r := reference{step: parts[0]}
	switch {
	case !isID(r.step) || len(parts) < 2:
	case parts[1] == "text" && len(parts) == 2:
		return r, nil
	case parts[1] == "json":
		r.json, r.path = true, parts[2:]
		if !slices.Contains(r.path, "") {
			return r, nil
		}
	}
	return r, fault.Errorf(fault.KindUsage, "%s%.80s} is not a reference: write ${steps.ID.text} or ${steps.ID.json.PATH}", opening, text)
}

// A piece of a text is a text, or a reference.
type piece struct {
	text string
	ref  *reference
}

// parsePieces takes a text apart.
func parsePieces(text string) ([]piece, error) {
	var all []piece
	plain := ""
	for text != "" {
		i := strings.Index(text, "${")
		switch {
		case i < 0:
			plain, text = plain+text, ""
		case i > 0 && text[i-1] == '$':
			plain, text = plain+text[:i-1]+"${", text[i+2:]
		case !strings.HasPrefix(text[i:], opening):
			plain, text = plain+text[:i+2], text[i+2:]
		default:
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return nil, fault.Errorf(fault.KindUsage, "the reference %.80s has no end", text[i:])
			}
			r, err := parseReference(text[i+len(opening) : i+end])
			if err != nil {
				return nil, err
			}
			all = append(all, piece{text: plain + text[:i]}, piece{ref: &r})
			plain, text = "", text[i+end+1:]
		}
	}
	return append(all, piece{text: plain}), nil
}

// references are the steps that a JSON value or a text refers to.
func references(texts ...string) ([]string, error) {
	var ids []string
	for _, t := range texts {
		pieces, err := parsePieces(t)
		if err != nil {
			return nil, err
		}
		for _, p := range pieces {
			if p.ref != nil && !slices.Contains(ids, p.ref.step) {
				ids = append(ids, p.ref.step)
			}
		}
	}
	return ids, nil
}

// texts are all strings in a JSON value, names of members not among them.
func texts(input json.RawMessage) ([]string, error) {
	var v any
	if len(input) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(input, &v); err != nil {
		return nil, fault.Errorf(fault.KindUsage, "the input is not JSON: %w", err)
	}
	var all []string
	_, err := walk(v, func(s string) (any, error) { all = append(all, s); return s, nil })
	return all, err
}

// walk replaces each string of a JSON value by what fn makes of it.
func walk(v any, fn func(string) (any, error)) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return fn(v)
	case []any:
		for i := range v {
			if v[i], err = walk(v[i], fn); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = walk(v[k], fn); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// answer is what a step answered, as references see it.
type answer struct {
	Text string          `json:"text"`
	Data json.RawMessage `json:"data,omitempty"`
	// Cut says that Text is only the beginning.
	Cut bool `json:"cut,omitempty"`
}

// resolve puts in the place of each reference in an input what it stands for. A
// string that is one reference and nothing else becomes the value itself; in a longer
// string stands its text. Numbers keep their digits.
func resolve(input json.RawMessage, find func(step string) (answer, error)) (json.RawMessage, error) {
	if !strings.Contains(string(input), "${") && !strings.Contains(string(input), `\u`) {
		return input, nil
	}
	d := json.NewDecoder(strings.NewReader(string(input)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fault.Errorf(fault.KindUsage, "the input is not JSON: %w", err)
	}
	v, err := walk(v, func(s string) (any, error) {
		pieces, err := parsePieces(s)
		if err != nil {
			return nil, err
		}
		return fill(pieces, find)
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// fill is the value that the pieces of a string make.
func fill(pieces []piece, find func(step string) (answer, error)) (any, error) {
	var text strings.Builder
	for _, p := range pieces {
		if p.ref == nil {
			text.WriteString(p.text)
			continue
		}
		v, err := p.ref.value(find)
		if err != nil {
			return nil, err
		}
		if len(pieces) == 3 && pieces[0].text == "" && pieces[2].text == "" {
			return v, nil
		}
		text.WriteString(asText(v))
	}
	return text.String(), nil
}

// asText returns a value as it stands within a text.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// value is what a reference stands for.
func (r reference) value(find func(step string) (answer, error)) (any, error) {
	a, err := find(r.step)
	if err == nil && a.Cut {
		err = fault.Errorf(fault.KindLimit, "the answer of the step %s is too long to be handed on: at most %d bytes are", r.step, maxData)
	}
	if err != nil || !r.json {
		return a.Text, err
	}
	data := a.Data
	if len(data) == 0 || isText(data) { // text that may be JSON itself
		data = json.RawMessage(a.Text)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fault.Errorf(fault.KindUsage, "the answer of the step %s is not JSON", r.step)
	}
	for i, name := range r.path {
		if v, err = member(v, name); err != nil {
			return nil, fault.Errorf(fault.KindUsage, "the answer of the step %s has no %s: %w", r.step, strings.Join(r.path[:i+1], "."), err)
		}
	}
	return v, nil
}

func isText(data json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimSpace(string(data)), `"`)
}

// member is a part of a value.
func member(v any, name string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v[name]; ok {
			return m, nil
		}
		return nil, fmt.Errorf("member %q not found", name)
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(v) {
			return nil, fmt.Errorf("a list of %d items has no %q", len(v), name)
		}
		return v[i], nil
	}
	return nil, fmt.Errorf("it has no parts")
}
