package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// maxExponent bounds the exponent of a number in data and schemas that are
// compared exactly: 1e999999999 is eleven bytes and a gigabyte of digits.
const maxExponent = 1000

// source is where the documents of a call come from: a JSON value, or text that
// holds JSON.
type source struct {
	data json.RawMessage
	text *string
}

// documents returns the values of the source. Text may hold several documents
// one after the other, as JSON Lines do; empty text holds none.
func (s source) documents() ([]any, error) {
	field, text, err := s.raw()
	if err != nil {
		return nil, err
	}
	return decodeAll(field, text)
}

// raw returns the field that was given and the JSON in it.
func (s source) raw() (field string, text []byte, err error) {
	switch {
	case s.data != nil && s.text != nil:
		return "", nil, skill.Errorf(skill.Invalid, "data and text: give only one of them")
	case s.data != nil:
		return "data", s.data, nil
	case s.text != nil:
		return "text", []byte(strings.TrimPrefix(*s.text, "\ufeff")), nil
	default:
		return "", nil, skill.Errorf(skill.Invalid, "data or text: give one of them")
	}
}

// document returns the only value of the source.
func (s source) document() (any, error) {
	field, text, err := s.raw()
	if err != nil {
		return nil, err
	}
	return decodeOne(field, text)
}

// decodeAll decodes every document in data, keeping numbers as they are written.
func decodeAll(field string, data []byte) ([]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var all []any
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, skill.Errorf(skill.Invalid, "%s: not valid JSON after byte %d: %w", field, dec.InputOffset(), err)
		}
		all = append(all, v)
	}
}

// decodeOne decodes the only document in data.
func decodeOne(field string, data []byte) (any, error) {
	all, err := decodeAll(field, data)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, skill.Errorf(skill.Invalid, "%s: must hold one JSON document, not %d", field, len(all))
	}
	return all[0], nil
}

// checkNumbers refuses values with a number too long to calculate with.
func checkNumbers(field string, v any) error {
	switch v := v.(type) {
	case json.Number:
		return checkNumber(field, string(v))
	case []any:
		for _, item := range v {
			if err := checkNumbers(field, item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNumbers(field, item); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkNumber(field, number string) error {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(number[i+1:])
	if err != nil || exponent > maxExponent || exponent < -maxExponent {
		return skill.Errorf(skill.Invalid, "%s: the exponent of %.40s is beyond %d", field, number, maxExponent)
	}
	return nil
}

// within returns the value of an option, or its default when it is not given.
func within(name string, value *int, preset, low, high int) (int, error) {
	if value == nil {
		return preset, nil
	}
	if *value < low || *value > high {
		return 0, skill.Errorf(skill.Invalid, "%s: must be from %d to %d, not %d", name, low, high, *value)
	}
	return *value, nil
}
