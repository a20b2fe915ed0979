package main

import (
	"context"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
)

// render prints a prompt.
func (t *terminal) render(ctx context.Context, h *host.Host, in invoke.Invocation) error {
	p, res, err := h.Invoke().Render(ctx, in)
	if err != nil {
		return err
	}
	if !res.OK {
		res.Error = explain(res.Error)
	}
	switch {
	case !res.OK && !t.json:
		return res.Error
	case !res.OK:
		if err := t.printJSON(res); err != nil {
			return err
		}
		return reported{res.Error.Kind}
	case t.json:
		return t.printJSON(p)
	}
	t.noteContext(p)
	return t.raw(res.Raw)
}

// maxNotes is how many files and refusals are named.
const maxNotes = 10

// noteContext says how long a prompt is, and which files are not in it.
func (t *terminal) noteContext(p invoke.Rendered) {
	t.note("skillet: %d bytes, about %s", p.Estimate.Bytes, count(p.Estimate.Tokens, "token"))
	if p.Context == nil {
		return
	}
	t.note("skillet: %s of context, %d bytes", count(len(p.Context.Files), "file"), p.Context.Estimate.Bytes)
	for _, line := range p.Context.Missing(maxNotes) {
		t.note("skillet: %s", plain(line))
	}
	for i, d := range p.Denials {
		if i == maxNotes {
			t.note("skillet: and %s; --json shows them", count(len(p.Denials)-i, "more refusal"))
			return
		}
		t.note("skillet: denied %s: %s", plain(d.Request), plain(d.Reason))
		if hint := t.way(d.Hint, d.Remedies); hint != "" {
			t.note("  hint: to allow it: %s", plain(hint))
		}
	}
}
