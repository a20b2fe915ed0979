package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The sentinels of a value that does not fit its tool. The errors also wrap
// [Errors], whose paths are inside the value.
var (
	// ErrInput is wrapped by the errors of [Manifest.ValidateInput] and
	// [CoerceArgs]: the caller can mend it.
	ErrInput = errors.New("input does not fit the tool")
	// ErrOutput is wrapped by the errors of [Manifest.ValidateOutput]: the
	// skill does not keep its word.
	ErrOutput = errors.New("output does not fit the tool")
)

// ValidateInput checks input against the input schema of tool, which is one of
// m's. Without a schema any bytes fit, JSON or not. Formats the JSON Schema
// specification names are checked too. The error wraps [ErrInput] and [Errors].
//
// It is safe for concurrent use, and bounded: see [MaxDepth], [MaxNumberLength]
// and [MaxSteps].
func (m *Manifest) ValidateInput(tool Tool, input json.RawMessage) error {
	return m.validate(ErrInput, tool.Name, tool.InputSchema, input)
}

// ValidateOutput checks output against the output schema of tool as
// [Manifest.ValidateInput] does. The error wraps [ErrOutput] and [Errors].
func (m *Manifest) ValidateOutput(tool Tool, output json.RawMessage) error {
	return m.validate(ErrOutput, tool.Name, tool.OutputSchema, output)
}

func (m *Manifest) validate(side error, tool string, schema, value json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	s, errs := m.schemaOf(schema)
	if len(errs) > 0 {
		return valueError(side, tool, errs)
	}
	doc, p := readJSON(value)
	if p != nil {
		return valueError(side, tool, Errors{*p})
	}
	if errs := s.check(doc.plain()); len(errs) > 0 {
		return valueError(side, tool, errs)
	}
	return nil
}

// schemaOf returns the compiled form of a tool's schema. [Parse] has compiled
// those of m; the schema of a manifest that was filled in is compiled here.
func (m *Manifest) schemaOf(text json.RawMessage) (*valueSchema, Errors) {
	if s, ok := m.compiled[string(text)]; ok {
		return s, nil
	}
	return compileSchema(text)
}

func valueError(side error, tool string, errs Errors) error {
	if len(errs) == 1 {
		return fmt.Errorf("%w %s: %w", side, tool, errs)
	}
	return fmt.Errorf("%w %s: %d problems:\n%w", side, tool, len(errs), errs)
}
