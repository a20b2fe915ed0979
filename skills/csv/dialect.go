package main

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// candidates are the delimiters that are looked for, the likeliest first.
const candidates = ",;\t|"

// sniffRecords is how many records at the start decide about the delimiter.
const sniffRecords = 50

// delimiter returns the character that separates the fields: the one given, or
// the one that suits the text best.
func delimiter(given, text string) (rune, error) {
	switch given {
	case "":
		return sniff(text), nil
	case `\t`:
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(given)
	if size != len(given) || strings.ContainsRune("\x00\"\r\n\ufffd", r) {
		return 0, skill.Errorf(skill.Invalid, "delimiter: must be one character and no quote or line break, not %q", given)
	}
	return r, nil
}

// sniff returns the candidate that splits most of the first records into the
// same number of fields, at least two; of equally good ones the one that gives
// more fields. It returns a comma when no candidate splits anything.
func sniff(text string) rune {
	best, bestAgree, bestFields := ',', 0, 1
	for _, c := range candidates {
		agree, fields := agreement(text, c)
		if agree > bestAgree || agree == bestAgree && fields > bestFields {
			best, bestAgree, bestFields = c, agree, fields
		}
	}
	return best
}

// agreement reads the first records with a delimiter and returns the commonest
// number of fields above one, and how many records have it.
func agreement(text string, delimiter rune) (records, fields int) {
	r := reader(text, delimiter, true)
	count := make(map[int]int)
	for range sniffRecords {
		record, err := r.Read()
		if err != nil {
			break
		}
		if n := len(record); n > 1 {
			count[n]++
		}
	}
	for n, c := range count {
		if c > records || c == records && n > fields {
			records, fields = c, n
		}
	}
	return records, fields
}

// reader returns a reader of RFC 4180 text that lets records differ in length.
func reader(text string, delimiter rune, lazy bool) *csv.Reader {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = delimiter
	r.LazyQuotes = lazy
	r.FieldsPerRecord = -1
	return r
}

// next reads one record; more is false behind the last one.
func next(r *csv.Reader) (record []string, more bool, err error) {
	record, err = r.Read()
	if err == io.EOF {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, skill.Errorf(skill.Invalid, "text: %w", err)
	}
	return record, true, nil
}
