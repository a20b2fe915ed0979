package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	defaultTop = 5
	maxTop     = 100
)

type statsInput struct {
	Text       string `json:"text"`
	Delimiter  string `json:"delimiter"`
	Header     *bool  `json:"header"`
	LazyQuotes bool   `json:"lazy_quotes"`
	Top        *int   `json:"top"`
}

type statsOutput struct {
	RowCount int           `json:"row_count"`
	Ragged   int           `json:"ragged_rows"`
	Columns  []columnStats `json:"columns"`
}

// columnStats describes one column. The numbers are there for columns of type
// number or integer only.
type columnStats struct {
	Name   string       `json:"name"`
	Type   string       `json:"type"` // "integer", "number", "boolean", "text" or "empty"
	Filled int          `json:"filled"`
	Empty  int          `json:"empty"`
	Unique int          `json:"unique"`
	Min    *float64     `json:"min,omitempty"`
	Max    *float64     `json:"max,omitempty"`
	Sum    *float64     `json:"sum,omitempty"`
	Mean   *float64     `json:"mean,omitempty"`
	Median *float64     `json:"median,omitempty"`
	StdDev *float64     `json:"standard_deviation,omitempty"` // of the population
	Top    []valueCount `json:"top_values"`
}

type valueCount struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// stats describes every column of a text.
func stats(in statsInput) (statsOutput, error) {
	top, err := within("top", in.Top, defaultTop, 0, maxTop)
	if err != nil {
		return statsOutput{}, err
	}
	t, err := format{in.Text, in.Delimiter, in.Header, in.LazyQuotes}.load()
	if err != nil {
		return statsOutput{}, err
	}
	out := statsOutput{RowCount: len(t.rows), Ragged: t.ragged, Columns: []columnStats{}}
	for i := range t.columns {
		out.Columns = append(out.Columns, t.describe(i, top))
	}
	return out, nil
}

// describe counts the values of one column and, when all are numbers, sums them
// up.
func (t *table) describe(column, top int) columnStats {
	values := make([]string, 0, len(t.rows))
	count := make(map[string]int)
	for _, row := range t.rows {
		if v := strings.TrimSpace(cell(row, column)); v != "" {
			values = append(values, v)
			count[v]++
		}
	}
	s := columnStats{
		Name:   t.columns[column],
		Type:   typeOf(values),
		Filled: len(values),
		Empty:  len(t.rows) - len(values),
		Unique: len(count),
		Top:    mostFrequent(count, top),
	}
	if s.Type == "integer" || s.Type == "number" {
		s.addNumbers(values)
	}
	return s
}

// typeOf returns the narrowest type that all values have.
func typeOf(values []string) string {
	if len(values) == 0 {
		return "empty"
	}
	integer, numeric, boolean := true, true, true
	for _, v := range values {
		n, ok := number(v)
		numeric = numeric && ok
		integer = integer && ok && n == math.Trunc(n) && !strings.ContainsAny(v, ".eE")
		boolean = boolean && isBoolean(v)
	}
	switch {
	case integer:
		return "integer"
	case numeric:
		return "number"
	case boolean:
		return "boolean"
	default:
		return "text"
	}
}

func isBoolean(v string) bool {
	return strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
}

// addNumbers fills in the figures of a numeric column. A figure that overflows
// is left out, for JSON has no infinity.
func (s *columnStats) addNumbers(values []string) {
	numbers := make([]float64, len(values))
	for i, v := range values {
		numbers[i], _ = number(v)
	}
	slices.Sort(numbers)
	n := float64(len(numbers))
	sum := total(numbers)
	mean := sum / n
	squares := 0.0
	for _, x := range numbers {
		squares += (x - mean) * (x - mean)
	}
	s.Min, s.Max = finite(numbers[0]), finite(numbers[len(numbers)-1])
	s.Sum, s.Mean, s.Median = finite(sum), finite(mean), finite(median(numbers))
	s.StdDev = finite(math.Sqrt(squares / n))
}

// total adds with Neumaier's compensation, so that 0.1 and 0.2 ten thousand
// times do not drift.
func total(numbers []float64) float64 {
	sum, lost := 0.0, 0.0
	for _, x := range numbers {
		next := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - next) + x
		} else {
			lost += (x - next) + sum
		}
		sum = next
	}
	return sum + lost
}

func median(sorted []float64) float64 {
	i := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[i]
	}
	return sorted[i-1]/2 + sorted[i]/2
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// mostFrequent returns the n most frequent values; of equally frequent ones the
// first in code point order.
func mostFrequent(count map[string]int, n int) []valueCount {
	all := make([]valueCount, 0, len(count))
	for value, c := range count {
		all = append(all, valueCount{value, c})
	}
	slices.SortFunc(all, func(a, b valueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	return slices.Clone(all[:min(n, len(all))])
}
