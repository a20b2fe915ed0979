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

// Output is a file that is written from the description, or parts of one.
type Output struct {
	// Path is the file, from the top of the tree, with slashes.
	Path string

	// emit writes the whole file.
	emit emitter
	// parts write what stands between the marks, in order; the rest of the file is by hand.
	parts []emitter
}

// An emitter writes text from the description.
type emitter func(*Interface) ([]byte, error)

// Part says that only what stands between marks is written.
func (o Output) Part() bool { return len(o.parts) > 0 }

// The lines between which a file is generated. What stands before and after the words in a line is the
// language's comment.
const (
	beginMark = "generated from sdk/hostapi/interface.json: begin"
	endMark   = "generated from sdk/hostapi/interface.json: end"
)

// Outputs lists what is generated. A language of the SDKs is a row here and a file with its emitter.
func Outputs() []Output {
	return []Output{
		{Path: "docs/host-interface.md", emit: emitReference},
		{Path: "host/base/guestapi/functions.go", emit: emitHost},
		{Path: "sdk/go/wire.go", emit: emitGoWire},
		{Path: "sdk/go/import_wasip1.go", emit: emitGoImports},
		{Path: "sdk/go/import_other.go", emit: emitGoOther},
		{Path: "sdk/c/skillet.h", parts: []emitter{emitCWords, emitCTransfer, emitCFunctions, emitCPP}},
		{Path: "sdk/zig/skillet.zig", parts: []emitter{emitZig}},
		{Path: "sdk/rust/src/host.rs", emit: emitRust},
		{Path: "sdk/js/host.js", emit: emitJS},
		{Path: "sdk/js/host.d.ts", emit: emitJSTypes},
		{Path: "sdk/python/skillet/host.py", emit: emitPython},
		{Path: "sdk/python/skillet/host.pyi", emit: emitPythonTypes},
		{Path: "sdk/assemblyscript/skillet/host.ts", emit: emitAssemblyScript},
	}
}

// Render returns what the file has to be, given what it is now.
func (o Output) Render(api *Interface, now []byte) ([]byte, error) {
	render := o.emit
	if o.Part() {
		render = func(*Interface) ([]byte, error) { return o.splice(api, now) }
	}
	out, err := render(api)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", o.Path, err)
	}
	return out, nil
}

// splice puts the parts between the marks.
func (o Output) splice(api *Interface, now []byte) ([]byte, error) {
	var out []byte
	for _, emit := range o.parts {
		text, err := emit(api)
		if err != nil {
			return nil, err
		}
		before, rest, ok := bytes.Cut(now, []byte(beginMark))
		line, rest, okLine := bytes.Cut(rest, []byte("\n"))
		_, after, okEnd := bytes.Cut(rest, []byte(endMark))
		if !ok || !okLine || !okEnd {
			return nil, errors.New("the file has fewer lines with the two marks than there are parts")
		}
		// The end mark stands behind the same comment sign as the first one.
		sign := before[bytes.LastIndexByte(before, '\n')+1:]
		out = append(out, bytes.Join([][]byte{before, []byte(beginMark), line, []byte("\n"), text, sign, []byte(endMark)}, nil)...)
		now = after
	}
	if bytes.Contains(now, []byte(beginMark)) {
		return nil, errors.New("the file has more lines with marks than there are parts")
	}
	return append(out, now...), nil
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
