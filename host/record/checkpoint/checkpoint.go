// Package checkpoint makes and checks the signed statements by which a home
// vouches for its logs: up to this entry, the log is this and nothing else.
//
// It is pure. It refuses to know how a log is stored, where a key is kept, and
// what is decided when a statement does not hold.
//
// # Format
//
// A statement is a signed note (C2SP signed-note), Ed25519, with one signature.
// Its text is made like a checkpoint (C2SP tlog-checkpoint):
//
//	skillet-audit-0123456789abcdef/decisions      which log of which home
//	412                                           the number of the last entry
//	Wu2b0n8m1u7b2eGmVUJ6Ui0PsdvLZ5rYzCX9q6bXbUY=  base64 of its SHA-256
//	time 2026-11-21T18:03:40.123456789Z
//	after qZk+NkcGgWq6PiVxeFDCbJzQ2J0=            digest of the statement before
//
// The hash is the one that chains the log's lines, not the root of a tree, so
// proofs about trees do not apply to it. Lines that say more may follow, in
// this order: "adopted", "repaired", "lost", "export", "next".
package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Range is a run of entries of a log, by their numbers. The zero value is
// none.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// String is "7" for one entry and "7-9" for several.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.FormatUint(r.First, 10)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// A Checkpoint is what a statement says.
type Checkpoint struct {
	// Origin names the log: "skillet-audit-0123456789abcdef/decisions".
	Origin string
	// Seq is the number of the last entry the statement covers; 0 for none.
	Seq uint64
	// Hash is the hash of that entry, "sha256:" and 64 hexadecimal digits; empty
	// when Seq is 0.
	Hash string
	// Time is that of the entry, or of the statement when it says more than a
	// number and a hash; zero for none.
	Time time.Time
	// After is the [Digest] of the statement before; empty for the first.
	After string
	// Adopted are entries that no statement covered when this one was made: they
	// were written before there was a key, or by a process that died.
	Adopted Range
	// Repaired says that the log was made again with Seq entries that were left
	// of a damaged one, and Lost which of the damaged one's entries are gone.
	Repaired bool
	Lost     []Range
	// Export is "first" or "last" at the ends of what is exported of a log; empty
	// for no such statement.
	Export string
	// Next is the text of the key that signs from now on; empty for no change.
	Next string
}

// ErrSyntax means that a text is not a statement as this package writes it.
var ErrSyntax = errors.New("not a checkpoint")

// hashPrefix begins the hashes of log lines.
const hashPrefix = "sha256:"

// Digest identifies a note: base64 of the SHA-256 over its bytes.
func Digest(note []byte) string {
	sum := sha256.Sum256(note)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Text is the text of the note, which is what is signed. It fails for a hash
// that is none.
func (c Checkpoint) Text() (string, error) {
	sum, err := c.sum()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n%s\n", c.Origin, c.Seq, base64.StdEncoding.EncodeToString(sum))
	for _, l := range c.extensions() {
		b.WriteString(l + "\n")
	}
	return b.String(), nil
}

// sum is the hash as bytes; of an empty log it is that of no bytes, as RFC 6962
// has it.
func (c Checkpoint) sum() ([]byte, error) {
	if c.Seq == 0 && c.Hash == "" {
		sum := sha256.Sum256(nil)
		return sum[:], nil
	}
	digits, ok := strings.CutPrefix(c.Hash, hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size || c.Seq == 0 {
		return nil, fmt.Errorf("write checkpoint %d: %q is not the hash of an entry", c.Seq, c.Hash)
	}
	return sum, nil
}

func (c Checkpoint) extensions() []string {
	var ls []string
	if !c.Time.IsZero() {
		ls = append(ls, "time "+c.Time.UTC().Format(time.RFC3339Nano))
	}
	if c.After != "" {
		ls = append(ls, "after "+c.After)
	}
	if c.Adopted != (Range{}) {
		ls = append(ls, "adopted "+c.Adopted.String())
	}
	if c.Repaired {
		ls = append(ls, "repaired")
	}
	for _, r := range c.Lost {
		ls = append(ls, "lost "+r.String())
	}
	if c.Export != "" {
		ls = append(ls, "export "+c.Export)
	}
	if c.Next != "" {
		ls = append(ls, "next "+c.Next)
	}
	return ls
}

// Parse reads the text of a statement. It accepts exactly what
// [Checkpoint.Text] writes; every other error is [ErrSyntax].
func Parse(text string) (Checkpoint, error) {
	var c Checkpoint
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return c, fmt.Errorf("%w: it has fewer than three lines", ErrSyntax)
	}
	sum, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil {
		return c, fmt.Errorf("%w: the hash is not base64", ErrSyntax)
	}
	if c.Seq, err = strconv.ParseUint(lines[1], 10, 64); err != nil {
		return c, fmt.Errorf("%w: %q is not a number", ErrSyntax, lines[1])
	}
	c.Origin = lines[0]
	if c.Seq > 0 {
		c.Hash = hashPrefix + hex.EncodeToString(sum)
	}
	for _, l := range lines[3 : len(lines)-1] {
		word, value, _ := strings.Cut(l, " ")
		if err := c.extend(word, value); err != nil {
			return c, fmt.Errorf("%w: %w", ErrSyntax, err)
		}
	}
	if again, err := c.Text(); err != nil || again != text {
		return c, fmt.Errorf("%w: it is not in the form it was written in", ErrSyntax)
	}
	return c, nil
}

func (c *Checkpoint) extend(word, value string) (err error) {
	switch word {
	case "time":
		c.Time, err = time.Parse(time.RFC3339Nano, value)
	case "after":
		c.After = value
	case "adopted":
		c.Adopted, err = parseRange(value)
	case "repaired":
		c.Repaired = true
	case "lost":
		var r Range
		r, err = parseRange(value)
		c.Lost = append(c.Lost, r)
	case "export":
		c.Export = value
	case "next":
		c.Next = value
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return err
}

func parseRange(text string) (r Range, err error) {
	first, last, several := strings.Cut(text, "-")
	if r.First, err = strconv.ParseUint(first, 10, 64); err != nil {
		return r, err
	}
	r.Last = r.First
	if several {
		r.Last, err = strconv.ParseUint(last, 10, 64)
	}
	return r, err
}

// Peek reads the statement of a note without looking at its signature.
func Peek(note []byte) (Checkpoint, error) {
	end := bytes.LastIndex(note, []byte("\n\n"))
	if end < 0 {
		return Checkpoint{}, fmt.Errorf("%w: it has no signature", ErrSyntax)
	}
	return Parse(string(note[:end+1]))
}
