//go:build unix

package plugins

import (
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, spec("parrot"))
	var pieces []string
	r, err := p.Generate(t.Context(), provider.Request{Model: "echo", Messages: []provider.Message{{Role: "user", Text: "one two"}}},
		func(d provider.Delta) error { pieces = append(pieces, d.Text); return nil })
	if err != nil || r.Text != "one two" || len(pieces) != 2 {
		t.Fatalf("%+v, pieces %q, %v", r, pieces, err)
	}
	t.Logf("%+v", v.Status())
}
