package query

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
)

const doc = `{"n": 12345678901234567890, "tools": [{"name": "a"}, {"name": "b"}], "a b": {"x.y": null}, "text": "hi"}`

func picked(t *testing.T, q *Query, err error) (string, error) {
	t.Helper()
	if err != nil {
		return "", err
	}
	var all []string
	err = q.Each(t.Context(), []byte(doc), func(v any) error {
		b, err := Encode(v)
		all = append(all, string(b))
		return err
	})
	return strings.Join(all, " "), err
}

func TestField(t *testing.T) {
	for path, want := range map[string]string{
		"text": `"hi"`, ".text": `"hi"`, "n": "12345678901234567890", "tools.0.name": `"a"`, "tools[1].name": `"b"`, "tools.name": `"a" "b"`,
		`"a b"."x.y"`: "null", "a b": `{"x.y":null}`,
	} {
		q, err := Field(path)
		if got, err := picked(t, q, err); err != nil || got != want {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
	for path, kind := range map[string]fault.Kind{
		"txet": fault.KindNotFound, "tools.7": fault.KindNotFound, "text.x": fault.KindNotFound, "tools[x": fault.KindUsage, "a..b": fault.KindUsage,
	} {
		q, err := Field(path)
		if _, err := picked(t, q, err); fault.AsError(err).Kind != kind {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestJq(t *testing.T) {
	for expression, want := range map[string]string{
		".tools[].name": `"a" "b"`, ".n": "12345678901234567890", ".tools | length": "2", "empty": "", "1, halt, 2": "1", "$ENV | length": "0", "env | length": "0",
	} {
		q, err := Jq(expression)
		if got, err := picked(t, q, err); err != nil || got != want {
			t.Errorf("%s is %s, %v", expression, got, err)
		}
	}
	for _, expression := range []string{".[", "nothing", ".text.x", "error(1)", "input", `include "x"; 1`} {
		q, err := Jq(expression)
		if got, err := picked(t, q, err); fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s is %s, %v", expression, got, err)
		}
	}
}

// An expression that never ends is stopped with the command.
func TestJqEnds(t *testing.T) {
	q, err := Jq("last(range(infinite))")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Each(ctx, []byte(doc), func(any) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

func TestNotJSON(t *testing.T) {
	q, err := Field("text")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Each(t.Context(), []byte("how many"), func(any) error { return nil }); fault.AsError(err).Kind != fault.KindUsage {
		t.Errorf("it says %v", err)
	}
}
