package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// mode is what to do about bytes that are not UTF-8.
type mode int

const (
	strict mode = iota
	replace
	ignore
)

func invalidMode(option string) (mode, error) {
	modes := map[string]mode{"": strict, "strict": strict, "replace": replace, "ignore": ignore}
	m, ok := modes[option]
	if !ok {
		return strict, skill.Errorf(skill.Invalid, "errors: must be strict, replace or ignore, not %q", option)
	}
	return m, nil
}

// piece is a part of a file that is to become text.
type piece struct {
	data   []byte
	offset int64 // where in the file data begins
	last   bool  // data reaches the end of the file
	mode   mode
}

// decode returns the text of the piece and how many bytes of it were used: a
// character that the end of the piece cuts in two is left for the next one. The
// byte order mark at the start of a file is left out.
func (p piece) decode() (text string, used int, err error) {
	data := p.data
	if p.offset == 0 {
		if name := foreignEncoding(data); name != "" {
			return "", 0, fmt.Errorf("it is %s, not UTF-8: use read_bin", name)
		}
	}
	if !p.last {
		data = data[:len(data)-cutRune(data)]
	}
	used = len(data)
	if p.offset == 0 {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	switch p.mode {
	case replace:
		return strings.ToValidUTF8(string(data), "\ufffd"), used, nil
	case ignore:
		return strings.ToValidUTF8(string(data), ""), used, nil
	}
	if at := firstInvalid(data); at >= 0 {
		at += used - len(data)
		return "", 0, fmt.Errorf("byte %d is not UTF-8: set errors to replace, or use read_bin", p.offset+int64(at))
	}
	return string(data), used, nil
}

// foreignEncoding names the encoding that a byte order mark other than that of
// UTF-8 announces, or returns "".
func foreignEncoding(data []byte) string {
	marks := []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	}
	for _, m := range marks {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return m.name
		}
	}
	return ""
}

// cutRune returns how many bytes at the end of data begin a character without
// ending it; never all of data, so that reading always advances.
func cutRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n < len(data); n++ {
		tail := data[len(data)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// firstInvalid returns the index of the first byte that is not UTF-8, or -1.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
