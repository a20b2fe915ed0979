package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasi"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests"
)

// Bounds on a recording, whoever wrote it.
const (
	// MaxBytes is the size of its file.
	MaxBytes = 64 << 20
	// MaxEvents is how many events it has.
	MaxEvents = 100_000
	// MaxContent is how many bytes of requests, answers and files it keeps.
	MaxContent = 32 << 20

	maxList = 10_000 // grants, preopens, arguments, ...
	maxName = 4096   // bytes of a name or path
	maxNest = 64     // objects and lists within each other
)

// Extension is the end of a recording's file name, also in a package's tests
// directory.
const Extension = ".recording.json"

var (
	// ErrFormat means that bytes are not a recording that this package reads.
	ErrFormat = errors.New("not a recording of a call")
	// ErrTooLarge means that a call cannot be recorded within the bounds.
	ErrTooLarge = errors.New("the call did more than a recording can hold")
)

// Encode writes a recording, indented. The error is ErrTooLarge when nobody
// could read it back.
func (r *Recording) Encode() ([]byte, error) {
	compact, err := plainly(r)
	if err != nil {
		return nil, fmt.Errorf("encode the recording of %s: %w", r.Ref(), err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", " "); err != nil {
		return nil, fmt.Errorf("encode the recording of %s: %w", r.Ref(), err)
	}
	b.WriteByte('\n')
	if b.Len() > MaxBytes {
		return nil, fmt.Errorf("encode the recording of %s: %w: %d bytes; at most %d", r.Ref(), ErrTooLarge, b.Len(), MaxBytes)
	}
	return b.Bytes(), nil
}

// Write writes a recording to a file that only its owner can read, whole or not
// at all.
func (r *Recording) Write(path string) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, b); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// Read reads the recording in a file, which may be a pipe. Errors: [ErrFormat], those of
// os.Open, and that of ctx.
func Read(ctx context.Context, path string) (*Recording, error) {
	f, err := openfile.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// Parse reads a recording. It refuses what a recorder does not write: members
// that nobody knows or that come twice, more than the bounds, events that are
// none or several. Errors are [ErrFormat].
func Parse(b []byte) (*Recording, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrFormat, MaxBytes)
	}
	var r Recording
	for _, step := range []func() error{
		func() error { return checkText(b) },
		func() error { return checkVersion(b) },
		func() error { return strictly(b, &r) },
		r.check,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	return &r, nil
}

// checkVersion tells a recording of another version from something else.
func checkVersion(b []byte) error {
	var v struct {
		Format *int `json:"skillet_recording"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	switch {
	case v.Format == nil:
		return errors.New("skillet_recording, the version of the format, is missing")
	case *v.Format != Format:
		return fmt.Errorf("its format has version %d, and this program reads %d", *v.Format, Format)
	}
	return nil
}

// checkText refuses what two readers could read in two ways: bytes that are not
// UTF-8, and members that come twice, but in data of host functions, which
// stands as the guest wrote it.
func checkText(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return members(d, false, 0)
}

// members reads a value and checks the objects in it. The names of open ones
// (config, fields) are anybody's; those of others differ in more than their case.
func members(d *json.Decoder, open bool, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	kind, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth > maxNest {
		return fmt.Errorf("it is nested deeper than %d levels", maxNest)
	}
	seen := map[string]bool{}
	for d.More() {
		name := ""
		if kind == '{' {
			if name, err = member(d, seen, open); err != nil {
				return err
			}
		}
		switch name {
		case "request", "answer":
			var raw json.RawMessage
			err = d.Decode(&raw)
		default:
			err = members(d, name == "config" || name == "fields", depth+1)
		}
		if err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// member reads the name of a member.
func member(d *json.Decoder, seen map[string]bool, open bool) (string, error) {
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	name, _ := t.(string) // decoders give no other names
	key := name
	if !open {
		key = strings.ToLower(name)
	}
	if seen[key] {
		return "", fmt.Errorf("the member %.100q comes twice", name)
	}
	seen[key] = true
	return name, nil
}

// check refuses what no recorder writes.
func (r *Recording) check() error {
	for _, step := range []func() error{r.checkHead, r.checkLimits, r.checkLists, r.checkEvents} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recording) checkHead() error {
	for _, d := range []manifests.Digest{r.Digest, r.Module} {
		if _, err := manifests.ParseDigest(string(d)); err != nil {
			return err
		}
	}
	for _, name := range []string{r.Skill, r.Version, r.Tool, r.Export, r.Path, r.Workspace} {
		if len(name) > maxName {
			return fmt.Errorf("a name of %d bytes; at most %d", len(name), maxName)
		}
	}
	if r.Skill == "" || r.Tool == "" || r.Export == "" {
		return errors.New("it names no skill, tool or export")
	}
	if o := r.Outcome; o.OK != (o.Error == nil) {
		return errors.New("it says that the call went well and has an error, or neither")
	}
	return nil
}

// checkLimits refuses limits that the sandbox has no use for.
func (r *Recording) checkLimits() error {
	l := r.Limits
	switch {
	case l.WallMS <= 0 || l.InputBytes <= 0 || l.OutputBytes <= 0 || l.LogBytes <= 0 || l.HostCalls <= 0 || l.Fuel == 0 || l.Fuel > 1<<62:
		return errors.New("a limit is zero or negative")
	case l.MemoryBytes == 0 || l.MemoryBytes > sandbox.MaxMemoryBytes || l.TableElems == 0 || l.TableElems > sandbox.MaxTableElems:
		return errors.New("a limit is zero, or above the maximum")
	case int64(len(r.Input)) > l.InputBytes || int64(len(r.Outcome.Output)) > l.OutputBytes:
		return errors.New("input or output are longer than the limits it names")
	}
	return nil
}

func (r *Recording) checkLists() error {
	preopens := 0
	if r.Files != nil {
		preopens = len(r.Files.Preopens)
	}
	for what, n := range map[string]int{
		"events": len(r.Events) / (MaxEvents / maxList), "grants": len(r.Grants), "arguments": len(r.Args), "settings": len(r.Config),
		"preopens": preopens, "log lines": len(r.Outcome.Logs) / 10, "denials": len(r.Outcome.Denials), "struck places": len(r.Struck) / 10,
	} {
		if n > maxList {
			return fmt.Errorf("it has more %s than a recorder writes", what)
		}
	}
	return nil
}

// checkEvents refuses events that are none, and handles of files that no event
// opened.
func (r *Recording) checkEvents() error {
	opened, content := uint32(0), 0
	for i, e := range r.Events {
		if err := e.check(&opened, r.Files != nil, r.Limits.MemoryBytes); err != nil {
			return fmt.Errorf("event %d: %w", i+1, err)
		}
		content += e.size()
	}
	if content > MaxContent {
		return fmt.Errorf("its events hold %d bytes; at most %d", content, MaxContent)
	}
	return nil
}

// check refuses events that are none. most is how much memory the guest may have,
// in bytes.
func (e Event) check(opened *uint32, files bool, most uint64) error {
	n := 0
	for _, there := range []bool{e.Call != nil, e.Clock != nil, e.Random != nil, e.File != nil} {
		if there {
			n++
		}
	}
	switch {
	case n != 1:
		return fmt.Errorf("it is %d things, and should be one of call, clock, random and file", n)
	case e.Call != nil && (e.Call.Name == "" || len(e.Call.Name) > maxName):
		return errors.New("the call has no name, or a long one")
	case e.Call != nil && (uint64(len(e.Call.AnswerBody)) > most || uint64(len(e.Call.Answer)) > most):
		return errors.New("the answer is longer than all the memory the guest may have")
	case e.Clock != nil && clockNumber(e.Clock.ID) < 0:
		return fmt.Errorf("unknown clock %.20q", e.Clock.ID)
	case e.Random != nil && len(*e.Random) > wasi.MaxRandom:
		return fmt.Errorf("more than %d bytes of randomness at once", wasi.MaxRandom)
	case e.File != nil && !files:
		return errors.New("there is a file, and no file tree")
	case e.File != nil:
		return e.File.check(opened)
	}
	return nil
}

// size is how many bytes an event keeps.
func (e Event) size() int {
	const each = 64
	switch {
	case e.Call != nil:
		return each + len(e.Call.Request) + len(e.Call.Body) + len(e.Call.Answer) + len(e.Call.AnswerBody)
	case e.Random != nil:
		return each + len(*e.Random)
	case e.File != nil:
		return each + e.File.size()
	}
	return each
}

// clockNames are those of the clocks, by their numbers in WASI.
var clockNames = [...]string{"realtime", "monotonic"}

// clockNumber is the number of a clock, -1 for none.
func clockNumber(name string) int {
	for i, n := range clockNames {
		if n == name {
			return i
		}
	}
	return -1
}
