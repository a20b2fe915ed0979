// Package prompt renders prompt_inline and conversation skills: it checks the
// parameters, puts them where the prompt has their names, gathers the context
// files, and gives the messages that a model is sent.
//
// What comes from outside the package (free text of a caller, files) is data and
// never part of the prompt's own text:
//
//   - values are put in once, after the prompt was taken apart, so that a value
//     that holds {name} stays that text;
//   - free text and files stand between two tags with a mark, eight or more
//     hexadecimal digits that occur nowhere in what they enclose, and a system
//     message says that nothing between them is an instruction;
//   - a value stands in the prompt's own lines only if its parameter bounds it (an
//     enum, a number, a boolean, a string with a pattern) and it is one line of
//     printable characters.
//
// There is no template language: no conditions, no loops, no code.
//
// The package decides nothing about files: a [Reader] does, which refuses what was
// not granted. It knows no model; a [Model] answers a prompt.
package prompt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// MaxBytes is how long all messages of a prompt may be together.
const MaxBytes = 16 << 20

// A Role says whose words a message is.
type Role string

// The roles.
const (
	System Role = "system"
	User   Role = "user"
)

// A Message is one message of a prompt.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// An Estimate is how long a prompt is.
type Estimate struct {
	// Bytes is the length of all contents.
	Bytes int `json:"bytes"`
	// Tokens is a guess: a token for each four bytes. A model counts otherwise;
	// English text has about as many, program text some more.
	Tokens int `json:"tokens"`
}

// bytesPerToken is what [Estimate] counts with.
const bytesPerToken = 4

func estimated(bytes int) Estimate {
	return Estimate{Bytes: bytes, Tokens: (bytes + bytesPerToken - 1) / bytesPerToken}
}

// A Prompt is a prompt as a model is sent it.
type Prompt struct {
	Kind     manifests.Kind `json:"kind"`
	Messages []Message      `json:"messages"`
	// Model is the model or tier that the manifest names; empty for any.
	Model string `json:"model,omitempty"`
	// OutputFormat is "text", "markdown" or "json"; empty when the manifest does
	// not say.
	OutputFormat string `json:"output_format,omitempty"`
	// ContextWindow is how many tokens the prompt may fill; 0 when the manifest
	// does not say.
	ContextWindow int      `json:"context_window,omitempty"`
	Estimate      Estimate `json:"estimate"`
	// Mark is in the tags around everything that came from outside the package;
	// empty when nothing did.
	Mark string `json:"mark,omitempty"`
	// Context says which files are in it; nil for a skill that takes none.
	Context *Context `json:"context,omitempty"`
	// Resources are the other files of the package, which its text may speak of.
	Resources []bundle.File `json:"resources,omitempty"`
}

// Text is the prompt for a person to read: the contents of its messages, each
// below its role when there are several.
func (p Prompt) Text() string {
	if len(p.Messages) == 1 {
		return withNewline(p.Messages[0].Content)
	}
	var b strings.Builder
	for i, m := range p.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%s]\n%s", m.Role, withNewline(m.Content))
	}
	return b.String()
}

func withNewline(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// A Request is a prompt that somebody wants rendered.
type Request struct {
	// Package is of [manifests.KindPromptInline] or [manifests.KindConversation].
	Package *bundle.Package
	// Name is what a person called it, for errors; empty for the name in its manifest.
	Name string
	// Input is a JSON object with the parameters; nil for none.
	Input json.RawMessage
	// Workspace is the absolute directory that context files are looked for in. It
	// may be empty when there are none.
	Workspace string
	// Files reads context files; nil reads none.
	Files Reader
}

// Render renders a prompt. Errors are [fault.Error]s: of [fault.KindUsage] for
// parameters that do not fit, and of [fault.KindLimit] for a prompt that is too
// long.
func Render(ctx context.Context, r Request) (Prompt, error) {
	m := r.Package.Manifest()
	tool, ok := m.PromptTool()
	if !ok {
		return Prompt{}, fault.Errorf(fault.KindUsage, "%s is a %s skill: it has no prompt", cmp.Or(r.Name, m.Name), m.Type).
			WithHint("run it without %s", fault.OmitField(fault.FieldRender))
	}
	values, err := read(m, cmp.Or(r.Name, m.Name), tool, r.Input)
	if err != nil {
		return Prompt{}, err
	}
	w := writer{manifest: m, values: values}
	if m.ContextFiles != nil {
		if w.context, err = gather(ctx, r, *m.ContextFiles); err != nil {
			return Prompt{}, err
		}
	}
	w.mark = w.newMark()
	p := Prompt{
		Kind: m.Type, Messages: w.messages(), Model: m.Model, OutputFormat: m.OutputFormat,
		ContextWindow: m.ContextWindow, Context: w.context, Resources: resources(r.Package),
	}
	if w.fenced {
		p.Mark = w.mark
	}
	return p, p.measure(m)
}

// measure estimates the length of a prompt, and refuses one that is too long.
func (p *Prompt) measure(m *manifests.Manifest) error {
	n := 0
	for _, message := range p.Messages {
		n += len(message.Content)
	}
	p.Estimate = estimated(n)
	const hint = "give shorter values, or take fewer or smaller files: context_files in the manifest says which"
	switch e := p.Estimate; {
	case n > MaxBytes:
		return fault.Errorf(fault.KindLimit, "the prompt of %s has %d bytes, at most %d are sent", m.Name, n, MaxBytes).WithHint(hint)
	case p.ContextWindow > 0 && e.Tokens > p.ContextWindow:
		return fault.Errorf(fault.KindLimit, "the prompt of %s has about %d tokens, and its context_window is %d", m.Name, e.Tokens, p.ContextWindow).WithHint(hint)
	}
	return nil
}

// resources are the files of a package that are neither its manifest nor what
// belongs to publishing it.
func resources(p *bundle.Package) []bundle.File {
	var all []bundle.File
	for _, f := range p.Files() {
		if dir, _, nested := strings.Cut(f.Path, "/"); nested && dir != "tests" {
			all = append(all, f)
		}
	}
	return all
}
