// Package redact finds the values of secrets in texts and bytes, also where
// somebody wrote them in another way: escaped for URLs, JSON, HTML or mail, in
// UTF-16 or UTF-32, in hexadecimal or base64, folded into lines, in small letters
// or capitals. What it finds the caller replaces. Every part of Skillet that keeps secrets out of something
// uses it.
//
// It cannot find a value in a form that nobody thought of: compressed,
// encrypted, reversed, in several pieces far apart.
package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Shortest is the length in bytes below which a value is not looked for: it
// would be found everywhere.
const Shortest = 4

const (
	// window is how much of a text is decoded at a time.
	window = 256 << 10
	// widest is how many bytes one byte of a value takes in what is decoded:
	// \u0026#x2d; is an escape within an escape.
	widest = 12
	// rounds is how many escapes within escapes are undone.
	rounds = 3
)

// Values are values of secrets. The zero value knows none. It is safe for
// concurrent use, and must not be copied.
type Values struct {
	mu      sync.RWMutex
	known   []string
	spelled matcher // what is looked for in the text itself
	plain   matcher // what is looked for when escapes are undone
	longest int     // spelling
}

// Add makes a value known, and reports whether it is one that is looked for: not
// when it is shorter than [Shortest].
func (v *Values) Add(value string) bool {
	if len(value) < Shortest {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if slices.Contains(v.known, value) {
		return true
	}
	v.known = append(v.known, value)
	for _, s := range spellings(value) {
		v.spelled.add(s)
		for _, p := range []string{dense(s), string(undo([]byte(s)))} {
			v.plain.add(p)
		}
		v.longest = max(v.longest, len(s), widest*len(value))
	}
	return true
}

// Margin is how far a value may reach past a place where a text is cut: with that
// much more of the text, one that stands across the cut is found. It is 0 when no
// value is known.
func (v *Values) Margin() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.longest
}

// Replace returns a text in which each value is replaced by what with returns
// for the length in bytes that it took there.
func (v *Values) Replace(text string, with func(n int) string) string {
	v.mu.RLock()
	found := v.find(text)
	v.mu.RUnlock()
	if len(found) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, s := range found {
		out.WriteString(text[at:s.from])
		out.WriteString(with(s.to - s.from))
		at = s.to
	}
	out.WriteString(text[at:])
	return out.String()
}

// span is a part of a text.
type span struct{ from, to int }

// find returns where values stand, in order.
func (v *Values) find(text string) []span {
	if len(v.known) == 0 || len(text) < Shortest {
		return nil
	}
	found := v.spelled.find(nil, text, nil)
	overlap := 2*v.longest + 64 // room for line ends, too
	for at := 0; at < len(text); at += window {
		part := text[at:min(len(text), at+window+overlap)]
		found = v.decoded(found, part, at, false)
		if strings.Contains(part, "=") {
			found = v.decoded(found, part, at, true)
		}
	}
	return join(found)
}

// decoded appends where values stand in a part of a text, which begins at at,
// when its escapes are undone, those of mail (quoted-printable) only if asked: a
// "=" stands before many values.
func (v *Values) decoded(found []span, part string, at int, mail bool) []span {
	d := &decoding{text: []byte(part)}
	for range rounds {
		next, escapes := d.undo(mail)
		first := len(found)
		found = v.plain.find(found, string(next.text), next)
		for i := first; i < len(found); i++ {
			found[i].from, found[i].to = found[i].from+at, found[i].to+at
		}
		if !escapes {
			break
		}
		d = next
	}
	return found
}

// join sorts spans and makes one of those that overlap.
func join(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// matcher finds many strings at once, in small letters and in capitals, as names of
// headers and of hosts are rewritten. Each has at least four bytes.
type matcher struct {
	first  map[[4]byte][]string
	hashes *[1 << 10]uint64 // bits of those of the first four bytes; nil for no string
}

func (m *matcher) add(s string) {
	if len(s) < Shortest {
		return
	}
	s = small(s)
	if m.first == nil {
		m.first, m.hashes = map[[4]byte][]string{}, new([1 << 10]uint64)
	}
	key := [4]byte([]byte(s[:4]))
	if slices.Contains(m.first[key], s) {
		return
	}
	m.first[key] = append(m.first[key], s)
	h := hash(s, 0)
	m.hashes[h>>6] |= 1 << (h & 63)
}

// small returns a text with the letters of ASCII in lower case, and as long as it was.
func small(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// hash is one of the four bytes at i.
func hash(s string, i int) uint16 {
	x := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
	return uint16(x * 2654435761 >> 16)
}

// find appends where the strings stand in a text, as places of what the text was
// decoded from; d is nil for a text that was not.
func (m *matcher) find(found []span, text string, d *decoding) []span {
	if m.hashes == nil {
		return found
	}
	text = small(text)
	for i := 0; i+4 <= len(text); i++ {
		if h := hash(text, i); m.hashes[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		n := 0
		for _, s := range m.first[[4]byte([]byte(text[i:i+4]))] {
			if len(s) > n && strings.HasPrefix(text[i:], s) {
				n = len(s)
			}
		}
		switch {
		case n == 0:
		case d == nil:
			found = append(found, span{i, i + n})
		default:
			found = append(found, span{d.start(i), d.end(i + n - 1)})
		}
	}
	return found
}
