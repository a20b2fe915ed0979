package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"

	"golang.org/x/term"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/task"
)

// A terminal is where a command reads and prints. Answers go to out; progress,
// questions, warnings and errors go to err, so that out can be piped.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	json     bool
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// canAsk reports whether a person can be asked a question.
func (t *terminal) canAsk() bool { return isTerminal(t.in) && isTerminal(t.err) }

// ask puts a yes-or-no question; anything but yes is no.
func (t *terminal) ask(question string) (bool, error) {
	fmt.Fprintf(t.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(t.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// note prints a line for people, on the error stream.
func (t *terminal) note(format string, args ...any) {
	fmt.Fprintf(t.err, format+"\n", args...)
}

// say prints a line of the answer.
func (t *terminal) say(format string, args ...any) {
	fmt.Fprintf(t.out, format+"\n", args...)
}

// answer prints v as JSON when --json was given, and calls plain otherwise.
func (t *terminal) answer(v any, plain func()) error {
	if !t.json {
		plain()
		return nil
	}
	return t.printJSON(v)
}

func (t *terminal) printJSON(v any) error {
	enc := json.NewEncoder(t.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// failure is what --json prints when a command fails.
type failure struct {
	OK    bool        `json:"ok"`
	Error *task.Error `json:"error"`
}

// fail prints an error: what, and how to get out of it.
func (t *terminal) fail(e *task.Error) {
	if t.json {
		if err := t.printJSON(failure{Error: e}); err == nil {
			return
		}
	}
	fmt.Fprintf(t.err, "skillet: %s\n", plain(e.Message))
	if e.Hint != "" {
		fmt.Fprintf(t.err, "  hint: %s\n", plain(e.Hint))
	}
}

// table prints rows in columns.
func (t *terminal) table(header string, rows [][]string) {
	w := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = plain(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
}

// plain makes text of a skill's safe to show on a terminal: it could otherwise
// move the cursor, and overwrite what a person is about to approve.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// raw prints a tool's answer: as it is into a pipe, made safe on a terminal.
func (t *terminal) raw(b []byte) error {
	if !isTerminal(t.out) {
		_, err := t.out.Write(b)
		return err
	}
	text := plain(string(b))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(t.out, text)
	return err
}

// Notify shows a notification of a skill.
func (t *terminal) Notify(_ context.Context, n hostfn.Notification) error {
	line := fmt.Sprintf("[%s] %s", n.Severity, n.Skill)
	if n.Title != "" {
		line += ": " + n.Title
	}
	_, err := fmt.Fprintf(t.err, "%s: %s\n", plain(line), plain(n.Text))
	return err
}

func absolute(path string) (string, error) {
	p, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return p, nil
}
