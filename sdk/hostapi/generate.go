package hostapi

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// rfc3339 is a time as it stands in JSON.
type rfc3339 struct{ time.Time }

// Output is a file that is written from the description, or a part of one.
type Output struct {
	// Path is the file, from the top of the tree, with slashes.
	Path string
	// Part says that only the lines between the two marks are written; the rest is by hand.
	Part bool

	emit func(*Interface) ([]byte, error)
}

// The lines between which a file is generated. What stands before and after the words in a line is the
// language's comment.
const (
	beginMark = "generated from sdk/hostapi/interface.json: begin"
	endMark   = "generated from sdk/hostapi/interface.json: end"
)

// Outputs lists what is generated. A language is a row here and a file with its emitter.
func Outputs() []Output {
	return []Output{
		{Path: "docs/host-interface.md", emit: emitReference},
		{Path: "sdk/go/wire.go", emit: emitGoWire},
		{Path: "sdk/go/import_wasip1.go", emit: emitGoImports},
		{Path: "sdk/go/import_other.go", emit: emitGoOther},
	}
}

// Render returns what the file has to be, given what it is now.
func (o Output) Render(api *Interface, now []byte) ([]byte, error) {
	text, err := o.emit(api)
	if err == nil && o.Part {
		text, err = splice(now, text)
	}
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", o.Path, err)
	}
	return text, nil
}

// splice puts text between the marks.
func splice(now, text []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(now, []byte(beginMark))
	line, rest, okLine := bytes.Cut(rest, []byte("\n"))
	_, after, okEnd := bytes.Cut(rest, []byte(endMark))
	if !ok || !okLine || !okEnd {
		return nil, errors.New("the file lacks a line with each of the two marks")
	}
	// The end mark's own line may begin with a comment sign, which is that of the line with the first mark.
	sign := before[bytes.LastIndexByte(before, '\n')+1:]
	return bytes.Join([][]byte{before, []byte(beginMark), line, []byte("\n"), text, sign, []byte(endMark), after}, nil), nil
}

// Stale returns the outputs below root that are not what the description makes of them.
func Stale(root string) ([]string, error) {
	var stale []string
	err := eachOutput(root, func(o Output, now, want []byte) error {
		if !bytes.Equal(now, want) {
			stale = append(stale, o.Path)
		}
		return nil
	})
	return stale, err
}

// Generate writes the outputs below root that are stale, and returns them.
func Generate(root string) ([]string, error) {
	var written []string
	err := eachOutput(root, func(o Output, now, want []byte) error {
		if bytes.Equal(now, want) {
			return nil
		}
		written = append(written, o.Path)
		file := filepath.Join(root, filepath.FromSlash(o.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, want, 0o644)
	})
	return written, err
}

// eachOutput shows what each output is and what it should be.
func eachOutput(root string, show func(o Output, now, want []byte) error) error {
	api, err := Load()
	if err != nil {
		return err
	}
	for _, o := range Outputs() {
		now, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(o.Path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		want, err := o.Render(api, now)
		if err != nil {
			return err
		}
		if err := show(o, now, want); err != nil {
			return err
		}
	}
	return nil
}
