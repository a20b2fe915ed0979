// Package report keeps the figures of one run of the benchmark, and writes
// them as a table for people and as JSON for programs. It knows nothing of how
// figures are made.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Record is one figure. In JSON a field that has no meaning for it is null
// or missing.
type Record struct {
	Section string  `json:"section"`
	Module  string  `json:"module"`
	Input   string  `json:"input"`
	Row     string  `json:"row"`
	NS      float64 `json:"ns_per_call,omitempty"`
	// Ratio is NS over that of the same call in a warm instance of wazero, for
	// sections that measured one.
	Ratio float64 `json:"ratio_to_bare_warm,omitempty"`
	// Bytes is for what is measured in memory instead of time.
	Bytes int64 `json:"bytes,omitempty"`
	// Value, Bar and Met belong to records of the section "bar": a figure that
	// was asked for, in words, and whether it was reached.
	// AtWarm is what Value would be if a call took no longer than one in a warm
	// instance of wazero, with no limits and whatever the last call left behind;
	// for ratios that are not met.
	Value  float64 `json:"value,omitempty"`
	Bar    string  `json:"bar,omitempty"`
	Met    *bool   `json:"met,omitempty"`
	AtWarm float64 `json:"value_at_bare_warm,omitempty"`
	beyond bool    // AtWarm does not meet the bar either
	// Machine is what the figure was measured on.
	Machine string `json:"machine"`
}

// A Report is what one run measured. The zero value is empty.
type Report struct {
	Machine string
	Records []Record
}

// Add takes a record, in order.
func (r *Report) Add(rec Record) {
	rec.Machine = r.Machine
	r.Records = append(r.Records, rec)
}

// Find returns the time of a row, in nanoseconds; false when it was not
// measured.
func (r *Report) Find(section, module, input, row string) (float64, bool) {
	rec, ok := r.find(section, module, input, row)
	return rec.NS, ok
}

// FindBytes returns what was measured of a row in memory; false when it was not
// measured.
func (r *Report) FindBytes(section, module, input, row string) (int64, bool) {
	rec, ok := r.find(section, module, input, row)
	return rec.Bytes, ok
}

func (r *Report) find(section, module, input, row string) (Record, bool) {
	for _, rec := range r.Records {
		if rec.Section == section && rec.Module == module && rec.Input == input && rec.Row == row {
			return rec, true
		}
	}
	return Record{}, false
}

// AddBar takes a figure that was asked for.
func (r *Report) AddBar(name, module, input string, value float64, bar string, met bool) {
	r.Add(Record{Section: "bar", Module: module, Input: input, Row: name, Value: value, Bar: bar, Met: &met})
}

// AddAtLeast takes a ratio that was asked to be least or more, and would be
// atWarm if a call took no longer than one in a warm instance; 0 when that was
// not measured.
func (r *Report) AddAtLeast(name, module, input string, value, least, atWarm float64) {
	met := value >= least
	rec := Record{Section: "bar", Module: module, Input: input, Row: name, Value: value, Bar: fmt.Sprintf(">= %gx", least), Met: &met}
	if !met && atWarm > 0 {
		rec.AtWarm, rec.beyond = atWarm, atWarm < least
	}
	r.Add(rec)
}

// Write writes the records as a JSON list, one a line, replacing the file at
// once.
func (r *Report) Write(path string) error {
	var b strings.Builder
	b.WriteString("[\n")
	for i, rec := range r.Records {
		line, err := json.Marshal(rec)
		if err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		end := ",\n"
		if i == len(r.Records)-1 {
			end = "\n"
		}
		b.Write(line)
		b.WriteString(end)
	}
	b.WriteString("]\n")
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	if err := os.WriteFile(part, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Bars is the table of all bars: one line for each name and module.
func (r *Report) Bars() string {
	t := Table{Head: []string{"asked for", "bar", "module", "input", "measured", ""}}
	met, all, beyond := 0, 0, 0
	for _, rec := range r.Records {
		if rec.Met == nil {
			continue
		}
		all++
		word := "not met"
		switch {
		case *rec.Met:
			word = "met"
			met++
		case rec.beyond:
			word = "not met: a warm instance would reach " + Number(rec.AtWarm)
			beyond++
		}
		t.Rows = append(t.Rows, []string{rec.Row, rec.Bar, rec.Module, rec.Input, Number(rec.Value), word})
	}
	text := t.String() + fmt.Sprintf("%d of %d bars met", met, all)
	if beyond > 0 {
		text += fmt.Sprintf("; %d ask for more than a warm instance of wazero reaches", beyond)
	}
	return text + "\n"
}

// A Table is text in columns: words are set left, figures right. Rows may be
// shorter than the head.
type Table struct {
	Head []string
	Rows [][]string
}

// String is the table with a line for each row.
func (t Table) String() string {
	widths := make([]int, len(t.Head))
	lines := append([][]string{t.Head}, t.Rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if t.left(i) {
				text += cell + pad + "  "
			} else {
				text += pad + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// left says whether a column holds words: whether a cell of it starts with a
// letter.
func (t Table) left(column int) bool {
	for _, row := range t.Rows {
		if column >= len(row) {
			continue
		}
		if cell := row[column]; cell != "" && (cell[0] >= 'a' && cell[0] <= 'z' || cell[0] == '<' || cell[0] == '>') {
			return true
		}
	}
	return false
}

// Number writes a figure with three digits that count.
func Number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Time writes nanoseconds in the unit that suits.
func Time(ns float64) string {
	switch {
	case ns >= 1e9:
		return Number(ns/1e9) + " s"
	case ns >= 1e6:
		return Number(ns/1e6) + " ms"
	case ns >= 1e3:
		return Number(ns/1e3) + " us"
	}
	return Number(ns) + " ns"
}

// Size writes bytes in the unit that suits.
func Size(n int64) string {
	if n >= 1<<20 {
		return Number(float64(n)/(1<<20)) + " MiB"
	}
	return Number(float64(n)/(1<<10)) + " KiB"
}
