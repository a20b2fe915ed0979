package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type queryInput struct {
	Text       string   `json:"text"`
	Delimiter  string   `json:"delimiter"`
	Header     *bool    `json:"header"`
	LazyQuotes bool     `json:"lazy_quotes"`
	Columns    []string `json:"columns"`
	Filters    []filter `json:"filters"`
	Sort       []order  `json:"sort"`
	Offset     *int     `json:"offset"`
	Limit      *int     `json:"limit"`
}

type filter struct {
	Column string `json:"column"`
	Op     string `json:"op"`
	Value  string `json:"value"`
}

type order struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending"`
}

type queryOutput struct {
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
	Matched   int        `json:"matched"`
	Truncated bool       `json:"truncated"`
}

// query keeps the rows that pass every filter, sorts them, and returns the
// wanted columns of the wanted page.
func query(in queryInput) (queryOutput, error) {
	offset, err := within("offset", in.Offset, 0, 0, math.MaxInt32)
	if err != nil {
		return queryOutput{}, err
	}
	limit, err := within("limit", in.Limit, defaultRows, 0, maxRows)
	if err != nil {
		return queryOutput{}, err
	}
	t, err := format{in.Text, in.Delimiter, in.Header, in.LazyQuotes}.load()
	if err != nil {
		return queryOutput{}, err
	}
	if err := t.filter(in.Filters); err != nil {
		return queryOutput{}, err
	}
	if err := t.sort(in.Sort); err != nil {
		return queryOutput{}, err
	}
	out := queryOutput{Matched: len(t.rows)}
	rest := t.rows[min(offset, len(t.rows)):]
	out.Truncated = len(rest) > limit
	out.Columns, out.Rows, err = t.project(in.Columns, rest[:min(limit, len(rest))])
	return out, err
}

// filter drops the rows that fail one of the filters.
func (t *table) filter(filters []filter) error {
	for i, f := range filters {
		field := "filters[" + strconv.Itoa(i) + "]"
		column, err := t.column(field+".column", f.Column)
		if err != nil {
			return err
		}
		passes, err := f.test(field)
		if err != nil {
			return err
		}
		t.rows = slices.DeleteFunc(t.rows, func(row []string) bool { return !passes(cell(row, column)) })
	}
	return nil
}

// test returns the function that says whether a field passes the filter.
func (f filter) test(field string) (func(string) bool, error) {
	v := f.Value
	tests := map[string]func(string) bool{
		"eq":       func(s string) bool { return compare(s, v) == 0 },
		"ne":       func(s string) bool { return compare(s, v) != 0 },
		"lt":       func(s string) bool { return s != "" && compare(s, v) < 0 },
		"le":       func(s string) bool { return s != "" && compare(s, v) <= 0 },
		"gt":       func(s string) bool { return s != "" && compare(s, v) > 0 },
		"ge":       func(s string) bool { return s != "" && compare(s, v) >= 0 },
		"contains": func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(v)) },
		"empty":    func(s string) bool { return strings.TrimSpace(s) == "" },
		"filled":   func(s string) bool { return strings.TrimSpace(s) != "" },
	}
	test, ok := tests[f.Op]
	if !ok {
		return nil, skill.Errorf(skill.Invalid, "%s.op: must be eq, ne, lt, le, gt, ge, contains, empty or filled, not %q", field, f.Op)
	}
	return test, nil
}

// sort orders the rows by each key in turn and leaves equal rows in place.
func (t *table) sort(keys []order) error {
	columns := make([]int, len(keys))
	for i, key := range keys {
		column, err := t.column("sort["+strconv.Itoa(i)+"].column", key.Column)
		if err != nil {
			return err
		}
		columns[i] = column
	}
	slices.SortStableFunc(t.rows, func(a, b []string) int {
		for i, column := range columns {
			c := compare(cell(a, column), cell(b, column))
			if keys[i].Descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return nil
}

// compare orders two fields: numbers by value and before text, text by code
// points.
func compare(a, b string) int {
	x, aNumber := number(a)
	y, bNumber := number(b)
	switch {
	case aNumber && bNumber:
		return cmp.Compare(x, y)
	case aNumber:
		return -1
	case bNumber:
		return 1
	default:
		return strings.Compare(a, b)
	}
}

// project returns the named columns of the rows, or all columns.
func (t *table) project(names []string, rows [][]string) ([]string, [][]string, error) {
	out := make([][]string, 0, len(rows))
	if len(names) == 0 {
		return t.columns, append(out, rows...), nil
	}
	columns := make([]int, len(names))
	for i, name := range names {
		column, err := t.column("columns["+strconv.Itoa(i)+"]", name)
		if err != nil {
			return nil, nil, err
		}
		columns[i] = column
	}
	for _, row := range rows {
		picked := make([]string, len(columns))
		for i, column := range columns {
			picked[i] = cell(row, column)
		}
		out = append(out, picked)
	}
	return names, out, nil
}
