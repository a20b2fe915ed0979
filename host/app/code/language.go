package code

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// A language is one in which scripts are written.
type language struct {
	name string
	// engines are the interpreters that run it, the one to prefer first.
	engines []engine
	// endings are those of names of files.
	endings []string
}

// An engine is an interpreter.
type engine struct {
	name string
	// guest runs a script in the interpreter's own tool. open and shut stand around the script in
	// what is evaluated, and note says what a caller should know of the interpreter.
	guest, open, shut string
	note              string
	// rest is what the guest asks for when it needs it; empty for none.
	rest string
}

var (
	//go:embed guest/javascript.js
	javascriptGuest string
	//go:embed guest/javascript_rest.js
	javascriptRest string
	//go:embed guest/tools.py
	toolsGuest string
	//go:embed guest/cpython.py
	cpythonGuest string
	//go:embed guest/python.py
	pythonGuest string
)

var languages = sync.OnceValue(func() []language {
	return []language{
		{"javascript", []engine{{"qjs", shortened(javascriptGuest), "(JSON.parse(", "))", "", shortened(javascriptRest)}}, []string{".js", ".mjs"}},
		{"python", []engine{
			{"cpython", toolsGuest + cpythonGuest, "_run(_json.loads(", "))", "", ""},
			{"python", toolsGuest + pythonGuest, "_run(_json.loads(", "))", "MicroPython, which is a part of Python", ""},
		}, []string{".py"}},
	}
})

// shortened is a guest in JavaScript without its indents and the lines that are comments.
func shortened(guest string) string {
	var b strings.Builder
	for line := range strings.Lines(guest) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// Languages are the names of the languages of scripts.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// LanguageOf is the language of a file by its name; empty for none.
func LanguageOf(file string) string {
	for _, l := range languages() {
		for _, end := range l.endings {
			if strings.HasSuffix(file, end) {
				return l.name
			}
		}
	}
	return ""
}

func languageOf(name string) (language, bool) {
	for _, l := range languages() {
		if name == "" || l.name == name {
			return l, true
		}
	}
	return language{}, false
}

func orWords(words []string) string { return strings.Join(words, " or ") }

// EvalTool is the tool of an interpreter that evaluates a text.
const EvalTool = "eval"

// engine finds the interpreter for a language, without what it was granted: a script has none
// of that.
func (s *Service) engine(ctx context.Context, l language) (engine, runner.Target, error) {
	for _, e := range l.engines {
		t, _, err := s.parts.Skills.Called(ctx, manifests.Ref{Name: e.name})
		switch {
		case errors.Is(err, registry.ErrNotFound):
			continue
		case err != nil:
			return e, t, err
		}
		m := t.Package.Manifest()
		_, provides := m.Provides[e.name]
		if _, ok := m.Tool(EvalTool); !ok || !provides {
			return e, t, fault.Errorf(fault.KindVerification, "the skill %s is not the interpreter of that name", t.Label).WithHint("%s installs that", fault.InstallEngine(e.name))
		}
		t.Canary = nil
		return e, t, nil
	}
	return engine{}, runner.Target{}, fault.Errorf(fault.KindNotFound, "no interpreter for %s is installed", l.name).WithHint("get one with: %s", fault.InstallEngine(l.engines[0].name))
}

// offered fills in the languages that can be run now.
func (s *Service) offered(ctx context.Context, o *Offer) error {
	for _, l := range languages() {
		e, t, err := s.engine(ctx, l)
		switch {
		case err == nil:
			o.Languages = append(o.Languages, l.name)
			granted, err := s.parts.Approvals.Granted(ctx, t.Package.Digest(), time.Now())
			if err != nil {
				return err
			}
			if granted.Set().IsEmpty() {
				o.Plain = append(o.Plain, e.name)
			}
		case !errors.Is(err, registry.ErrNotFound) && fault.AsError(err).Kind == fault.KindInternal:
			return err
		}
	}
	return nil
}

// program is the text that an interpreter evaluates to run a script.
func (e engine) program(h head, code string) ([]byte, error) {
	asked, err := json.Marshal(struct {
		Code  string `json:"code"`
		Given bool   `json:"given"`
	}{code, h.Given})
	if err != nil {
		return nil, err
	}
	literal, err := json.Marshal(string(asked))
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Code string `json:"code"`
	}{strings.TrimRight(e.guest, "\n") + e.between() + e.open + string(literal) + e.shut})
}

// between stands between the guest's text and the call: a function in JavaScript is called
// where it ends, and Python has a line for it.
func (e engine) between() string {
	if strings.HasPrefix(e.open, "_") {
		return "\n\n\n"
	}
	return ""
}

// an answer is what a script came to, as its guest writes it.
type answer struct {
	Value json.RawMessage `json:"value"`
	Error *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
	} `json:"error"`
}

// maxMessage is how many bytes of a message of a script are kept.
const maxMessage = 4 << 10

// readAnswer reads what a guest wrote, which a script may have changed to anything.
func readAnswer(raw []byte) (json.RawMessage, *Error, error) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil || a.Value == nil && a.Error == nil {
		return nil, nil, fmt.Errorf("the interpreter did not say what the script came to")
	}
	if a.Error == nil {
		return a.Value, nil, nil
	}
	e := &Error{Kind: fault.KindSkill, Message: clip(a.Error.Message, maxMessage)}
	if a.Error.Line > 0 && a.Error.Column >= 0 {
		e.Line, e.Column = a.Error.Line, a.Error.Column
	}
	if a.Error.Kind != "" {
		e.Kind = kindTold(a.Error.Kind)
	}
	return nil, e, nil
}

// clip is the beginning of a text, with a mark where it was cut.
func clip(s string, most int) string {
	if head := text.Head(s, most); head != s {
		return head + "…"
	}
	return s
}
