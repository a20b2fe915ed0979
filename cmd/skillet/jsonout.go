package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/cmd/skillet/internal/query"
	"github.com/skillet-run/skillet/host/base/fault"
)

// outputFlags are the flags that say how a command prints its answer.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print JSON, for programs"},
		&cli.StringFlag{Name: "field", Usage: "print only the field `PATH` of the JSON, or of the answer of a tool: tools.0.name"},
		&cli.StringFlag{Name: "query", Aliases: []string{"q"}, Usage: "print what `EXPR`, in jq's language, picks of it: '.tools[].name'"},
		&cli.StringFlag{Name: "format", Aliases: []string{"o"}, Usage: "print it as `FORMAT`: wide does not fit tables to the terminal, json is --json"},
		&cli.BoolFlag{Name: "no-pager", Usage: "show a long answer without $PAGER"},
	}
}

// answersOf are commands whose answer is that of a skill: without --json, a query is about it.
var answersOf = map[string]bool{"run": true, "code": true}

// readOutput reads how a line wants its answer printed.
func (t *terminal) readOutput(l cmdline.Line) (err error) {
	t.json = l.Has("json")
	if n := len(l.Chain); n == 0 || cmdline.LookFor(l.Chain[n-1].Flags, "output") == nil {
		switch format := l.Value("format", "o"); format {
		case "":
		case "json":
			t.json = true
		case "wide":
			t.wide = true
		default:
			return fault.Errorf(fault.KindUsage, "--format %s: unknown format", format).WithHint("it is wide or json")
		}
	}
	field, expression := l.Value("field"), l.Value("query", "q")
	switch {
	case field != "" && expression != "":
		return fault.Errorf(fault.KindUsage, "--field and --query do not go together").WithHint("give one of them")
	case field != "":
		t.pick, err = query.Field(field)
	case expression != "":
		t.pick, err = query.Jq(expression)
	}
	t.json = t.json || t.pick != nil && !answersOf[l.Command()]
	return err
}

// printJSON prints v as JSON, or what the query picks of it.
func (t *terminal) printJSON(v any) error {
	doc, err := encoded(t.filled(v))
	if err != nil {
		return err
	}
	if t.pick != nil {
		return t.printPicked(doc)
	}
	return t.printDoc(doc)
}

// line prints v as a line of JSON, or what the query picks of it.
func (t *terminal) line(v any) error {
	doc, err := encoded(t.filled(v))
	if err != nil {
		return err
	}
	if t.pick != nil {
		return t.printPicked(doc)
	}
	return t.printSafe(doc)
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// maxIndented is the longest JSON that is printed in lines: indenting a deep
// answer of a skill's multiplies it.
const maxIndented = 64 << 10

// printDoc prints a document in lines, unless it is very long.
func (t *terminal) printDoc(doc []byte) error {
	if len(doc) <= maxIndented {
		var lines bytes.Buffer
		if err := json.Indent(&lines, doc, "", "  "); err != nil {
			return err
		}
		doc = lines.Bytes()
	}
	return t.printSafe(doc)
}

// printSafe prints a document in which what could change a terminal is escaped.
func (t *terminal) printSafe(doc []byte) error {
	if !t.look.On() {
		return writeEscaped(t.out, doc)
	}
	var b bytes.Buffer
	if err := writeEscaped(&b, doc); err != nil {
		return err
	}
	_, err := t.out.Write(t.look.JSON(b.Bytes()))
	return err
}

// printPicked prints what the query picks of a document: texts as they are, anything else as
// JSON, in one line where no person reads it.
func (t *terminal) printPicked(doc []byte) error {
	return t.pick.Each(t.ctx, doc, func(v any) error {
		if text, ok := v.(string); ok {
			return t.rawLine([]byte(text))
		}
		b, err := query.Encode(v)
		switch {
		case err != nil:
			return err
		case t.outTTY:
			return t.printDoc(append(b, '\n'))
		}
		return writeEscaped(t.out, append(b, '\n'))
	})
}

// rawLine prints text and the end of its line.
func (t *terminal) rawLine(text []byte) error {
	if t.outTTY {
		text = []byte(strings.TrimSuffix(plainLines(string(text)), "\n"))
	}
	_, err := fmt.Fprintf(t.out, "%s\n", text)
	return err
}

// raw prints the answer of a tool: as it is into a pipe; on a terminal made safe, and JSON in
// lines; or what the query picks of it.
func (t *terminal) raw(b []byte) error {
	switch {
	case t.pick != nil:
		return t.printPicked(b)
	case !t.outTTY:
		_, err := t.out.Write(b)
		return err
	case isDocument(b):
		return t.printDoc(append(bytes.TrimSpace(b), '\n'))
	}
	return t.rawLine(b)
}

// isDocument reports whether an answer is a JSON object or list.
func isDocument(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b)
}
