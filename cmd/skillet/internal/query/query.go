// Package query picks parts of JSON, by a path or by an expression in jq's language.
package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/nearest"
)

// A Query picks values of a document.
type Query struct {
	path []string
	code *gojq.Code
}

// Jq is a query in jq's language. It can read only the document: no files, no environment, and
// no further input. The error is of [fault.KindUsage].
func Jq(expression string) (*Query, error) {
	parsed, err := gojq.Parse(expression)
	if err != nil {
		return nil, badExpression(err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, badExpression(err)
	}
	return &Query{code: code}, nil
}

func badExpression(err error) error {
	return fault.Errorf(fault.KindUsage, "the expression: %w", err).WithHint("it is in jq's language, such as '.tools[].name'")
}

var segment = lazyregexp.New(`^(?:\.?"((?:[^"\\]|\\.)*)"|\[(\d+)\]|\.?([^.\[\]"]+))`)

// Field is the query of a path: names and numbers with dots between them, such as
// tools.0.name, or with numbers in brackets. A name applied to a list is applied to each of its members.
// The error is of [fault.KindUsage].
func Field(path string) (*Query, error) {
	q := &Query{path: []string{}}
	for rest := strings.TrimPrefix(path, "."); rest != ""; {
		m := segment().FindStringSubmatch(rest)
		if m == nil {
			return nil, fault.Errorf(fault.KindUsage, "%q is not a path of fields", path).WithHint("write names with dots between them, such as tools.0.name")
		}
		q.path = append(q.path, m[1]+m[2]+m[3])
		rest = rest[len(m[0]):]
	}
	return q, nil
}

// Each calls do with each value that the query picks of a document. The error is of
// [fault.KindNotFound] where a field is not there, and of [fault.KindUsage] where the
// document is not JSON or does not fit the expression.
func (q *Query) Each(ctx context.Context, doc []byte, do func(value any) error) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fault.Errorf(fault.KindUsage, "the answer is not JSON")
		}
		if err := q.of(ctx, v, do); err != nil {
			return err
		}
	}
}

func (q *Query) of(ctx context.Context, v any, do func(any) error) error {
	if q.code == nil {
		return walk(v, q.path, do)
	}
	for results := q.code.RunWithContext(ctx, v); ; {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		var halt *gojq.HaltError
		switch err, _ := v.(error); {
		case errors.As(err, &halt) && halt.Value() == nil:
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return badExpression(err)
		}
		if err := do(v); err != nil {
			return err
		}
	}
}

// walk follows a path.
func walk(v any, path []string, do func(any) error) error {
	if len(path) == 0 {
		return do(v)
	}
	switch v := v.(type) {
	case map[string]any:
		if child, ok := v[path[0]]; ok {
			return walk(child, path[1:], do)
		}
		return fieldNotFound(path[0], slices.Sorted(maps.Keys(v)))
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil {
			if n < 0 || n >= len(v) {
				return fault.Errorf(fault.KindNotFound, "%d is not an index of a list of %d, which begins at 0", n, len(v))
			}
			return walk(v[n], path[1:], do)
		}
		for _, member := range v {
			if err := walk(member, path, do); err != nil {
				return err
			}
		}
		return nil
	}
	return fault.Errorf(fault.KindNotFound, "field %s not found: the value is neither an object nor a list", path[0])
}

func fieldNotFound(name string, names []string) error {
	e := fault.Errorf(fault.KindNotFound, "field %s not found", name)
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %s?", best)
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return e.WithHint("it has %s", strings.Join(names, ", "))
}

// Encode returns a value as JSON in one line.
func Encode(v any) ([]byte, error) {
	b, err := gojq.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	return b, nil
}
