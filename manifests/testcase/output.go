package testcase

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"
)

// Output says where the output of a call is not what the case expects; nil when it
// is. A golden file is read from the package with read, and filled in with fill. The
// error says that what is expected cannot be read.
func (c *Case) Output(output []byte, read func(path string) ([]byte, error), fill func(string) string) ([]Difference, error) {
	switch {
	case c.Expect != nil:
		return match(c.Expect, Subset, output)
	case c.ExpectExact != nil:
		return match(c.ExpectExact, Exact, output)
	case c.ExpectText != nil:
		p, err := CompilePattern(c.ExpectText, Subset)
		return p.MatchText("output", string(output)), err
	case c.ExpectBase64 != nil:
		return sameBytes(*c.ExpectBase64, output), nil
	case c.ExpectSchema != nil:
		return fits(c.ExpectSchema, output)
	case c.ExpectFile != "":
		want, err := read(c.ExpectFile)
		if err != nil {
			return nil, fmt.Errorf("read the golden file: %w", err)
		}
		return Golden(c.ExpectFile, []byte(fill(string(want))), output), nil
	}
	return nil, nil
}

func match(raw json.RawMessage, m Mode, output []byte) ([]Difference, error) {
	p, err := CompilePattern(raw, m)
	if err != nil {
		return nil, err
	}
	return p.Match("output", output), nil
}

func fits(schema json.RawMessage, output []byte) ([]Difference, error) {
	s, err := manifests.CompileSchema(schema)
	if err != nil {
		return nil, err
	}
	if err := s.Check(output); err != nil {
		return []Difference{{Path: "output", Expected: "what fits the schema", Got: clip(err.Error())}}, nil
	}
	return nil, nil
}

// Golden compares an output with the content of a golden file: as JSON values when
// the file is called .json, and otherwise byte by byte.
func Golden(name string, want, output []byte) []Difference {
	if path.Ext(name) == ".json" && json.Valid(output) {
		if v, err := decode(want); err == nil {
			return Pattern{literal(v)}.Match("output", output)
		}
	}
	return sameBytes(want, output)
}

func sameBytes(want, got []byte) []Difference {
	switch {
	case bytes.Equal(want, got):
		return nil
	case utf8.Valid(want) && utf8.Valid(got):
		return []Difference{OfTexts("output", string(want), string(got))}
	}
	return []Difference{{Path: "output", Expected: inBase64(want), Got: inBase64(got)}}
}

func inBase64(b []byte) string {
	return fmt.Sprintf("%d bytes, base64 %s", len(b), clip(base64.StdEncoding.EncodeToString(b[:min(len(b), maxBrief)])))
}

// GoldenFile returns what a golden file of that name holds when an output is right.
func GoldenFile(name string, output []byte) []byte {
	var b bytes.Buffer
	if path.Ext(name) == ".json" && json.Indent(&b, output, "", "  ") == nil {
		b.WriteByte('\n')
		return b.Bytes()
	}
	return output
}
