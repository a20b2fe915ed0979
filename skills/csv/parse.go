package main

const (
	defaultRows = 1000
	maxRows     = 20_000
)

type parseInput struct {
	Text       string `json:"text"`
	Delimiter  string `json:"delimiter"`
	Header     *bool  `json:"header"`
	LazyQuotes bool   `json:"lazy_quotes"`
	Limit      *int   `json:"limit"`
}

type parseOutput struct {
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
	RowCount  int        `json:"row_count"`
	Ragged    int        `json:"ragged_rows"`
	Delimiter string     `json:"delimiter"`
	Truncated bool       `json:"truncated"`
}

// parse takes a text apart into columns and rows.
func parse(in parseInput) (parseOutput, error) {
	limit, err := within("limit", in.Limit, defaultRows, 0, maxRows)
	if err != nil {
		return parseOutput{}, err
	}
	t, err := format{in.Text, in.Delimiter, in.Header, in.LazyQuotes}.load()
	if err != nil {
		return parseOutput{}, err
	}
	return parseOutput{
		Columns:   t.columns,
		Rows:      append([][]string{}, t.rows[:min(limit, len(t.rows))]...),
		RowCount:  len(t.rows),
		Ragged:    t.ragged,
		Delimiter: string(t.delimiter),
		Truncated: len(t.rows) > limit,
	}, nil
}
