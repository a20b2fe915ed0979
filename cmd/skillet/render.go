package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/prompt"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
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

// meantForCode are the flags of run that have no meaning for a prompt.
var meantForCode = []string{"timeout", "max-memory-mb", "max-fuel", "config", "record", "no-cache"}

// renderable refuses what cannot be done with a skill of this kind, before any
// grant is spent on it.
func (t *terminal) renderable(ctx context.Context, c *cli.Context, h *host.Host, g goal) error {
	code := runsCode(g.Package.Manifest(), g.tool)
	switch {
	case code && c.Bool("render"):
		return task.Errorf(task.KindUsage, "%s runs code, and --render prints prompts", g.Label).WithHint("leave --render out to run it")
	case code:
		return nil
	case !c.Bool("render"):
		if err := h.Runner.Asks(ctx, g.Label); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(meantForCode, c.IsSet); i >= 0 {
		return task.Errorf(task.KindUsage, "--%s has no meaning for a prompt, which is not run", meantForCode[i]).WithHint("leave it out")
	}
	return nil
}

// runsCode reports whether a tool of a skill is code, and no prompt: all of a skill
// that runs code, and the scripts of a folder.
func runsCode(m *manifests.Manifest, tool string) bool {
	_, script := m.Script(tool)
	return !m.Type.IsPrompt() || script
}

// render prints a prompt.
func (t *terminal) render(ctx context.Context, h *host.Host, call runner.Call) error {
	p, res := h.Runner.Render(ctx, call)
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
		if d.Hint != "" {
			t.note("  hint: to allow it: %s", plain(d.Hint))
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

// callable is the tool that a call means, a prompt among them.
func callable(m *manifests.Manifest, name string) (manifests.Tool, bool) {
	if p, ok := m.PromptTool(); ok && (name == "" || name == p.Name) {
		return p, true
	}
	if name != "" {
		return m.Tool(name)
	}
	return m.DefaultTool()
}
