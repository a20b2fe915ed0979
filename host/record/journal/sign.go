package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// Keys is where a journal finds the keys its home signs with. Rings may change
// between two calls; each call says what holds now.
type Keys interface {
	// Keyring returns the keys; nil when none was made yet.
	Keyring(ctx context.Context) (*checkpoint.Keyring, error)
	// Make makes the first key, unless there is one.
	Make(ctx context.Context) (*checkpoint.Keyring, error)
	// Signed returns the number of an entry up to which a log is known to be
	// signed; 0 when that is not known.
	Signed(ctx context.Context, log string) (uint64, error)
	// Remember keeps that number, where who writes the journal's files cannot
	// change it alone.
	Remember(ctx context.Context, log string, n uint64) error
}

const (
	statementsName = "SIGNATURES"
	// checkpointEvery is after how many entries the signature of the head is
	// kept, and not only replaced by the next.
	checkpointEvery = 1024
)

// keyring returns the keys to commit with; nil for a journal that is not signed.
func (j *Journal) keyring(ctx context.Context) (*checkpoint.Keyring, error) {
	if j.options.Keys == nil {
		return nil, nil
	}
	r, err := j.options.Keys.Make(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the key that signs it: %w", err)
	}
	return r, nil
}

// signedUntil is the number of an entry up to which the journal is known to be
// signed; 0 for a journal of which nobody knows that.
func (j *Journal) signedUntil(ctx context.Context) (uint64, error) {
	if j.options.Keys == nil {
		return 0, nil
	}
	n, err := j.options.Keys.Signed(ctx, j.options.Log)
	if err != nil {
		return 0, fmt.Errorf("find what is known of its signatures: %w", err)
	}
	return n, nil
}

// checkKnown compares the head with what is known of it: that it was signed, up
// to some entry.
func (j *Journal) checkKnown(h head, known uint64) error {
	switch {
	case known == 0:
		return nil
	case h.Seq == 0:
		return j.sealDamage(headName, "the journal is empty, and this home had signed it up to entry %d: it was removed", known)
	case h.Seq < known:
		return j.sealDamage(headName, "the journal ends with entry %d, and this home had signed it up to entry %d: it was cut off, or replaced", h.Seq, known)
	case !h.signed():
		return j.sealDamage(headName, "it carries no signature, and this home had signed the journal up to entry %d: it was replaced by one that nobody signed", known)
	}
	return nil
}

// remember keeps that the journal is signed up to h, when nobody knows that it is
// signed at all.
func (j *Journal) remember(ctx context.Context, h head, known uint64) error {
	if known > 0 || !h.signed() || j.options.Keys == nil {
		return nil
	}
	if err := j.options.Keys.Remember(ctx, j.options.Log, h.Seq); err != nil {
		return fmt.Errorf("keep that the journal is signed: %w", err)
	}
	return nil
}

func (j *Journal) statementsPath() string { return filepath.Join(j.dir, statementsName) }

// note is the statement the head carries the signature of.
func (h head) note(origin string) ([]byte, error) {
	at, err := time.Parse(time.RFC3339Nano, h.Time)
	if err != nil {
		return nil, err
	}
	return checkpoint.Join(checkpoint.Checkpoint{Origin: origin, Seq: h.Seq, Hash: h.Hash, Time: at, After: h.After}, h.Signature)
}

// A signature is a head that was signed in this process, which need not be
// checked as long as it is there.
type signature struct {
	of head
	by checkpoint.Public
}

// signed reports whether the head carries a signature.
func (h head) signed() bool { return h.Signature != "" }

// checkSeal compares what the head says about signatures with the keys and with
// the statements. last is the entry the head names.
func (j *Journal) checkSeal(r *checkpoint.Keyring, h head, last Entry) error {
	size, err := j.statementsSize()
	switch {
	case err != nil:
		return err
	case r == nil && h.signed():
		return errors.New("it is signed, and the key to go on with is missing")
	case r == nil:
		return nil
	case !h.signed():
		return j.checkUnsigned(r, h, last, size)
	case size < h.Notes:
		return j.sealDamage(statementsName, "it ends after %d bytes, but the head was signed with %d: statements were removed", size, h.Notes)
	}
	if h == j.lastSignature.of && slices.Contains(r.Valid(), j.lastSignature.by) {
		return nil
	}
	_, err = j.openHead(r, h)
	return err
}

// SignedBy reports whether the end of the journal is signed by each of the keys
// that are given, of which there is at least one. It does not look at the entries.
func (j *Journal) SignedBy(keys ...checkpoint.Public) bool {
	h, err := j.acknowledged()
	if err != nil || !h.signed() || len(keys) == 0 {
		return false
	}
	for _, k := range keys {
		note, err := h.note(k.Name() + "/" + j.options.Log)
		if err != nil {
			return false
		}
		if _, _, err := checkpoint.Open(note, k); err != nil {
			return false
		}
	}
	return true
}

// Ready reports why nothing can be committed: the key that signs cannot be had, or
// the end of the journal is not what it signed. It is for whoever does something
// that has to be recorded afterwards. That all is well is found out once.
func (j *Journal) Ready(ctx context.Context) error {
	if j.ready.Load() {
		return nil
	}
	err := j.looksReady(ctx)
	if err != nil && ctx.Err() == nil { // another process may be writing it
		_, err = j.Commit(ctx, func() ([]Record, error) { return nil, nil }, nil)
	}
	j.ready.Store(err == nil)
	return err
}

// looksReady is Ready without the lock.
func (j *Journal) looksReady(ctx context.Context) error {
	ring, err := j.keyring(ctx)
	if err != nil {
		return err
	}
	h, err := j.readHead()
	if err != nil {
		return err
	}
	last, err := j.checkTail(h)
	if err == nil {
		_, err = j.checkSigned(ctx, ring, h, last)
	}
	return err
}

// checkSigned checks all that is known of the head's signature, and returns the
// number of an entry up to which the journal is known to be signed.
func (j *Journal) checkSigned(ctx context.Context, r *checkpoint.Keyring, h head, last Entry) (uint64, error) {
	known, err := j.signedUntil(ctx)
	if err == nil {
		err = j.checkSeal(r, h, last)
	}
	if err == nil {
		err = j.checkKnown(h, known)
	}
	return known, err
}

// openHead checks the head's signature, and says whose it is.
func (j *Journal) openHead(r *checkpoint.Keyring, h head) (checkpoint.Public, error) {
	note, err := h.note(r.Origin(j.options.Log))
	if err != nil {
		return checkpoint.Public{}, j.sealDamage(headName, "its statement cannot be read: %v", err)
	}
	_, by, err := checkpoint.Open(note, r.Valid()...)
	if err == nil {
		return by, nil
	}
	return by, j.headDamage(r, h, note, err)
}

// headDamage says what it means that the head's signature is not one of ours.
func (j *Journal) headDamage(r *checkpoint.Keyring, h head, note []byte, err error) error {
	if !errors.Is(err, checkpoint.ErrUnknownKey) {
		return j.sealDamage(headName, "its signature is not for entry %d: the end of the journal was replaced without the key", h.Seq)
	}
	if _, old, err := checkpoint.Open(note, r.All()...); err == nil {
		return j.sealDamage(headName, "entry %d is signed with a key that was retired, %s: an old state was put back, or somebody has that key", h.Seq, old)
	}
	return j.sealDamage(headName, "entry %d is signed by another key than this home's: the journal was replaced as a whole, or the home's key was (%v)", h.Seq, err)
}

// checkUnsigned is asked when the head carries no signature, which is right
// only for a journal that never had one.
func (j *Journal) checkUnsigned(r *checkpoint.Keyring, h head, last Entry, size int64) error {
	if size > 0 && !j.abandoned(h) {
		return j.sealDamage(headName, "it carries no signature, but the journal was signed before: the signature was removed, and the end of the journal may have been replaced")
	}
	if h.Seq > 0 && last.Time.After(r.Since()) {
		return j.sealDamage(headName, "entry %d was written after the home got its key, and nothing in the journal is signed: its signatures were removed", h.Seq)
	}
	return nil
}

// abandoned reports whether the statements are one that a process wrote before
// it died, without signing a head.
func (j *Journal) abandoned(h head) bool {
	n := 0
	err := j.statements(-1, func(s statement) error {
		n++
		if s.Seq != h.Seq || s.Hash != h.Hash {
			return errEnough
		}
		return nil
	})
	return n <= 1 && (err == nil || errors.Is(err, ErrTorn))
}

func (j *Journal) sealDamage(file, format string, args ...any) error {
	return &DamageError{File: filepath.Join(j.dir, file), What: fmt.Sprintf(format, args...), Cause: ErrSignature}
}

func (j *Journal) statementsSize() (int64, error) {
	info, err := os.Stat(j.statementsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read journal %s: %w", j.dir, err)
	}
	return info.Size(), nil
}

// checkStatementsBehind looks for statements that the head does not know. A
// process that dies leaves some about entries that are there; others show that
// the end of the journal was cut off together with its head. end is the last
// entry there is.
func (j *Journal) checkStatementsBehind(h head, end uint64) error {
	size, err := j.statementsSize()
	if err != nil || size <= h.Notes {
		return err
	}
	err = j.statements(-1, func(s statement) error {
		if s.Seq > end {
			return j.sealDamage(statementsName, "entry %d was signed on %s, but the journal ends with entry %d: its end was cut off, and an older head put back", s.Seq, s.Time.Format(time.RFC3339), end)
		}
		return nil
	})
	if errors.Is(err, ErrTorn) {
		return nil // the next commit writes over it
	}
	return err
}

// sign makes done, which follows tail, a signed head. Statements that have to
// be kept are written first.
func (j *Journal) sign(r *checkpoint.Keyring, tail head, done *head, at time.Time) error {
	if r == nil {
		return nil
	}
	kept, err := j.writeDueStatements(r, tail, done.Seq)
	if err != nil {
		return err
	}
	return j.seal(r, kept, done, at)
}

// seal signs done as what follows the statements up to kept.
func (j *Journal) seal(r *checkpoint.Keyring, kept head, done *head, at time.Time) error {
	done.After, done.Notes, done.Time = kept.After, kept.Notes, at.UTC().Format(time.RFC3339Nano)
	note, err := r.Sign(checkpoint.Checkpoint{Origin: r.Origin(j.options.Log), Seq: done.Seq, Hash: done.Hash, Time: at, After: done.After})
	done.Signature = checkpoint.Signature(note)
	j.lastSignature = signature{*done, r.Current()}
	return err
}

// writeDueStatements writes the statements that are due before entry next is signed: the
// first one of all, and from time to time that of the head. It returns tail
// with the place behind them.
func (j *Journal) writeDueStatements(r *checkpoint.Keyring, tail head, next uint64) (head, error) {
	switch {
	case !tail.signed():
		c := checkpoint.Checkpoint{Seq: tail.Seq, Hash: tail.Hash}
		if tail.Seq > 0 {
			c.Adopted = checkpoint.Range{First: 1, Last: tail.Seq}
		}
		return j.addStatement(r, tail, c)
	case tail.Seq/checkpointEvery != next/checkpointEvery:
		return j.writeHeadStatement(r, tail)
	}
	return tail, nil
}

// writeHeadStatement writes the statement of a head.
func (j *Journal) writeHeadStatement(r *checkpoint.Keyring, h head) (head, error) {
	note, err := h.note(r.Origin(j.options.Log))
	if err != nil {
		return h, err
	}
	return j.writeStatement(h, note)
}

// addStatement makes a statement of what c says, and writes it behind those of h.
func (j *Journal) addStatement(r *checkpoint.Keyring, h head, c checkpoint.Checkpoint) (head, error) {
	c.Origin, c.After, c.Time = r.Origin(j.options.Log), h.After, j.options.Clock()
	note, err := r.Sign(c)
	if err != nil {
		return h, err
	}
	return j.writeStatement(h, note)
}

// writeStatement writes a note behind those that h knows, over whatever a
// process that died has left there.
func (j *Journal) writeStatement(h head, note []byte) (head, error) {
	f, err := os.OpenFile(j.statementsPath(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return h, err
	}
	line := checkpoint.Line(note)
	begun := h.Notes
	if _, err = f.WriteAt(line, begun); err == nil {
		err = f.Truncate(begun + int64(len(line)))
	}
	if err == nil && j.options.Sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && begun == 0 {
		err = j.syncDir()
	}
	h.After, h.Notes = checkpoint.Digest(note), begun+int64(len(line))
	return h, err
}

// signAdopted signs entries that were found behind a signed head, and says of
// them that nobody had.
func (j *Journal) signAdopted(r *checkpoint.Keyring, h, good head, at time.Time) (head, error) {
	if r == nil || !h.signed() {
		return good, nil
	}
	kept, err := j.writeHeadStatement(r, h)
	if err != nil {
		return good, err
	}
	kept, err = j.addStatement(r, kept, checkpoint.Checkpoint{Seq: good.Seq, Hash: good.Hash, Adopted: checkpoint.Range{First: h.Seq + 1, Last: good.Seq}})
	if err != nil {
		return good, err
	}
	return good, j.seal(r, kept, &good, at)
}

// Sign signs the end of the journal with the current key, and makes a first
// statement when there was none. It does nothing to an empty journal and to one
// whose end the current key has signed.
func (j *Journal) Sign(ctx context.Context) (err error) {
	release, err := j.lock(ctx)
	if err != nil {
		return fmt.Errorf("sign journal %s: %w", j.dir, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	r, h, last, err := j.refresh(ctx)
	if err == nil && r != nil && h.Seq > 0 {
		err = j.signAgain(r, h, last)
	}
	if err != nil {
		return fmt.Errorf("sign journal %s: %w", j.dir, err)
	}
	return nil
}

func (j *Journal) signAgain(r *checkpoint.Keyring, h head, last Entry) error {
	by, kept, err := checkpoint.Public{}, head{}, error(nil)
	if h.signed() {
		if by, err = j.openHead(r, h); err != nil || by == r.Current() {
			return err
		}
		kept, err = j.writeHeadStatement(r, h)
	} else {
		kept, err = j.writeDueStatements(r, h, h.Seq)
	}
	if err == nil {
		err = j.seal(r, kept, &h, last.Time)
	}
	if err != nil {
		return err
	}
	return j.writeHead(h)
}

// signRepaired makes the first statement of a journal that a repair made.
func (j *Journal) signRepaired(ctx context.Context, rep Repair) error {
	r, err := j.keyring(ctx)
	if err != nil || r == nil {
		return err
	}
	h, err := j.readHead()
	if err != nil {
		return err
	}
	c := checkpoint.Checkpoint{Seq: h.Seq, Hash: h.Hash, Repaired: true, Lost: rep.ranges()}
	if h.Seq > 0 {
		c.Adopted = checkpoint.Range{First: 1, Last: h.Seq}
	}
	kept, err := j.addStatement(r, head{}, c)
	if err != nil || h.Seq == 0 {
		return err
	}
	if err := j.seal(r, kept, &h, j.options.Clock()); err != nil {
		return err
	}
	return j.writeHead(h)
}

// A statement is one line of the SIGNATURES file.
type statement struct {
	checkpoint.Checkpoint
	note []byte
	line int
}

// statements reads the first size bytes of the statements, all for less than 0,
// and gives each to fn. It checks that they follow each other, and no signature.
func (j *Journal) statements(size int64, fn func(statement) error) error {
	f, err := os.Open(j.statementsPath())
	if errors.Is(err, fs.ErrNotExist) && size <= 0 {
		return nil
	}
	if err != nil {
		return &DamageError{File: j.statementsPath(), What: "the statements cannot be opened: " + err.Error(), Cause: err}
	}
	defer f.Close()
	var from io.Reader = f
	if size >= 0 {
		from = io.LimitReader(f, size)
	}
	in, after, read := bufio.NewReader(from), "", int64(0)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err == io.EOF && len(line) == 0 {
			return j.checkRead(read, size)
		}
		if err == nil {
			var s statement
			if s, err = parseStatement(line, after); err == nil {
				s.line, after = n, checkpoint.Digest(s.note)
				read += int64(len(line))
				if err = fn(s); err == nil {
					continue
				}
				return err
			}
		}
		d := &DamageError{File: j.statementsPath(), Line: n, Offset: read, What: err.Error(), Cause: ErrSignature}
		if err == io.EOF {
			d.What, d.Cause = "the line is torn", ErrTorn
		}
		return d
	}
}

func (j *Journal) checkRead(read, size int64) error {
	if size >= 0 && read != size {
		return j.sealDamage(statementsName, "it ends after %d bytes, but the head was signed with %d: statements were removed", read, size)
	}
	return nil
}

func parseStatement(line []byte, after string) (s statement, err error) {
	if s.note, err = checkpoint.ParseLine(line); err != nil {
		return s, err
	}
	if s.Checkpoint, err = checkpoint.Peek(s.note); err != nil {
		return s, err
	}
	if s.After != after {
		return s, errors.New("the statement does not follow the one before it")
	}
	return s, nil
}

// Statements gives the statements that were kept to fn, as notes. It checks
// that they follow each other, and no signature: [Journal.Verify] does.
func (j *Journal) Statements(fn func(c checkpoint.Checkpoint, note []byte) error) error {
	h, err := j.acknowledged()
	if err != nil || !h.signed() {
		return err
	}
	return j.statements(h.Notes, func(s statement) error { return fn(s.Checkpoint, bytes.Clone(s.note)) })
}
