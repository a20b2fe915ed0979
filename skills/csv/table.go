package main

import (
	"strconv"
	"strings"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// format is how a text is to be read; every tool takes it.
type format struct {
	text       string
	delimiter  string
	header     *bool
	lazyQuotes bool
}

// table is a text taken apart.
type table struct {
	columns   []string
	rows      [][]string
	delimiter rune
	ragged    int // rows that have more or fewer fields than there are columns
}

// load reads the whole text. Without a header the columns are called column_1,
// column_2 and so on. Short rows stay short: see cell.
func (f format) load() (*table, error) {
	text := strings.TrimPrefix(f.text, "\ufeff")
	comma, err := delimiter(f.delimiter, text)
	if err != nil {
		return nil, err
	}
	t := &table{delimiter: comma}
	r := reader(text, comma, f.lazyQuotes)
	for {
		record, more, err := next(r)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		t.rows = append(t.rows, record)
	}
	t.takeHeader(f.header == nil || *f.header)
	return t, nil
}

// takeHeader names the columns and counts the rows that do not fit them.
func (t *table) takeHeader(present bool) {
	var names []string
	if present && len(t.rows) > 0 {
		names, t.rows = t.rows[0], t.rows[1:]
	}
	width := len(names)
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	t.columns = columnNames(names, width)
	for _, row := range t.rows {
		if len(row) != width {
			t.ragged++
		}
	}
}

// columnNames makes the names of all columns: what the header says, a number
// where it says nothing, and a suffix where it says something twice.
func columnNames(header []string, width int) []string {
	names := make([]string, width)
	taken := make(map[string]bool, width)
	suffix := make(map[string]int)
	for i := range names {
		name := "column_" + strconv.Itoa(i+1)
		if i < len(header) && strings.TrimSpace(header[i]) != "" {
			name = strings.TrimSpace(header[i])
		}
		for base := name; taken[name]; {
			suffix[base]++
			name = base + "_" + strconv.Itoa(suffix[base]+1)
		}
		taken[name], names[i] = true, name
	}
	return names
}

// column returns the index of a column by its name.
func (t *table) column(field, name string) (int, error) {
	for i, have := range t.columns {
		if have == name {
			return i, nil
		}
	}
	return 0, skill.Errorf(skill.Invalid, "%s: no column %q: there are %s", field, name, quoted(t.columns))
}

// quoted lists names for a message, the first ten of them.
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), 10)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	if len(names) > 10 {
		b.WriteString(" and " + strconv.Itoa(len(names)-10) + " more")
	}
	if len(names) == 0 {
		return "none"
	}
	return b.String()
}

// cell returns the field of a row, "" when the row is too short.
func cell(row []string, column int) string {
	if column < len(row) {
		return row[column]
	}
	return ""
}

// number reads a field as a decimal number. Names such as NaN and Inf,
// hexadecimal digits and underscores are text.
func number(field string) (float64, bool) {
	s := strings.TrimSpace(field)
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// within returns the value of an option, or its default when it is not given.
func within(name string, value *int, preset, low, high int) (int, error) {
	if value == nil {
		return preset, nil
	}
	if *value < low || *value > high {
		return 0, skill.Errorf(skill.Invalid, "%s: must be from %d to %d, not %d", name, low, high, *value)
	}
	return *value, nil
}
