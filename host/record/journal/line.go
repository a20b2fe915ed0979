package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The last member of a line, which its own hash does not cover.
const (
	hashPrefix = "sha256:"
	hashOpen   = `,"hash":"` + hashPrefix
	hashClose  = `"}` + "\n"
	hashDigits = 2 * sha256.Size
	hashMember = len(hashOpen) + hashDigits + len(hashClose)
)

// encode returns the line of the entry, whose Hash it sets.
func encode(e *Entry) ([]byte, error) { return appendLine(nil, e) }

// appendLine appends the line of the entry, whose Hash it sets: what [json.Marshal] makes of
// it, and the hash. Data must be compact.
func appendLine(b []byte, e *Entry) (line []byte, err error) {
	b = slices.Grow(b, len(e.Data)+len(e.Kind)+len(e.Actor)+len(e.Prev)+hashMember+len(spare))
	start := len(b)
	b = strconv.AppendUint(append(b, `{"seq":`...), e.Seq, 10)
	if b, err = e.Time.AppendText(append(b, `,"time":"`...)); err != nil {
		return nil, err
	}
	b = appendText(append(b, `","kind":`...), e.Kind)
	if e.Actor != "" {
		b = appendText(append(b, `,"actor":`...), e.Actor)
	}
	if len(e.Data) > 0 {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	b = appendText(append(b, `,"prev":`...), e.Prev)
	if e.More != 0 {
		b = strconv.AppendInt(append(b, `,"more":`...), int64(e.More), 10)
	}
	sum := sha256.Sum256(append(b, '}')[start:])
	b = hex.AppendEncode(append(b, hashOpen...), sum[:])
	e.Hash = hashPrefix + string(b[len(b)-hashDigits:])
	b = append(b, hashClose...)
	if n := len(b) - start; n > MaxEntry {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, MaxEntry)
	}
	return b, nil
}

// spare is as long as what a line has beside its texts.
const spare = `{"seq":18446744073709551615,"time":"2006-01-02T15:04:05.999999999Z","kind":"","actor":"","data":,"prev":"","more":9999`

// appendText appends a text as [json.Marshal] writes it.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			quoted, _ := json.Marshal(text) // it never fails for a string
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

func hashOf(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:]
}

// decode returns the entry of a line. Every byte of the line is checked
// against the hash or compared.
func decode(line []byte) (Entry, error) {
	body, sum, err := split(line)
	if err != nil {
		return Entry{}, err
	}
	if hex.EncodeToString(hashOf(body)) != sum {
		return Entry{}, errors.New("the entry does not match its hash")
	}
	var e Entry
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("the entry is not as this version writes it: %w", err)
	}
	e.Hash = hashPrefix + sum
	return e, nil
}

// begins reports whether a line that lacks its end can be one of the entry with
// that number.
func begins(line []byte, seq uint64) bool {
	want := fmt.Sprintf(`{"seq":%d,`, seq)
	n := min(len(line), len(want))
	return string(line[:n]) == want[:n]
}

// ParseLine returns the entry of a line, with its newline, as [Journal.Lines]
// gives it. Every byte of the line is checked against the hash; whether it
// follows another line is for the caller.
func ParseLine(line []byte) (Entry, error) {
	e, err := decode(line)
	if err != nil {
		return e, fmt.Errorf("read journal line: %w", err)
	}
	return e, nil
}

// split takes the hash member off a line and closes the object again.
func split(line []byte) (body []byte, sum string, err error) {
	n := len(line) - hashMember
	if n < len("{") {
		return nil, "", errors.New("the line is too short for an entry")
	}
	open, rest := line[n:n+len(hashOpen)], line[n+len(hashOpen):]
	if string(open) != hashOpen || string(rest[hashDigits:]) != hashClose {
		return nil, "", errors.New("the line does not end in a hash")
	}
	return append(bytes.Clone(line[:n]), '}'), string(rest[:hashDigits]), nil
}

// link checks that e follows the entry with that number and hash.
func link(e Entry, seq uint64, hash string) error {
	switch {
	case e.Seq != seq+1:
		return fmt.Errorf("entry %d stands where entry %d belongs", e.Seq, seq+1)
	case e.Prev != hash:
		return fmt.Errorf("entry %d does not follow the entry before it", e.Seq)
	case e.More < 0:
		return fmt.Errorf("entry %d counts %d entries after it", e.Seq, e.More)
	}
	return nil
}
