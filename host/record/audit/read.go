package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
)

// ErrExport means that an export is not what was written. The error is an
// [*ExportError], which says where.
var ErrExport = errors.New("the export is not what was written")

// An ExportError says where an export is wrong. errors.Is finds [ErrExport] in
// it, and its Cause.
type ExportError struct {
	Line  uint64 `json:"line"` // from 1; the line after the last one when some are missing
	What  string `json:"what"`
	Cause error  `json:"-"`
}

// Error names the line, and says what is wrong.
func (e *ExportError) Error() string {
	return fmt.Sprintf("the export is not what was written: line %d: %s", e.Line, e.What)
}

// Is reports whether target is [ErrExport].
func (e *ExportError) Is(target error) bool { return target == ErrExport }

// Unwrap returns the cause.
func (e *ExportError) Unwrap() error { return e.Cause }

// An ExportReport is what a verified export contains.
type ExportReport struct {
	Home string `json:"home"`
	// Key signed the export; Keys counts the keys the home had until then.
	Key  checkpoint.Public `json:"key"`
	Keys int               `json:"keys"`
	// Known says that the key follows from the one the caller knows. Without it
	// the export only agrees with itself.
	Known   bool          `json:"known"`
	Scope   Scope         `json:"scope"`
	Entries uint64        `json:"entries"`
	Logs    []ExportedLog `json:"logs"`
}

// An ExportedLog is what an export has of one log.
type ExportedLog struct {
	Head
	// From and To are the times of the first and last entry; zero for none.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Adopted are entries that nobody had signed when a key signed for them, Carried
	// those that a repair took over from a damaged log, and Lost those that it could
	// not keep, by their numbers before it.
	Adopted []checkpoint.Range `json:"adopted,omitempty"`
	Carried []checkpoint.Range `json:"carried,omitempty"`
	Lost    []checkpoint.Range `json:"lost,omitempty"`
}

// maxLine is the longest line of an export.
const maxLine = journal.MaxEntry

// A reader checks an export line by line.
type reader struct {
	in      *bufio.Reader
	sum     hash.Hash
	lines   uint64 // read so far
	head    header
	keys    []checkpoint.Public
	found   ExportReport
	part    *ExportedLog // the one in hand; nil between two
	hash    string
	seq     uint64
	after   string // digest of the last statement that was kept
	ended   bool
	pending int // parts that are still to come
}

// Verify reads an export and checks every byte of it. key is the public key of
// the home, as [checkpoint.ReadPublic] reads it, the current one or one it had
// before; empty to go by the keys in the export, which is then in agreement with
// itself and nothing more. It keeps one line in memory. errors.Is(err,
// [ErrExport]) when the export is not right; errors.Is finds
// [checkpoint.ErrUnknownKey] too when it is not that key's, and
// [checkpoint.ErrKey] when key is none.
func Verify(in io.Reader, key []byte) (ExportReport, error) {
	r := &reader{in: bufio.NewReaderSize(in, 64<<10), sum: sha256.New()}
	err := r.begin(key)
	for err == nil && !r.ended {
		err = r.next()
	}
	if err == nil {
		err = r.atEnd()
	}
	return r.found, err
}

func (r *reader) wrong(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &ExportError{Line: max(r.lines, 1), What: err.Error(), Cause: errors.Unwrap(err)}
}

// line returns the next line with its newline.
func (r *reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			r.lines++
			return nil, r.wrong("it is longer than %d bytes", maxLine)
		case err == nil:
			r.lines++
			return line, nil
		case err == io.EOF:
			r.lines++
			return nil, r.wrong("the export ends here, before its last line: it was cut")
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("read the export: %w", err)
		}
	}
}

// begin reads the header, and checks that its keys follow from the one that is
// known.
func (r *reader) begin(key []byte) error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := strict(line, &r.head); err != nil {
		return r.wrong("not a header of an export: %w", err)
	}
	h := r.head
	if h.Format != Format {
		return r.wrong("the format is %q, and this is for %q", h.Format, Format)
	}
	if len(h.Keys) == 0 || len(h.Scope.Logs) == 0 {
		return r.wrong("it names no keys or no logs")
	}
	pinned := h.Keys[len(h.Keys)-1].Key
	if len(key) > 0 {
		if pinned, err = checkpoint.ReadPublic(key, h.Home); err != nil {
			return fmt.Errorf("read the public key: %w", err)
		}
	}
	last, err := checkpoint.Succession(h.Keys, pinned)
	if errors.Is(err, checkpoint.ErrUnknownKey) {
		return r.wrong("the export is %w: another home's, or one in another's name", err)
	}
	if err != nil {
		return r.wrong("%w", err)
	}
	for _, k := range h.Keys {
		if k.Key.Name() != h.Home {
			return r.wrong("key %s is not one of %s", k.Key, h.Home)
		}
		r.keys = append(r.keys, k.Key)
	}
	r.found = ExportReport{Home: h.Home, Key: last, Keys: len(h.Keys), Known: len(key) > 0, Scope: h.Scope, Logs: []ExportedLog{}}
	r.pending = len(h.Scope.Logs)
	r.sum.Write(line)
	return nil
}

// strict reads a line exactly as it is written.
func strict(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	again, err := json.Marshal(v)
	if err == nil && !bytes.Equal(append(again, '\n'), line) {
		err = errors.New("it is not in the form it was written in")
	}
	return err
}

// next reads one line after the header.
func (r *reader) next() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(line, []byte(`{"seq":`)):
		err = r.entry(line)
	case bytes.HasPrefix(line, []byte(checkpoint.LineOpen)):
		err = r.statement(line)
	case bytes.HasPrefix(line, []byte(`{"entries":`)):
		r.ended = true
		return r.trailer(line)
	default:
		err = r.wrong("neither an entry nor a checkpoint")
	}
	r.sum.Write(line)
	return err
}

func (r *reader) entry(line []byte) error {
	e, err := journal.ParseLine(line)
	switch {
	case err != nil:
		return r.wrong("%w", err)
	case r.part == nil:
		return r.wrong("entry %d stands outside of a log", e.Seq)
	case e.Seq != r.seq+1:
		return r.wrong("entry %d stands where entry %d belongs", e.Seq, r.seq+1)
	case e.Prev != r.hash:
		return r.wrong("entry %d does not follow the entry before it", e.Seq)
	}
	r.seq, r.hash = e.Seq, e.Hash
	r.found.Entries++
	if r.part.From.IsZero() {
		r.part.From = e.Time
	}
	r.part.To = e.Time
	return nil
}

func (r *reader) statement(line []byte) error {
	note, err := checkpoint.ParseLine(line)
	if err != nil {
		return r.wrong("%w", err)
	}
	c, by, err := checkpoint.Open(note, r.keys...)
	if err != nil {
		return r.wrong("the checkpoint does not hold: %w", err)
	}
	if c.Export != "" && by != r.found.Key {
		return r.wrong("the checkpoint is not signed with the key of the export")
	}
	switch c.Export {
	case endFirst:
		return r.first(c)
	case endLast:
		return r.last(c)
	}
	return r.checkStatement(c, checkpoint.Digest(note))
}

// first begins a log.
func (r *reader) first(c checkpoint.Checkpoint) error {
	i := len(r.head.Scope.Logs) - r.pending
	if r.part != nil || r.pending == 0 || c.Origin != r.found.Home+"/"+r.head.Scope.Logs[i] {
		return r.wrong("%s begins where something else belongs", c.Origin)
	}
	r.pending--
	r.part = &ExportedLog{Head: Head{Log: r.head.Scope.Logs[i], First: c.Seq + 1}}
	r.seq, r.hash, r.after = c.Seq, c.Hash, ""
	return nil
}

// last ends a log.
func (r *reader) last(c checkpoint.Checkpoint) error {
	if err := r.here(c); err != nil {
		return err
	}
	r.part.Last, r.part.Hash = r.seq, r.hash
	r.found.Logs, r.part = append(r.found.Logs, *r.part), nil
	return nil
}

// here checks that a statement is about what was read last.
func (r *reader) here(c checkpoint.Checkpoint) error {
	switch {
	case r.part == nil:
		return r.wrong("the checkpoint stands outside of a log")
	case c.Origin != r.found.Home+"/"+r.part.Log:
		return r.wrong("the checkpoint is about another log, %s", c.Origin)
	case c.Seq != r.seq || c.Hash != r.hash:
		return r.wrong("the checkpoint is for entry %d with another hash, and stands behind entry %d: entries were replaced, removed or added", c.Seq, r.seq)
	}
	return nil
}

// checkStatement checks a statement that was made when the log was written.
func (r *reader) checkStatement(c checkpoint.Checkpoint, digest string) error {
	if err := r.here(c); err != nil {
		return err
	}
	if r.after != "" && c.After != r.after {
		return r.wrong("the checkpoint does not follow the one before it")
	}
	r.after = digest
	switch {
	case c.Adopted == (checkpoint.Range{}):
	case c.Repaired:
		r.part.Carried = append(r.part.Carried, c.Adopted)
	default:
		r.part.Adopted = append(r.part.Adopted, c.Adopted)
	}
	r.part.Lost = append(r.part.Lost, c.Lost...)
	return nil
}

func (r *reader) trailer(line []byte) error {
	var t trailer
	if err := strict(line, &t); err != nil {
		return r.wrong("not a last line of an export: %w", err)
	}
	if r.part != nil || r.pending > 0 {
		return r.wrong("the export ends within a log, or without one it should have")
	}
	c, _, err := checkpoint.Open([]byte(t.Statement), r.found.Key)
	if err != nil {
		return r.wrong("the statement about the export does not hold: %w", err)
	}
	want := checkpoint.Checkpoint{Origin: r.found.Home + "/" + exportLog, Seq: r.lines - 1, Hash: "sha256:" + hex.EncodeToString(r.sum.Sum(nil))}
	if c.Origin != want.Origin || c.Seq != want.Seq || c.Hash != want.Hash {
		return r.wrong("the statement is about an export with other lines")
	}
	if t.Entries != r.found.Entries || !slices.Equal(t.Heads, r.heads()) {
		return r.wrong("it counts other entries than there are")
	}
	return nil
}

func (r *reader) heads() []Head {
	hs := []Head{}
	for _, p := range r.found.Logs {
		hs = append(hs, p.Head)
	}
	return hs
}

// atEnd checks that nothing follows the last line.
func (r *reader) atEnd() error {
	_, err := r.in.ReadByte()
	if err == io.EOF {
		return nil
	}
	r.lines++
	if err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	return r.wrong("something follows the last line")
}
