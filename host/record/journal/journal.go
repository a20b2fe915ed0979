// Package journal is an append-only, hash-chained record on disk: the one
// truth about decisions, from which state can be rebuilt. Several processes
// may have one journal open; [Journal.Commit] lets them decide one at a time.
//
// It refuses to know what the entries mean and what state follows from them, and
// where its keys are kept. Without keys the chain shows damage and careless
// edits, but whoever can write the files can also write another, consistent
// journal. With keys ([Options]) that takes the key.
//
// # Files
//
// A journal is a directory, mode 0700:
//
//	LOCK                        held by the process that commits
//	HEAD                        the last acknowledged entry, 512 bytes
//	00000000000000000001.jsonl  a segment, named by the number of its first entry
//	SIGNATURES                  signed statements that are kept, one a line
//
// A segment has one entry a line. A line is a JSON object that ends in the
// member "hash": SHA-256 (FIPS 180-4) over the bytes of the same object
// without that member, of which "prev" is the hash of the entry before. So
// every byte of a line is covered, and each line covers all lines before it.
// "more" counts the entries of the same commit that follow: a commit is there
// as a whole or not at all.
//
// HEAD is written after the segment, in place, and is what acknowledges a
// commit: a journal that ends before its head was shortened. What lies behind
// the head was never acknowledged, or only as surviving the death of the process
// (see [Options]). The next commit adopts what is complete of
// it and cuts what is torn. A full disk or a power cut can leave a HEAD without
// its bytes only where there was none before: without entries that is an empty
// journal, with entries it is damage.
//
// # Signatures
//
// A signed journal's HEAD carries the signature of a statement (package
// checkpoint) over the number, hash and time of its entry. As each entry covers
// all before it, this one signature is for the whole journal, and costs no file
// and no sync of its own. It is replaced with each commit; from time to time, and
// whenever there is more to say than "up to here", a statement is kept in
// SIGNATURES. Each has the digest of the one before it, and the head has that of
// the last, so none can be taken away.
//
// Commits that are written together have one time, and one signature.
//
// A commit checks the signature it is about to replace: what was not signed here
// is never signed over. Who has an old copy of all files can put it back; only
// somebody who remembers a later signature can tell.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/internal/histogram"
)

// Entry is one record of the journal.
type Entry struct {
	Seq   uint64          `json:"seq"`  // 1 for the first entry, without gaps
	Time  time.Time       `json:"time"` // when it was committed, UTC
	Kind  string          `json:"kind"`
	Actor string          `json:"actor,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"` // compact JSON; nil when the record had none
	Prev  string          `json:"prev"`           // hash of the entry before; "" for the first
	More  int             `json:"more,omitempty"` // entries of the same commit that follow
	Hash  string          `json:"hash,omitempty"` // "sha256:" and 64 hexadecimal digits
}

// Record is what an entry is made of.
type Record struct {
	Kind  string // what happened; never empty
	Actor string // who did it; may be empty
	Data  any    // marshalled to JSON; nil for none
}

// MaxEntry is the largest size of an entry's line in bytes.
const MaxEntry = 4 << 20

// Options are the settings of a journal. The zero value is ready to use.
type Options struct {
	// Sync makes Commit return only after the entries are on the disk, so that
	// they survive a power cut. Without it they survive the death of the
	// process, and a power cut may leave the journal shorter than its head.
	Sync bool
	// SegmentBytes is the size above which a new segment is begun; zero means
	// 16 MiB.
	SegmentBytes int64
	// Window is how long what [Journal.Append] writes may wait to be signed, synced and
	// acknowledged together with what follows it: see there. Zero is for nothing waits.
	Window time.Duration
	// LockWait is how long a commit waits for another process's; zero means as
	// long as its context lives. Then errors.Is finds [filelock.ErrHeld].
	LockWait time.Duration
	// Clock gives the time of the entries; nil means time.Now.
	Clock func() time.Time
	// Keys are the keys of the home, with which each commit signs the end of the
	// journal; nil leaves it unsigned. An unsigned journal that gets keys is signed
	// from its next commit on, and says of the entries it has that they were
	// adopted. Log is what statements call the journal: "decisions".
	Keys Keys
	Log  string
}

const defaultSegmentBytes = 16 << 20

func (o Options) orDefault() Options {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.LockWait <= 0 {
		o.LockWait = -1
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Journal is an open journal. It is safe for concurrent use. Between calls it holds
// neither a lock nor an open file, except for up to [Options.Window] after an Append.
type Journal struct {
	dir           string
	options       Options
	turn          chan struct{} // holds one token: the right to commit in this process
	lastSignature signature     // the last one made here; for whoever holds the token
	ready         atomic.Bool   // what [Journal.Ready] found

	groups groups
	queue  *queue
	window *window     // nil for none; for whoever holds the token
	open   atomic.Bool // whether there is a window
}

// Open returns the journal in dir, which is made when it does not exist. It
// takes no lock and reads nothing: damage shows with the first use.
func Open(dir string, o Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	j := &Journal{dir: dir, options: o.orDefault(), turn: make(chan struct{}, 1), queue: newQueue(), groups: groups{sizes: histogram.New(0, 2)}}
	j.turn <- struct{}{}
	return j, nil
}

// Head returns the number and hash of the last acknowledged entry: 0 and ""
// for an empty journal. It reads the head only: [Journal.Replay] tells
// whether the entries are there. errors.Is(err, [ErrDamaged]) when the head is
// missing or altered.
func (j *Journal) Head() (seq uint64, hash string, err error) {
	h, err := j.acknowledged()
	return h.Seq, h.Hash, err
}

// segment is one file of entries.
type segment struct {
	first uint64 // number of its first entry, which names it
	path  string
}

const segmentExt = ".jsonl"

func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentExt) }

func (j *Journal) segment(first uint64) segment {
	return segment{first: first, path: filepath.Join(j.dir, segmentName(first))}
}

// segments lists the segment files in order.
func (j *Journal) segments() ([]segment, error) {
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", j.dir, err)
	}
	var all []segment
	for _, f := range files {
		if first, ok := parseSegmentName(f); ok {
			all = append(all, j.segment(first))
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func parseSegmentName(f fs.DirEntry) (first uint64, ok bool) {
	digits, isSegment := strings.CutSuffix(f.Name(), segmentExt)
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, isSegment && err == nil && segmentName(first) == f.Name() && f.Type().IsRegular()
}

// ErrDamaged means that the journal is not what was written. The error is a
// [*DamageError], which says where.
var ErrDamaged = errors.New("journal is damaged")

// ErrTorn means that acknowledged entries are missing from the end: the
// journal was shortened. Such an error is [ErrDamaged] as well.
var ErrTorn = errors.New("acknowledged entries are missing from the end")

// ErrTooLarge means that a record's line exceeds [MaxEntry].
var ErrTooLarge = errors.New("journal entry is too large")

// DamageError says where a journal is damaged. errors.Is finds [ErrDamaged]
// in it, and its Cause.
type DamageError struct {
	File   string `json:"file"`           // path of the segment or head
	Line   int    `json:"line,omitempty"` // line in the file, from 1; 0 when it is not about a line
	Offset int64  `json:"offset"`         // byte at which the line begins
	What   string `json:"what"`           // what is wrong
	Cause  error  `json:"-"`              // [ErrTorn] or an error of the system; may be nil
}

// Error names the file, the line and the byte, and says what is wrong.
func (e *DamageError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s line %d (byte %d)", e.File, e.Line, e.Offset)
	}
	return fmt.Sprintf("journal is damaged: %s: %s", where, e.What)
}

// Is reports whether target is [ErrDamaged].
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }
