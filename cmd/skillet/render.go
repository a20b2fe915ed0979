package main

import (
	"context"
	"strings"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/prompt"
)

// rendered is what --json prints of a prompt.
type rendered struct {
	OK     bool       `json:"ok"`
	Skill  string     `json:"skill"`
	Digest string     `json:"digest"`
	RunID  task.RunID `json:"run_id"`
	prompt.Prompt
	// Denials are the files that were refused.
	Denials []task.Denial `json:"denials"`
}

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
		return t.printJSON(rendered{true, res.Skill, res.Digest, res.RunID, p, res.Denials})
	}
	t.noteContext(p, res.Denials)
	return t.raw(res.Raw)
}

// inWords says why files are not in a prompt.
var inWords = map[prompt.Reason]string{
	prompt.Denied:     "may not be read",
	prompt.TooLarge:   "larger than max_file_size_kb",
	prompt.Binary:     "no text",
	prompt.TooMany:    "beyond max_files",
	prompt.Unreadable: "could not be read",
}

// maxNotes is how many files and refusals are named.
const maxNotes = 10

// noteContext says how long a prompt is, and which files are not in it.
func (t *terminal) noteContext(p prompt.Prompt, denials []task.Denial) {
	t.note("skillet: %d bytes, about %s", p.Estimate.Bytes, count(p.Estimate.Tokens, "token"))
	if p.Context == nil {
		return
	}
	t.note("skillet: %s of context, %d bytes", count(len(p.Context.Files), "file"), p.Context.Estimate.Bytes)
	for _, why := range []prompt.Reason{prompt.Denied, prompt.TooLarge, prompt.Binary, prompt.TooMany, prompt.Unreadable} {
		if n := p.Context.Counts[why]; n > 0 {
			t.note("skillet: left out %s (%s): %s", count(n, "file"), inWords[why], t.leftOut(p.Context, why, n))
		}
	}
	for i, d := range denials {
		if i == maxNotes {
			t.note("skillet: and %s; --json shows them", count(len(denials)-i, "more refusal"))
			return
		}
		t.note("skillet: denied %s: %s", plain(d.Request), plain(d.Reason))
		if hint := t.way(d.Hint, d.Remedies); hint != "" {
			t.note("  hint: to allow it: %s", plain(hint))
		}
	}
}

// leftOut names the first of n files that were left out for a reason.
func (t *terminal) leftOut(c *prompt.Context, why prompt.Reason, n int) string {
	var names []string
	for _, f := range c.LeftOut {
		if f.Reason == why && len(names) < maxNotes {
			names = append(names, plain(f.Path))
		}
	}
	if len(names) < n {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
