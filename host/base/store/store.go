// Package store is the storage interface of the host: key-value entries, work
// queues, event logs, content-addressed blobs and locks. It also holds what
// every embedded engine shares: the contract written once over an ordered map
// with transactions ([Engine]), an in-memory engine ([Memory]) and a blob
// directory in the OCI image layout ([DirBlobs]).
//
// It does not interpret what is stored: no skill, no manifest, no approval. It
// promises atomicity for one call and nothing across calls, because that is
// what every backend can give: the truth of a state machine is one key, or
// the journal.
//
// # Key layout
//
// What [New] keeps in an engine. Names and keys never contain a NUL byte, so
// the separators (written as "|" here) cannot be forged:
//
//	k|$key                                 -> revision (8 bytes), value
//	q|$queue|j|$id                         -> job: JSON header, body
//	q|$queue|r|$priority $ready $id        -> "" (index of jobs by priority, then time)
//	q|$queue|d|$id                         -> dead job: JSON header, body
//	q|$queue|f|$id                         -> time the job was finished (8 bytes)
//	q|$queue|g|$time $id                   -> "" (index of finished jobs by time)
//	l|$log|$seq                            -> event: JSON header, data
//	x|$lock                                -> lock: JSON
package store

import (
	"context"
	"errors"
	"time"
)

// Errors a caller may test for with errors.Is. They come wrapped with the
// operation and its subject.
var (
	// ErrNotFound: the key or blob does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the entry was changed by someone else since it was read.
	ErrConflict = errors.New("changed by someone else")
	// ErrEmpty: the queue had nothing to hand out within the wait.
	ErrEmpty = errors.New("nothing to do")
	// ErrHeld: the lock is held by another owner.
	ErrHeld = errors.New("held by another")
	// ErrStale: the claim or lock ran out or was taken over; its holder may no
	// longer act on it.
	ErrStale = errors.New("lease lost")
	// ErrDamaged: what is on disk is not what was written. The message names
	// the place and the commands that help.
	ErrDamaged = errors.New("damaged")
	// ErrReadOnly: the store takes no writes, for the reason in the message.
	ErrReadOnly = errors.New("read-only")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrTooLarge: the key, value or blob exceeds its limit.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the key, name or digest is malformed.
	ErrInvalid = errors.New("invalid")
	// ErrDigest: the content given does not have the digest given.
	ErrDigest = errors.New("content does not match its digest")
)

// Values of the prev argument of [KV.Put] and [KV.Delete] that are not
// revisions.
const (
	// MustNotExist means that a Put succeeds only if the key does not exist.
	MustNotExist uint64 = 0
	// AnyRevision means that a Put or Delete succeeds whatever the revision is.
	AnyRevision = ^uint64(0)
)

// Limits of every implementation. Larger content belongs in [Blobs].
const (
	MaxKey   = 1024      // bytes of a key, name, job ID or subject
	MaxValue = 512 << 10 // bytes of a value, job body or event
	MaxBlob  = 1 << 30   // bytes of a blob
)

// Store is all of the state contract. It is safe for concurrent use.
type Store interface {
	// KV returns the key-value entries.
	KV() KV
	// Queue returns the queue of that name; it is created by the first Push.
	Queue(name string) Queue
	// Log returns the event log of that name; it is created by the first Append.
	Log(name string) Log
	// Blobs returns the content-addressed blobs.
	Blobs() Blobs
	// Locks returns the named locks.
	Locks() Locks
	// Close ends every Watch, Follow and waiting Pull and releases the store.
	// Later calls return ErrClosed. Closing twice is not an error.
	Close() error
}

// Entry is one key with its value.
type Entry struct {
	Key      string
	Value    []byte // nil in a Watch when the key was deleted; never nil otherwise
	Revision uint64 // rises with every write of the store, is never used twice and never 0
}

// KV holds small entries. Each write is compare-and-set on the revision of
// its key. Keys are valid UTF-8 without control characters, 1 to [MaxKey]
// bytes; values at most [MaxValue] bytes.
type KV interface {
	// Get returns the entry, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes value when the key's revision is prev (or prev is [AnyRevision], or
	// [MustNotExist] and the key does not exist) and returns the new revision;
	// otherwise ErrConflict. A nil value is stored as an empty one.
	Put(ctx context.Context, key string, value []byte, prev uint64) (revision uint64, err error)
	// Delete removes the key when its revision is prev or prev is [AnyRevision].
	// ErrNotFound when there is no such key, ErrConflict when it changed.
	Delete(ctx context.Context, key string, prev uint64) error
	// List returns the entries whose key starts with prefix, in key order.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Watch sends the current entries of prefix in key order, then every
	// change, until ctx ends or the store closes; then the channel is closed.
	// Changes of one key arrive in order and at least once; when a key changes
	// faster than the channel is read, values in between may be left out, the
	// last one never is.
	Watch(ctx context.Context, prefix string) (<-chan Entry, error)
}

// Priority orders the jobs of a queue. The zero value is the most urgent.
type Priority uint8

// The priorities: while a more urgent job is ready, no less urgent one is
// handed out.
const (
	High Priority = iota
	Normal
	Low
)

// Job is a unit of work in a queue.
type Job struct {
	ID       string        // pushing an ID again, while known, adds no second job
	Priority Priority      // zero value: High
	After    time.Duration // not handed out earlier than this after the Push; zero: at once
	Body     []byte        // at most MaxValue bytes
}

// Queue hands out jobs at least once. A claim that is neither finished nor
// extended comes back after its lease ([Delivery]).
type Queue interface {
	// Push adds the job unless its ID is waiting, claimed, dead, or was
	// finished within [Delivery.Remember].
	Push(ctx context.Context, j Job) error
	// Pull claims the most urgent ready job, the one that was ready first. It
	// waits for one up to wait (zero: not at all), then returns ErrEmpty.
	Pull(ctx context.Context, wait time.Duration) (Claim, error)
	// PullIf claims the first ready job for which take returns true. take gets each
	// ready job in order, and those that are claimed.
	// Nothing is claimed between its answer and the claim. It must be quick and
	// change nothing, and may be asked again.
	PullIf(ctx context.Context, wait time.Duration, take func(j Job, claimed []Job) bool) (Claim, error)
	// List returns the jobs that wait or are claimed, in the order in which they
	// are handed out.
	List(ctx context.Context) ([]Queued, error)
	// Remove takes a job out of the queue, whether it waits, is claimed or dead;
	// its ID is forgotten. ErrNotFound when there is none.
	Remove(ctx context.Context, id string) error
	// Dead lists the jobs that were buried or used up their attempts, by ID.
	Dead(ctx context.Context) ([]DeadJob, error)
	// Revive puts a dead job back with all its attempts. ErrNotFound when no
	// dead job has that ID.
	Revive(ctx context.Context, id string) error
}

// Queued is a job in a queue, and how it stands.
type Queued struct {
	Job
	Attempt int       // claims so far
	Ready   time.Time // when it may be handed out: of a claimed job, the end of its lease
	Claimed bool      // it has a claim, which may have run out
}

// DeadJob is a job that is not handed out any more.
type DeadJob struct {
	Job
	Attempt int       // claims it had
	At      time.Time // when it was buried
	Note    string    // as passed to Bury; empty when it used up its attempts
}

// Claim is a leased job. Once the lease has run out and the job was handed to
// someone else (or declared dead) every method returns ErrStale and changes
// nothing.
type Claim interface {
	Job() Job
	// Attempt is 1 for the first claim of a job.
	Attempt() int
	// TakenOver says that the claim before this one ran out: its work may
	// have been done in part.
	TakenOver() bool
	// Extend starts the lease anew.
	Extend(ctx context.Context) error
	// Done removes the job.
	Done(ctx context.Context) error
	// Retry gives the job back, to be handed out not earlier than after; on
	// the last attempt the job becomes dead instead.
	Retry(ctx context.Context, after time.Duration) error
	// Release gives the job back as if it had not been claimed, to be handed out
	// not earlier than after.
	Release(ctx context.Context, after time.Duration) error
	// Bury makes the job dead whatever attempts are left; note says why, at most
	// MaxKey bytes of it are kept.
	Bury(ctx context.Context, note string) error
}

// Event is one entry of a log.
type Event struct {
	Seq     uint64    // rises strictly within a log, with gaps; never 0
	Time    time.Time // when it was appended, UTC
	Subject string
	Data    []byte
}

// Log is an append-only sequence of events. Its sequence numbers serve as
// event ids, so a reader resumes anywhere.
type Log interface {
	// Append adds an event and returns its sequence number.
	Append(ctx context.Context, subject string, data []byte) (seq uint64, err error)
	// Read returns up to limit events with a sequence number above after whose
	// subject starts with prefix. A limit of zero or less means no limit.
	Read(ctx context.Context, prefix string, after uint64, limit int) ([]Event, error)
	// Follow sends the events Read would return and every later one, each
	// once and in order, until ctx ends or the store closes; then the channel
	// is closed.
	Follow(ctx context.Context, prefix string, after uint64) (<-chan Event, error)
	// Trim removes the events with a sequence number of at most through.
	Trim(ctx context.Context, through uint64) error
}

// Blobs holds content by its digest, "sha256:" and 64 lower-case hexadecimal
// digits.
type Blobs interface {
	// Put stores content. It returns ErrDigest when content does not have that
	// digest. Putting what is there already is not an error, and replaces a
	// damaged copy.
	Put(ctx context.Context, digest string, content []byte) error
	// Get returns the content, which is checked against the digest: ErrDamaged
	// when it does not match, ErrNotFound when there is none.
	Get(ctx context.Context, digest string) ([]byte, error)
	// Has tells whether there is content of that digest, without reading it.
	Has(ctx context.Context, digest string) (bool, error)
	// Delete removes the content; ErrNotFound when there is none.
	Delete(ctx context.Context, digest string) error
	// List returns the digests, sorted.
	List(ctx context.Context) ([]string, error)
}

// Locks gives one owner at a time a named lock. A lock that is not renewed
// within its time to live is free again.
type Locks interface {
	// Acquire takes the lock for ttl, or returns ErrHeld at once. owner is a
	// label for people; two acquisitions by one owner still exclude each other.
	Acquire(ctx context.Context, name, owner string, ttl time.Duration) (Lock, error)
}

// Lock is a lock that was acquired.
type Lock interface {
	// Fence is greater than that of every earlier holder of the lock: pass it
	// along with effects, so that those of a former holder can be refused.
	Fence() uint64
	// Renew starts the time to live anew; ErrStale when another has it, or it
	// ran out and was released.
	Renew(ctx context.Context) error
	// Release frees the lock; ErrStale as for Renew.
	Release(ctx context.Context) error
}

// Delivery says how the queues of a store hand out jobs.
type Delivery struct {
	Lease       time.Duration // time a claim is held; zero means 30 seconds
	MaxAttempts int           // claims of one job before it is dead; zero means 5
	Remember    time.Duration // time the ID of a finished job stays known; zero means 10 minutes
}

// Defaults of the zero fields of [Delivery].
const (
	DefaultLease       = 30 * time.Second
	DefaultMaxAttempts = 5
	DefaultRemember    = 10 * time.Minute
)

func (d Delivery) orDefault() Delivery {
	if d.Lease <= 0 {
		d.Lease = DefaultLease
	}
	if d.MaxAttempts <= 0 {
		d.MaxAttempts = DefaultMaxAttempts
	}
	if d.Remember <= 0 {
		d.Remember = DefaultRemember
	}
	return d
}
