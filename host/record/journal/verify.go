package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// ErrSignature means that entries may be as they should, but what is signed says
// otherwise: they were replaced, taken away, or signed by somebody else. Such an
// error is [ErrDamaged] as well.
var ErrSignature = errors.New("the journal is not what was signed")

// Signed says what of a journal is signed.
type Signed struct {
	// Key signed the end of the journal, and with it every entry before.
	Key checkpoint.Public `json:"key"`
	// From is the first entry that was signed when it was written; those before
	// were adopted.
	From uint64 `json:"from"`
	// Statements counts the statements that are kept; the head carries one more.
	Statements int `json:"statements"`
	// Adopted are entries that nobody had signed when a key signed for them.
	Adopted []Adoption `json:"adopted,omitempty"`
	// Carried are entries that a repair took over from a damaged journal. They have
	// other numbers and hashes since, so what was signed before does not cover them.
	Carried []Adoption `json:"carried,omitempty"`
	// Repairs are the times the journal was made again of what was left of a
	// damaged one, and Lost the numbers of what was not, in the damaged one.
	Repairs []time.Time        `json:"repairs,omitempty"`
	Lost    []checkpoint.Range `json:"lost,omitempty"`
}

// An Adoption is a run of entries that were found without a signature that covers them, and when.
type Adoption struct {
	checkpoint.Range
	Time time.Time `json:"time"`
}

// keysToCheck are the keys for looking only; nil when there are none.
func (j *Journal) keysToCheck(ctx context.Context) (*checkpoint.Keyring, error) {
	if j.options.Keys == nil {
		return nil, nil
	}
	r, err := j.options.Keys.Keyring(ctx)
	if err != nil {
		return nil, fmt.Errorf("verify journal %s: find the key that signs it: %w", j.dir, err)
	}
	return r, nil
}

// A verifier compares the entries of a journal with what is signed.
type verifier struct {
	journal *Journal
	ring    *checkpoint.Keyring // nil to check no signatures
	head    head
	rep     *Report
	due     []statement // about entries that are still to come
	last    Entry
}

// read reads the statements, before the entries.
func (v *verifier) read() error {
	switch {
	case v.ring == nil && v.head.signed() && v.journal.options.Keys != nil:
		return v.journal.sealDamage(headName, "it is signed, and the key that signed it is missing: it was removed")
	case v.ring == nil || !v.head.signed():
		return nil
	}
	by, err := v.journal.openHead(v.ring, v.head)
	if err != nil {
		return err
	}
	v.rep.Signed = &Signed{Key: by, From: 1}
	after := ""
	err = v.journal.statements(v.head.Notes, func(s statement) error {
		after = checkpoint.Digest(s.note)
		return v.take(s)
	})
	if err == nil && after != v.head.After {
		return v.journal.sealDamage(statementsName, "the statements are not those that were signed with the head: some were replaced")
	}
	return err
}

// take checks one statement, as far as that goes without the entries.
func (v *verifier) take(s statement) error {
	damage := func(what string) error {
		return &DamageError{File: v.journal.statementsPath(), Line: s.line, What: what, Cause: ErrSignature}
	}
	if _, _, err := checkpoint.Open(s.note, v.ring.All()...); err != nil {
		return damage(err.Error())
	}
	switch last := len(v.due) - 1; {
	case s.Origin != v.ring.Origin(v.journal.options.Log):
		return damage("the statement is about another log, " + s.Origin)
	case s.Seq > v.head.Seq:
		return damage(fmt.Sprintf("entry %d was signed, but the journal ends with entry %d: its end was cut off", s.Seq, v.head.Seq))
	case last >= 0 && s.Seq < v.due[last].Seq:
		return damage("the statement is about less than the one before it")
	}
	v.due = append(v.due, s)
	v.rep.Signed.add(s.Checkpoint)
	return nil
}

// add notes what a statement says.
func (r *Signed) add(c checkpoint.Checkpoint) {
	r.Statements++
	switch {
	case c.Adopted == (checkpoint.Range{}):
	case c.Repaired:
		r.Carried = append(r.Carried, Adoption{c.Adopted, c.Time})
	default:
		r.Adopted = append(r.Adopted, Adoption{c.Adopted, c.Time})
	}
	if c.Adopted.First == 1 {
		r.From = c.Adopted.Last + 1
	}
	if c.Repaired {
		r.Repairs, r.Lost = append(r.Repairs, c.Time), append(r.Lost, c.Lost...)
	}
}

// entry counts an entry and compares it with the statements about it.
func (v *verifier) entry(e Entry, _ []byte) error {
	if v.rep.Entries == 0 {
		v.rep.First = e.Time
	}
	for len(v.due) > 0 && v.due[0].Seq <= e.Seq {
		if s := v.due[0]; s.Seq == e.Seq && s.Hash != e.Hash {
			return &DamageError{
				File: v.journal.statementsPath(), Line: s.line, Cause: ErrSignature,
				What: fmt.Sprintf("entry %d is not the one that was signed: entries up to it were replaced", e.Seq),
			}
		}
		v.due = v.due[1:]
	}
	v.last = e
	v.rep.Entries, v.rep.Last = v.rep.Entries+1, e.Time
	return nil
}

// end is asked when all entries are right.
func (v *verifier) end(ctx context.Context) error {
	err := v.behind(ctx)
	if v.ring != nil && !v.head.signed() && err == nil {
		var size int64
		if size, err = v.journal.statementsSize(); err == nil {
			err = v.journal.checkUnsigned(v.ring, v.head, v.last, size)
		}
	}
	if err != nil && v.moved() {
		return nil
	}
	return err
}

// behind looks at what lies behind the head: a process that died may have left one
// commit, or a part of it.
func (v *verifier) behind(ctx context.Context) error {
	size, err := v.journal.statementsSize()
	signed := v.ring != nil && v.head.signed()
	if err != nil || v.rep.Unacknowledged == 0 && (!signed || size == v.head.Notes) {
		return err
	}
	all, err := v.journal.segments()
	if err != nil {
		return err
	}
	behind := slices.DeleteFunc(all, func(s segment) bool { return s.first < v.head.Segment })
	found, err := lookBehind(ctx, v.head, behind)
	if err != nil && (!errors.Is(err, ErrDamaged) || found.segments < len(behind)-1) {
		return err
	}
	if err != nil {
		err = v.journal.checkInterrupted(behind[found.segments], found.end, err)
	}
	if err != nil || !signed {
		return err
	}
	return v.journal.checkBehind(v.head, found)
}

// moved reports whether another process has committed meanwhile, so that what
// lies behind the head is not what it was.
func (v *verifier) moved() bool {
	h, err := v.journal.readHead()
	return err == nil && h != v.head
}
