package main

import (
	"strings"
	"unicode"
)

// infoReply is the output of pdf_info: the document information dictionary
// (ISO 32000-1, 14.3.3) and what else is at hand. Absent entries are left out.
type infoReply struct {
	PageCount int    `json:"page_count"`
	Version   string `json:"version"`
	Encrypted bool   `json:"encrypted"`
	Tagged    bool   `json:"tagged"`
	Title     string `json:"title,omitempty"`
	Author    string `json:"author,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Keywords  string `json:"keywords,omitempty"`
	Creator   string `json:"creator,omitempty"`
	Producer  string `json:"producer,omitempty"`
	Created   string `json:"created,omitempty"`
	Modified  string `json:"modified,omitempty"`
	Language  string `json:"language,omitempty"`
}

func pdfInfo(in source) (infoReply, error) {
	data, err := in.bytes()
	if err != nil {
		return infoReply{}, err
	}
	doc, err := open(data, in.Password, &work{left: maxWork})
	if err != nil {
		return infoReply{}, refuse(err, in.Password)
	}
	return doc.info(), nil
}

func (d *document) info() infoReply {
	trailer, catalog := d.objects.trailer, d.catalog()
	entries := d.dict(trailer["Info"])
	version := d.version
	if later := d.name(catalog["Version"]); later > version {
		version = later
	}
	marked, _ := d.resolve(d.dict(catalog["MarkInfo"])["Marked"]).(bool)
	return infoReply{
		PageCount: len(d.pages()),
		Version:   version,
		Encrypted: trailer["Encrypt"] != nil,
		Tagged:    marked,
		Title:     d.property(entries["Title"]),
		Author:    d.property(entries["Author"]),
		Subject:   d.property(entries["Subject"]),
		Keywords:  d.property(entries["Keywords"]),
		Creator:   d.property(entries["Creator"]),
		Producer:  d.property(entries["Producer"]),
		Created:   date(d.property(entries["CreationDate"])),
		Modified:  date(d.property(entries["ModDate"])),
		Language:  d.property(catalog["Lang"]),
	}
}

// maxProperty bounds one entry in bytes.
const maxProperty = 4096

// property returns a text string as one line.
func (d *document) property(o object) string {
	s := d.str(o)
	text := strings.Map(printableRune, textString(s[:min(len(s), maxProperty)]))
	return strings.Join(strings.Fields(text), " ")
}

func printableRune(r rune) rune {
	if unicode.IsControl(r) || r == unicode.ReplacementChar {
		return ' '
	}
	return r
}

// date turns a PDF date (ISO 32000-1, 7.9.4), D:YYYYMMDDHHmmSSOHH'mm', into
// RFC 3339 as far as it goes; other text stays as it is.
func date(s string) string {
	digits, ok := strings.CutPrefix(s, "D:")
	if !ok || len(digits) < 4 {
		return s
	}
	n := 0
	for n < len(digits) && n < 14 && isDigit(digits[n]) {
		n++
	}
	zone := strings.ReplaceAll(strings.TrimSuffix(digits[n:], "'"), "'", ":")
	return stamp(digits[:n], zone)
}

// stamp puts the separators between the digits of a date.
func stamp(digits, zone string) string {
	const seconds = len("YYYYMMDDHHmmSS")
	var b strings.Builder
	before := map[int]string{4: "-", 6: "-", 8: "T", 10: ":", 12: ":"}
	for i := range digits {
		b.WriteString(before[i])
		b.WriteByte(digits[i])
	}
	if len(digits) == seconds {
		b.WriteString(strings.TrimSuffix(strings.TrimSuffix(zone, ":00:00"), ":"))
	}
	return b.String()
}
