package memory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Limits of an import.
const (
	// MaxLine is how many bytes one line may have: more than any record.
	MaxLine = 8*MaxText + (MaxTags+MaxMetadata)*8*(MaxTag+MaxValue)
	// MaxImport is how many bytes all lines may have.
	MaxImport = 256 << 20
)

// Export writes the records that f selects as lines of JSON, oldest change first, and
// returns how many. Embeddings are not among it.
func (m *Memory) Export(ctx context.Context, w io.Writer, f Filter) (n int, err error) {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, h := range m.catalog.pick(func(_ string, h *head) bool { return f.takes(h) }, oldestFirst) {
		r, _, err := m.read(ctx, h.id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil {
			err = out.Encode(r)
		}
		if err != nil {
			return n, fmt.Errorf("export memories: %w", err)
		}
		n++
	}
	return n, nil
}

// An Imported says what an import did.
type Imported struct {
	Added    int `json:"added"`
	Replaced int `json:"replaced"`
	// Known are records that were there already and stay as they are.
	Known int `json:"known"`
}

// Import adds records that [Memory.Export] wrote, with their IDs, times and counts.
// Every line is checked before anything is stored: an unknown field, a broken rule or
// a limit refuses all of them, with the number of the line. A record whose ID is there
// stays, or is replaced when replace says so and the other was updated later. Errors
// wrap [ErrInvalid], [ErrFull] or those of the store.
func (m *Memory) Import(ctx context.Context, from io.Reader, replace bool) (Imported, error) {
	records, err := readLines(from, time.Now())
	if err != nil {
		return Imported{}, fmt.Errorf("import memories: %w", err)
	}
	var done Imported
	var added, replaced []Record
	for _, r := range records {
		h, known := m.catalog.get(r.ID)
		switch {
		case !known:
			added = append(added, r)
		case replace && r.Updated.After(h.updated):
			replaced = append(replaced, r)
		default:
			done.Known++
		}
	}
	if n := m.catalog.len(); n+len(added) > m.settings.MaxRecords {
		return Imported{}, fmt.Errorf("import memories: %w: it has %d of %d records, and %d would come", ErrFull, n, m.settings.MaxRecords, len(added))
	}
	if done.Added, err = m.restore(ctx, added, store.MustNotExist); err == nil {
		done.Replaced, err = m.restore(ctx, replaced, store.AnyRevision)
	}
	if err != nil {
		return done, fmt.Errorf("import memories: %w", err)
	}
	return done, nil
}

// restore stores records with their counts.
func (m *Memory) restore(ctx context.Context, records []Record, prev uint64) (int, error) {
	n, err := m.saveAll(ctx, records, prev)
	for _, r := range records[:n] {
		if prev == store.MustNotExist {
			m.catalog.recount(r.ID, r.Retrievals, r.Retrieved)
		}
	}
	return n, errors.Join(err, m.flush(ctx))
}

// readLines reads and checks what Export wrote.
func readLines(from io.Reader, now time.Time) ([]Record, error) {
	limited := &io.LimitedReader{R: from, N: MaxImport + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, MaxLine)
	var records []Record
	seen := map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		if limited.N <= 0 {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrInvalid, MaxImport)
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		r, err := readLine(lines.Bytes(), now)
		if err == nil && seen[r.ID] {
			err = fmt.Errorf("%w: the record %s is there twice", ErrInvalid, r.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		seen[r.ID] = true
		records = append(records, r)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%w: a line has more than %d bytes", ErrInvalid, MaxLine)
	}
	return records, lines.Err()
}

// maxCount is how often a record of elsewhere can have been found.
const maxCount = 1 << 40

// readLine reads a record. What it says of revisions is of another store and does not
// count here: otherwise a line could have records deleted.
func readLine(line []byte, now time.Time) (Record, error) {
	var r Record
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("%w: there is something behind the record", ErrInvalid)
	}
	for i := range r.Sources {
		if !isID(r.Sources[i].ID) {
			return r, fmt.Errorf("%w: a source %q is not an ID", ErrInvalid, clip(r.Sources[i].ID))
		}
		r.Sources[i].Revision = 0
	}
	switch {
	case !isID(r.ID):
		return r, fmt.Errorf("%w: %q is not an ID", ErrInvalid, clip(r.ID))
	case r.Created.IsZero() || r.Updated.Before(r.Created) || r.Updated.After(now) || r.Retrieved.After(now):
		return r, fmt.Errorf("%w: created %s and updated %s cannot be", ErrInvalid, r.Created, r.Updated)
	case len(r.Sources) > maxSources || r.Retrievals > maxCount:
		return r, fmt.Errorf("%w: %d sources and %d retrievals; at most %d and %d", ErrInvalid, len(r.Sources), r.Retrievals, maxSources, maxCount)
	}
	return r, r.check()
}
