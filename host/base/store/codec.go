package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// sep separates the parts of an engine's key. Names and keys have none.
const sep = "\x00"

func join(parts ...string) string { return strings.Join(parts, sep) }

// checkName refuses what cannot be a key, name, ID or subject.
func checkName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w %s: it is empty", ErrInvalid, what)
	case len(s) > MaxKey:
		return fmt.Errorf("%w: a %s has at most %d bytes, this one has %d", ErrTooLarge, what, MaxKey, len(s))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%w %s %q: it must be UTF-8 without control characters", ErrInvalid, what, s)
	}
	return nil
}

func checkSize(what string, b []byte) error {
	if len(b) > MaxValue {
		return fmt.Errorf("%w: a %s has at most %d bytes, this one has %d: keep it as a blob", ErrTooLarge, what, MaxValue, len(b))
	}
	return nil
}

// number is n in eight bytes that sort like n.
func number(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

func parseNumber(s string) (uint64, error) {
	if len(s) != 8 {
		return 0, fmt.Errorf("%w: a number has %d bytes", ErrDamaged, len(s))
	}
	return binary.BigEndian.Uint64([]byte(s)), nil
}

// instant is t in eight bytes that sort like t.
func instant(t time.Time) string { return number(uint64(max(0, t.UnixNano()))) }

func parseInstant(s string) (time.Time, error) {
	n, err := parseNumber(s)
	return time.Unix(0, int64(n)), err
}

// pack puts a JSON header before a body.
func pack(header any, body []byte) ([]byte, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(h)))
	return append(append(b, h...), body...), nil
}

// unpack undoes pack. The body is never nil.
func unpack(b []byte, header any) (body []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, fmt.Errorf("%w: a record has no header", ErrDamaged)
	}
	rest := b[size:]
	if err := json.Unmarshal(rest[:n], header); err != nil {
		return nil, fmt.Errorf("%w: header of a record: %w", ErrDamaged, err)
	}
	return append([]byte{}, rest[n:]...), nil
}
