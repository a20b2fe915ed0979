package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// A Loss is a run of entries that a repair could not keep.
type Loss struct {
	First uint64 `json:"first"`          // number of the first entry that is lost
	Last  uint64 `json:"last"`           // and of the last
	What  string `json:"what,omitempty"` // what is wrong with it, as far as that can be told
}

// String says which entries are lost, and why.
func (l Loss) String() string {
	s := fmt.Sprintf("entry %d", l.First)
	if l.Last > l.First {
		s = fmt.Sprintf("entries %d to %d", l.First, l.Last)
	}
	if l.What != "" {
		s += ": " + l.What
	}
	return s
}

// A Repair is what became of a damaged journal.
type Repair struct {
	// Kept counts the entries that are as they were written.
	Kept uint64 `json:"kept"`
	// Lost are the entries that are not, in order; empty when only the head or
	// the order of files was damaged.
	Lost []Loss `json:"lost"`
	// Backup is the directory with the journal as it was; empty for
	// [PlanRepair].
	Backup string `json:"aside,omitempty"`
}

// maxLostRanges is how many losses the first statement of a repaired journal
// lists.
const maxLostRanges = 1000

// ranges are the entries that are lost, as a statement says it.
func (r Repair) ranges() []checkpoint.Range {
	var all []checkpoint.Range
	for _, l := range r.Lost[:min(len(r.Lost), maxLostRanges)] {
		all = append(all, checkpoint.Range{First: l.First, Last: l.Last})
	}
	return all
}

// PlanRepair says what [RepairDir] would keep of the journal in dir.
func PlanRepair(dir string, usable func(Entry) error) (Repair, error) {
	_, r, err := salvage(dir, usable)
	return r, err
}

// repairedSuffix ends the name of a directory in which a repair is made.
const repairedSuffix = ".repaired"

// RepairDir makes a new journal in dir of the entries of the damaged one that
// are as they were written. They keep their times, actors and data, and get new
// numbers and hashes, as the old chain is broken; the journal as it was is kept
// aside, for whoever wants to look into it. Entries of a commit of which one is
// lost are lost with it, as far as what is left tells. usable, which may be nil,
// is given each entry in order, and those it returns an error for are lost too:
// what they speak of may be. Nothing else should use the journal meanwhile.
func RepairDir(ctx context.Context, dir string, usable func(Entry) error, o Options) (Repair, error) {
	kept, r, err := salvage(dir, usable)
	if err != nil {
		return r, err
	}
	fresh := dir + repairedSuffix
	if err := os.RemoveAll(fresh); err != nil {
		return r, fmt.Errorf("repair journal %s: %w", dir, err)
	}
	if err := rewrite(ctx, fresh, kept, r, o); err != nil {
		return r, errors.Join(fmt.Errorf("repair journal %s: %w", dir, err), os.RemoveAll(fresh))
	}
	r.Backup = dir + ".aside-" + time.Now().UTC().Format("20060102-150405.000000")
	if err := os.Rename(dir, r.Backup); err != nil {
		return r, fmt.Errorf("repair journal %s: %w", dir, err)
	}
	return r, FinishRepair(dir)
}

// FinishRepair puts a repaired journal into its place, when a repair was
// interrupted between setting the old one aside and that.
func FinishRepair(dir string) error {
	_, err := os.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = os.Rename(dir+repairedSuffix, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// rewrite makes a journal of entries, and makes it durable as a whole.
// Its one signature is for all of them.
func rewrite(ctx context.Context, dir string, entries []Entry, rep Repair, o Options) error {
	sync, signing := o.Sync, o
	var now time.Time
	o.Sync, o.Keys, o.Clock = false, nil, func() time.Time { return now }
	j, err := Open(dir, o)
	if err != nil {
		return err
	}
	for len(entries) > 0 {
		n := entries[0].More + 1
		var records []Record
		for _, e := range entries[:n] {
			rec := Record{Kind: e.Kind, Actor: e.Actor}
			if e.Data != nil {
				rec.Data = e.Data
			}
			records = append(records, rec)
		}
		now = entries[0].Time
		if _, err := j.Append(ctx, records...); err != nil {
			return err
		}
		entries = entries[n:]
	}
	if _, err := j.Commit(ctx, func() ([]Record, error) { return nil, nil }, nil); err != nil { // makes the head, if nothing did
		return err
	}
	signed := &Journal{dir: dir, options: signing.orDefault()}
	if err := signed.signRepaired(ctx, rep); err != nil || !sync {
		return err
	}
	return syncFiles(dir)
}

// syncFiles makes a directory and the files in it durable.
func syncFiles(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range append([]string{"."}, names(files)...) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func names(files []os.DirEntry) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

// salvage reads every entry of a journal that is as it was written.
func salvage(dir string, usable func(Entry) error) ([]Entry, Repair, error) {
	j := &Journal{dir: dir}
	r := Repair{Lost: []Loss{}}
	h, err := j.readHead()
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, r, err
	}
	all, err := j.segments()
	if err != nil {
		return nil, r, err
	}
	s := salvager{head: h, why: map[uint64]string{}}
	for _, seg := range all {
		b, err := os.ReadFile(seg.path)
		if err != nil {
			s.note = fmt.Sprintf("%s cannot be read: %v", filepath.Base(seg.path), err)
			continue
		}
		s.read(filepath.Base(seg.path), b)
	}
	s.unlink()
	s.wholeCommits()
	s.drop(usable)
	r.Kept, r.Lost = uint64(len(s.entries)), s.losses()
	return s.entries, r, nil
}

// A salvager collects entries that are as they were written.
type salvager struct {
	head    head // zero when it cannot be read
	entries []Entry
	note    string            // what was wrong since the last entry
	why     map[uint64]string // what is wrong with an entry, by its number
}

// read takes the entries of a segment. Where a line is damaged it goes on with
// the next, and where the end of a line is, with what follows it.
func (s *salvager) read(name string, b []byte) {
	for offset := 0; offset < len(b); {
		e, n, ok := first(b[offset:])
		if ok {
			s.take(e)
		} else {
			s.note = fmt.Sprintf("%s is damaged at byte %d", name, offset)
		}
		offset += n
	}
}

// first finds the entry at the beginning of b, and how many bytes it takes with
// its line's end. When there is none, n leads to where the next may begin.
func first(b []byte) (e Entry, n int, ok bool) {
	line := len(b)
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		line = i + 1
	}
	near := b[:min(len(b), line+hashMember, MaxEntry)]
	for from := 0; from < len(near); {
		i := bytes.Index(near[from:], []byte(hashOpen))
		if i < 0 {
			break
		}
		end := from + i + hashMember // behind the line feed, or what became of it
		if end <= len(b)+1 {
			if e, err := decode(append(bytes.Clone(b[:end-1]), '\n')); err == nil {
				if end <= len(b) && b[end-1] == lineOpen[0] { // the line feed is gone
					end--
				}
				return e, min(end, len(b)), true
			}
		}
		from += i + 1
	}
	if i := bytes.Index(b[1:line], []byte(lineOpen)); i >= 0 {
		return e, 1 + i, false
	}
	return e, line, false
}

// lineOpen begins every line.
const lineOpen = `{"seq":`

// take keeps an entry that was acknowledged and is not there already.
func (s *salvager) take(e Entry) {
	if s.head.Seq > 0 && e.Seq > s.head.Seq || len(s.entries) > 0 && e.Seq <= s.entries[len(s.entries)-1].Seq {
		return
	}
	if s.note != "" {
		s.why[e.Seq-1], s.note = s.note, ""
	}
	s.entries = append(s.entries, e)
}

// unlink drops entries that the one after them, or the head, does not know:
// they were changed together with their own hash.
func (s *salvager) unlink() {
	var next Entry // the one after, when it is kept
	for i, e := range slices.Backward(s.entries) {
		want, known := s.head.Hash, e.Seq == s.head.Seq
		if next.Seq == e.Seq+1 {
			want, known = next.Prev, true
		}
		if next = e; known && want != e.Hash {
			s.why[e.Seq] = "it was changed together with its hash"
			s.entries, next = slices.Delete(s.entries, i, i+1), Entry{}
		}
	}
}

// wholeCommits drops what is left of commits that are not whole, as far as what
// is left tells.
func (s *salvager) wholeCommits() {
	var kept []Entry
	until := uint64(0) // the last entry of a commit that is not whole
	for i := 0; i < len(s.entries); {
		e := s.entries[i]
		if e.Seq <= until || !s.whole(i) {
			until = max(until, e.Seq+uint64(max(e.More, 0)))
			i++
			continue
		}
		kept = append(kept, s.entries[i:i+e.More+1]...)
		i += e.More + 1
	}
	s.entries = kept
}

// whole reports whether all entries are there of the commit that begins with
// entry i.
func (s *salvager) whole(i int) bool {
	e := s.entries[i]
	if e.More < 0 || i+e.More >= len(s.entries) {
		return false
	}
	for k := 1; k <= e.More; k++ {
		if o := s.entries[i+k]; o.Seq != e.Seq+uint64(k) || o.More != e.More-k {
			return false
		}
	}
	return true
}

// drop takes out the commits that are of no use: one entry of them is not.
func (s *salvager) drop(usable func(Entry) error) {
	if usable == nil {
		return
	}
	var kept []Entry
	for i := 0; i < len(s.entries); {
		commit := s.entries[i : i+s.entries[i].More+1]
		i += len(commit)
		if s.useful(commit, usable) {
			kept = append(kept, commit...)
		}
	}
	s.entries = kept
}

func (s *salvager) useful(commit []Entry, usable func(Entry) error) bool {
	for _, e := range commit {
		if err := usable(e); err != nil {
			s.why[e.Seq] = err.Error()
			return false
		}
	}
	return true
}

// losses are the gaps between the entries that were kept, a new one wherever
// something else is wrong.
func (s *salvager) losses() []Loss {
	lost, next := []Loss{}, uint64(1)
	gap := func(to uint64) {
		for ; next < to; next++ {
			what := s.why[next]
			if n := len(lost); n > 0 && lost[n-1].Last == next-1 && (what == "" || lost[n-1].What == "") {
				lost[n-1].Last, lost[n-1].What = next, lost[n-1].What+what
				continue
			}
			lost = append(lost, Loss{next, next, what})
		}
	}
	for _, e := range s.entries {
		gap(e.Seq)
		next = e.Seq + 1
	}
	if s.note != "" && s.head.Seq >= next {
		s.why[s.head.Seq] = s.note
	}
	gap(s.head.Seq + 1)
	return lost
}
