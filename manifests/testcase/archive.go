package testcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// A section is a file in a txtar archive
// (https://pkg.go.dev/golang.org/x/tools/txtar): what stands between one line
// "-- NAME --" and the next.
type section struct {
	name string
	line int
	text string
}

// Names of sections, and what the names of others begin with.
const (
	sectionInputJSON  = "input.json"
	sectionInputText  = "input.txt"
	sectionExpectJSON = "expect.json"
	sectionExpectText = "expect.txt"
	sectionFiles      = "workspace/"
	sectionAfter      = "after/"
)

// sectionHelp lists the names a section may have.
const sectionHelp = "a section is called input.json, input.txt, expect.json, expect.txt, workspace/PATH or after/PATH"

// splitArchive takes a txtar file apart: what stands before its first section, and
// the sections.
func splitArchive(data []byte) (head []byte, sections []section) {
	var b strings.Builder
	line := 0
	end := func() {
		if len(sections) == 0 {
			head = []byte(b.String())
		} else {
			sections[len(sections)-1].text = b.String()
		}
		b.Reset()
	}
	for text := range bytes.Lines(data) {
		line++
		name, ok := sectionName(string(text))
		if !ok {
			b.Write(text)
			continue
		}
		end()
		sections = append(sections, section{name: name, line: line})
	}
	end()
	return head, sections
}

// sectionName reads a line that begins a section.
func sectionName(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

// parseArchive reads a txtar file: a case in YAML, and its texts as sections.
func parseArchive(data []byte, name string) ([]Case, manifests.Errors) {
	head, sections := splitArchive(data)
	docs, errs := form().ReadEach(head, name+".yaml")
	if len(errs) > 0 {
		return nil, errs
	}
	if len(docs) != 1 {
		return nil, manifests.Errors{{Message: fmt.Sprintf("holds %d cases", len(docs)), Suggestion: "a txtar file holds one case"}}
	}
	var c Case
	left := maxFileStates
	if errs := c.decode(docs[0], sections, &left); len(errs) > 0 {
		return nil, errs
	}
	return []Case{c}, nil
}

// WithSection returns a txtar file in which one section has another text. ok is
// false when it has no such section.
func WithSection(data []byte, name, text string) (out []byte, ok bool) {
	head, sections := splitArchive(data)
	b := bytes.NewBuffer(head)
	for _, s := range sections {
		if s.name == name {
			s.text, ok = text, true
		}
		fmt.Fprintf(b, "-- %s --\n%s", s.name, s.text)
		if !strings.HasSuffix(s.text, "\n") && s.text != "" {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), ok
}

// section takes a section of a txtar file into the case.
func (k *checker) section(s section) {
	c := k.c
	switch {
	case k.seen[s.name]:
		k.atLine(s, "remove one of the two", "there are two sections %s", s.name)
	case s.name == sectionInputJSON:
		c.Input = k.sectionJSON(s)
	case s.name == sectionInputText:
		c.InputText = &s.text
	case s.name == sectionExpectJSON:
		c.Expect, c.section = k.sectionJSON(s), s.name
	case s.name == sectionExpectText:
		c.ExpectText, c.section = quoted(s.text), s.name
	case strings.HasPrefix(s.name, sectionFiles):
		if c.Files == nil {
			c.Files = map[string]Content{}
		}
		c.Files[strings.TrimPrefix(s.name, sectionFiles)] = TextContent(s.text)
	case strings.HasPrefix(s.name, sectionAfter):
		if c.FilesAfter == nil {
			c.FilesAfter = map[string]json.RawMessage{}
		}
		c.FilesAfter[strings.TrimPrefix(s.name, sectionAfter)] = quoted(s.text)
	default:
		k.atLine(s, sectionHelp, "unknown section %s", s.name)
	}
	if k.seen == nil {
		k.seen = map[string]bool{}
	}
	k.seen[s.name] = true
}
