package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

type toJSONInput struct {
	Text       string `json:"text"`
	Delimiter  string `json:"delimiter"`
	Header     *bool  `json:"header"`
	LazyQuotes bool   `json:"lazy_quotes"`
	Types      *bool  `json:"types"`
	Limit      *int   `json:"limit"`
}

type toJSONOutput struct {
	Records   []json.RawMessage `json:"records"`
	RowCount  int               `json:"row_count"`
	Truncated bool              `json:"truncated"`
}

// toJSON turns every row into an object, its members in the order of the
// columns.
func toJSON(in toJSONInput) (toJSONOutput, error) {
	limit, err := within("limit", in.Limit, defaultRows, 0, maxRows)
	if err != nil {
		return toJSONOutput{}, err
	}
	t, err := format{in.Text, in.Delimiter, in.Header, in.LazyQuotes}.load()
	if err != nil {
		return toJSONOutput{}, err
	}
	out := toJSONOutput{Records: []json.RawMessage{}, RowCount: len(t.rows), Truncated: len(t.rows) > limit}
	w := newRecordWriter(t, in.Types == nil || *in.Types)
	for _, row := range t.rows[:min(limit, len(t.rows))] {
		out.Records = append(out.Records, w.record(row))
	}
	return out, nil
}

// recordWriter writes rows as JSON objects.
type recordWriter struct {
	columns []string
	literal []bool // columns whose fields are JSON as they stand
	typed   bool
	buf     *bytes.Buffer
	strings *json.Encoder
}

func newRecordWriter(t *table, typed bool) *recordWriter {
	w := &recordWriter{columns: t.columns, literal: make([]bool, len(t.columns)), typed: typed, buf: new(bytes.Buffer)}
	w.strings = json.NewEncoder(w.buf)
	w.strings.SetEscapeHTML(false)
	for i := range t.columns {
		w.literal[i] = typed && (t.all(i, isNumeral) || t.all(i, isBoolean))
	}
	return w
}

// all says whether every field of a column that is filled passes the test. A
// column is typed as a whole: one field that is not a number makes the others
// codes.
func (t *table) all(column int, test func(string) bool) bool {
	for _, row := range t.rows {
		if v := strings.TrimSpace(cell(row, column)); v != "" && !test(v) {
			return false
		}
	}
	return true
}

// isNumeral says whether s is a JSON number that every reader keeps exactly.
// 007 and +49 are none, and more than 15 digits are most likely an identifier.
func isNumeral(s string) bool {
	if _, ok := number(s); !ok || !json.Valid([]byte(s)) {
		return false
	}
	digits := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	return digits <= 15
}

func (w *recordWriter) record(row []string) json.RawMessage {
	w.buf.Reset()
	w.buf.WriteByte('{')
	for i, name := range w.columns {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		w.text(name)
		w.buf.WriteByte(':')
		w.value(i, cell(row, i))
	}
	w.buf.WriteByte('}')
	return bytes.Clone(w.buf.Bytes())
}

func (w *recordWriter) value(column int, field string) {
	trimmed := strings.TrimSpace(field)
	switch {
	case w.typed && trimmed == "":
		w.buf.WriteString("null")
	case w.literal[column]:
		w.buf.WriteString(strings.ToLower(trimmed))
	default:
		w.text(field)
	}
}

// text writes s as a JSON string. Encoding a string to a buffer cannot fail; the
// line feed that follows it is white space in JSON.
func (w *recordWriter) text(s string) {
	_ = w.strings.Encode(s)
}
