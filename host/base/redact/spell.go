package redact

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// shortestDerived is the length below which the encoding of an encoding is not
// looked for.
const shortestDerived = 8

// spellings returns a value in the ways that programs write it as a whole: as it
// is, escaped for URLs, JSON and HTML, in UTF-16 and UTF-32, and each of these in
// hexadecimal and in base64, alone or in the middle of something longer.
func spellings(value string) []string {
	escaped := escapings(value)
	all := []string{value, escapeAll(value), utf32(value, binary.LittleEndian), utf32(value, binary.BigEndian)}
	all = append(all, escaped...)
	all = append(all, encodings(value)...)
	all = append(all, separated(value, "%d", ","), separated(value, "%02x", ":"), separated(value, "%02x", "-"),
		separated(value, "0x%02x", ","))
	for _, s := range escaped {
		for _, e := range encodings(s) {
			if s != value && len(e) >= shortestDerived {
				all = append(all, e)
			}
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < Shortest })
}

// escapings returns a value escaped for what it may be a part of, and in other
// character sets.
func escapings(value string) []string {
	quoted, _ := json.Marshal(value) // a string cannot fail
	inJSON := string(quoted[1 : len(quoted)-1])
	return []string{
		url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		inJSON, strings.ReplaceAll(inJSON, "/", `\/`), html.EscapeString(value),
		strings.ReplaceAll(value, `"`, `""`), strings.ReplaceAll(value, "'", "''"), // CSV and SQL
		inUTF16(value, binary.LittleEndian), inUTF16(value, binary.BigEndian), latin1(value),
	}
}

// encodings returns a value in hexadecimal and in base64.
func encodings(value string) []string {
	b := []byte(value)
	all := []string{
		hex.EncodeToString(b),
		base64.StdEncoding.EncodeToString(b), base64.RawStdEncoding.EncodeToString(b),
		base64.URLEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b),
	}
	for shift := range 3 {
		all = append(all, inBase64(base64.RawStdEncoding, b, shift), inBase64(base64.RawURLEncoding, b, shift))
	}
	return all
}

// inBase64 returns the characters that b has in base64 when shift other bytes
// (modulo 3) stand before it and unknown ones behind: those that b alone decides.
func inBase64(enc *base64.Encoding, b []byte, shift int) string {
	text := enc.EncodeToString(append(make([]byte, shift), b...))
	first := (shift*8 + 5) / 6
	last := (shift + len(b)) * 8 / 6
	if first >= last {
		return ""
	}
	return text[first:last]
}

// escapeAll escapes every byte for a URL.
func escapeAll(s string) string { return "%" + separated(s, "%02x", "%") }

// separated writes each byte in a format, with something between them.
func separated(s, format, between string) string {
	var parts []string
	for _, c := range []byte(s) {
		parts = append(parts, fmt.Sprintf(format, c))
	}
	return strings.Join(parts, between)
}

func inUTF16(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func utf32(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, r := range s {
		b = order.AppendUint32(b, uint32(r))
	}
	return string(b)
}

// latin1 returns a text with a byte for each character, and "" where that cannot
// be.
func latin1(s string) string {
	var b []byte
	for _, r := range s {
		if r > 0xff {
			return ""
		}
		b = append(b, byte(r))
	}
	return string(b)
}
