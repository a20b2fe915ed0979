package audit

import (
	"bufio"
	"context"
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

// Format names the form of an export; docs/audit.md describes it.
const Format = "skillet-audit-export-1"

// exportLog is what the statement about a whole export has in the place of a
// log's name.
const exportLog = "export"

// The ends of what is exported of a log, as statements name them.
const (
	endFirst = "first"
	endLast  = "last"
)

// The names of the two parts of the audit log.
const (
	Decisions = "decisions"
	Runs      = "runs"
)

// A Log is one part of the audit log.
type Log struct {
	Name    string // as statements call it
	Journal *journal.Journal
}

// A Scope is what is exported. The zero value is everything.
type Scope struct {
	// Logs are the names of the parts; empty for all.
	Logs []string `json:"logs"`
	// Since leaves out the entries before the first one of that time or later;
	// Until those after the last one before it. The zero value leaves out nothing.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// header is the first line of an export.
type header struct {
	Format string             `json:"format"`
	Home   string             `json:"home"`
	Keys   []checkpoint.Entry `json:"keys"`
	Scope  Scope              `json:"scope"`
}

// trailer is the last line.
type trailer struct {
	Entries uint64 `json:"entries"`
	Heads   []Head `json:"heads"`
	// Statement is the note over everything before the line.
	Statement string `json:"statement"`
}

// A Head is how far one part of an export goes.
type Head struct {
	Log string `json:"log"`
	// First and Last are the numbers of its entries; Last is First-1 for none.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Hash is that of entry Last; empty when Last is 0.
	Hash string `json:"hash"`
}

// A Summary is what was exported.
type Summary struct {
	Home    string            `json:"home"`
	Key     checkpoint.Public `json:"key"`
	Entries uint64            `json:"entries"`
	Heads   []Head            `json:"heads"`
}

// An exporter writes an export.
type exporter struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines uint64
	ring  *checkpoint.Keyring
	scope Scope
	done  trailer
}

// Export verifies the logs and writes what is asked for of them to w. The same
// logs and the same scope are the same bytes. A log whose end is not signed yet
// is signed first. errors.Is finds [journal.ErrDamaged] when a log is not what
// was written; then nothing is written.
func Export(ctx context.Context, w io.Writer, keys journal.Keys, logs []Log, s Scope) (Summary, error) {
	logs, s, err := s.choose(logs)
	if err != nil {
		return Summary{}, err
	}
	ring, err := keys.Make(ctx)
	if err != nil {
		return Summary{}, fmt.Errorf("export the audit log: %w", err)
	}
	stretches := make([]stretch, len(logs))
	for i, l := range logs {
		if stretches[i], err = find(ctx, l, s); err != nil {
			return Summary{}, fmt.Errorf("export %s: %w", l.Name, err)
		}
	}
	x := &exporter{out: bufio.NewWriter(w), sum: sha256.New(), ring: ring, scope: s, done: trailer{Heads: []Head{}}}
	if err := x.write(ctx, stretches); err != nil {
		return Summary{}, fmt.Errorf("export the audit log: %w", err)
	}
	return Summary{Home: ring.Name(), Key: ring.Current(), Entries: x.done.Entries, Heads: x.done.Heads}, nil
}

// choose returns the logs of the scope, and the scope with their names.
func (s Scope) choose(logs []Log) ([]Log, Scope, error) {
	var chosen []Log
	for _, l := range logs {
		if len(s.Logs) == 0 || slices.Contains(s.Logs, l.Name) {
			chosen = append(chosen, l)
		}
	}
	if len(s.Logs) > 0 && len(chosen) != len(s.Logs) {
		return nil, s, fmt.Errorf("export the audit log: %v are not parts of it", s.Logs)
	}
	s.Since, s.Until = s.Since.UTC(), s.Until.UTC()
	s.Logs = nil
	for _, l := range chosen {
		s.Logs = append(s.Logs, l.Name)
	}
	return chosen, s, nil
}

// A position is an entry of a log, or the beginning before all.
type position struct {
	seq  uint64
	hash string
	time time.Time
}

func positionOf(e journal.Entry) position { return position{e.Seq, e.Hash, e.Time} }

// A stretch is what is exported of a log: the entries after one place, up to
// another.
type stretch struct {
	log         Log
	after, last position
	statements  []storedStatement
}

// storedStatement is a statement as it is kept.
type storedStatement struct {
	seq  uint64
	note []byte
}

// find verifies a log and looks for what the scope has of it.
func find(ctx context.Context, l Log, s Scope) (stretch, error) {
	st := stretch{log: l}
	if err := l.Journal.Sign(ctx); err != nil {
		return st, err
	}
	rep, err := l.Journal.Verify(ctx)
	if err != nil {
		return st, err
	}
	begun := false
	end := errors.New("the end")
	err = l.Journal.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Seq > rep.Head {
			return end
		}
		begun = begun || !e.Time.Before(s.Since)
		if !begun {
			st.after = positionOf(e)
		}
		if !begun || s.Until.IsZero() || e.Time.Before(s.Until) {
			st.last = positionOf(e)
		}
		if e.Seq == rep.Head && e.Hash != rep.Hash {
			return fmt.Errorf("%w: it changed while it was read", journal.ErrDamaged)
		}
		return nil
	})
	if err != nil && !errors.Is(err, end) {
		return st, err
	}
	err = l.Journal.Statements(func(c checkpoint.Checkpoint, note []byte) error {
		if c.Seq >= st.after.seq && c.Seq <= st.last.seq {
			st.statements = append(st.statements, storedStatement{c.Seq, note})
		}
		return nil
	})
	return st, err
}

func (x *exporter) write(ctx context.Context, all []stretch) error {
	if err := x.json(header{Format, x.ring.Name(), x.ring.Keys, x.scope}); err != nil {
		return err
	}
	for _, st := range all {
		if err := x.stretch(ctx, st); err != nil {
			return err
		}
	}
	note, err := x.ring.Sign(checkpoint.Checkpoint{Origin: x.ring.Origin(exportLog), Seq: x.lines, Hash: "sha256:" + hex.EncodeToString(x.sum.Sum(nil))})
	if err != nil {
		return err
	}
	x.done.Statement = string(note)
	if err := x.json(x.done); err != nil {
		return err
	}
	return x.out.Flush()
}

// stretch writes one log: a statement, entries and what was stated about them,
// a statement.
func (x *exporter) stretch(ctx context.Context, st stretch) error {
	if err := x.end(st, st.after, endFirst); err != nil {
		return err
	}
	rest := st.statements
	state := func(seq uint64) error {
		for len(rest) > 0 && rest[0].seq <= seq {
			if err := x.line(checkpoint.Line(rest[0].note)); err != nil {
				return err
			}
			rest = rest[1:]
		}
		return nil
	}
	if err := state(st.after.seq); err != nil {
		return err
	}
	at, end := st.after, errors.New("the end")
	err := st.log.Journal.Lines(ctx, st.after.seq, func(e journal.Entry, line []byte) error {
		if e.Seq > st.last.seq {
			return end
		}
		if e.Prev != at.hash {
			return fmt.Errorf("%w: it changed while it was read", journal.ErrDamaged)
		}
		at = positionOf(e)
		x.done.Entries++
		if err := x.line(line); err != nil {
			return err
		}
		return state(e.Seq)
	})
	if err != nil && !errors.Is(err, end) {
		return err
	}
	if at.hash != st.last.hash {
		return fmt.Errorf("%w: it changed while it was read", journal.ErrDamaged)
	}
	x.done.Heads = append(x.done.Heads, Head{st.log.Name, st.after.seq + 1, st.last.seq, st.last.hash})
	return x.end(st, st.last, endLast)
}

// end writes the statement at one end of a stretch.
func (x *exporter) end(st stretch, p position, which string) error {
	note, err := x.ring.Sign(checkpoint.Checkpoint{Origin: x.ring.Origin(st.log.Name), Seq: p.seq, Hash: p.hash, Time: p.time, Export: which})
	if err != nil {
		return err
	}
	return x.line(checkpoint.Line(note))
}

// json writes a line that is v.
func (x *exporter) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.line(append(b, '\n'))
}

func (x *exporter) line(b []byte) error {
	x.lines++
	x.sum.Write(b)
	_, err := x.out.Write(b)
	return err
}
