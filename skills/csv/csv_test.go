package main

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const cities = "city,country,people,area,capital\n" +
	"Oslo,NO,709037,480.8,true\n" +
	"\"Frankfurt, Main\",DE,773068,248.3,false\n" +
	"Berlin,DE,3755251,891.1,true\n" +
	"Lund,SE,94703,,false\n"

// call decodes a tool input the way a call does and runs the tool.
func call[In, Out any](t *testing.T, tool func(In) (Out, error), input string) (Out, error) {
	t.Helper()
	var in In
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		t.Fatalf("input %s: %v", input, err)
	}
	return tool(in)
}

// input joins a text and further members of a JSON object.
func input(text, more string) string {
	b, _ := json.Marshal(text)
	return `{"text":` + string(b) + more + `}`
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		want        parseOutput
	}{
		{"empty", input("", ""), parseOutput{Columns: []string{}, Rows: [][]string{}, Delimiter: ","}},
		{"header only", input("a,b\n", ""), parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{}, Delimiter: ","}},
		{"semicolons, byte order mark, crlf", input("\ufeffa;b\r\n1,5;2\r\n", ""),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{{"1,5", "2"}}, RowCount: 1, Delimiter: ";"}},
		{"tabs", input("a\tb\n1\t2\n", ""),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{{"1", "2"}}, RowCount: 1, Delimiter: "\t"}},
		{"quotes and line breaks", input("a|b\n\"x\ny\"|\"say \"\"hi\"\"\"\n", ""),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{{"x\ny", `say "hi"`}}, RowCount: 1, Delimiter: "|"}},
		{"one column", input("name\nAnn\nBob\n", ""),
			parseOutput{Columns: []string{"name"}, Rows: [][]string{{"Ann"}, {"Bob"}}, RowCount: 2, Delimiter: ","}},
		{"no header", input("1,2\n3,4\n", `,"header":false`),
			parseOutput{Columns: []string{"column_1", "column_2"}, Rows: [][]string{{"1", "2"}, {"3", "4"}}, RowCount: 2, Delimiter: ","}},
		{"names missing and twice", input("a,,a,a_2\n1,2,3,4,5\n", ""),
			parseOutput{Columns: []string{"a", "column_2", "a_2", "a_2_2", "column_5"}, Rows: [][]string{{"1", "2", "3", "4", "5"}}, RowCount: 1, Delimiter: ","}},
		{"ragged", input("a,b\n1\n1,2\n", ""),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{{"1"}, {"1", "2"}}, RowCount: 2, Ragged: 1, Delimiter: ","}},
		{"given delimiter", input("a:b,c\n1:2,3\n", `,"delimiter":":"`),
			parseOutput{Columns: []string{"a", "b,c"}, Rows: [][]string{{"1", "2,3"}}, RowCount: 1, Delimiter: ":"}},
		{"tab spelled out", input("a\tb\n", `,"delimiter":"\\t"`),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{}, Delimiter: "\t"}},
		{"limit", input("a\n1\n2\n3\n", `,"limit":1`),
			parseOutput{Columns: []string{"a"}, Rows: [][]string{{"1"}}, RowCount: 3, Delimiter: ",", Truncated: true}},
		{"lazy quotes", input("a,b\nx\"y,z\n", `,"lazy_quotes":true`),
			parseOutput{Columns: []string{"a", "b"}, Rows: [][]string{{"x\"y", "z"}}, RowCount: 1, Delimiter: ","}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, parse, tt.input)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("parse(%s)\n got %+v, %v\nwant %+v", tt.input, got, err, tt.want)
			}
		})
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want rune
	}{
		{"", ','}, {"word", ','}, {"a;b;c\n1,1;2,2;3,3\n", ';'},
		{"a\tb\n\"x;y;z\"\tc\n", '\t'}, {"a|b|c\n1|2|3", '|'},
		{"last, first; age\nDoe, Jane; 7\n", ','}, {"x,y\n", ','},
	}
	for _, tt := range tests {
		if got := sniff(tt.text); got != tt.want {
			t.Errorf("sniff(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, more string
		want       []string // first column of the rows
	}{
		{"all", ``, []string{"Oslo", "Frankfurt, Main", "Berlin", "Lund"}},
		{"eq", `,"filters":[{"column":"country","op":"eq","value":"DE"}]`, []string{"Frankfurt, Main", "Berlin"}},
		{"ne", `,"filters":[{"column":"country","op":"ne","value":"DE"}]`, []string{"Oslo", "Lund"}},
		{"eq compares numbers by value", `,"filters":[{"column":"area","op":"eq","value":"480.80"}]`, []string{"Oslo"}},
		{"gt by value, not by text", `,"filters":[{"column":"people","op":"gt","value":"100000"}]`, []string{"Oslo", "Frankfurt, Main", "Berlin"}},
		{"le leaves out empty fields", `,"filters":[{"column":"area","op":"le","value":"480.8"}]`, []string{"Oslo", "Frankfurt, Main"}},
		{"contains ignores case", `,"filters":[{"column":"city","op":"contains","value":"L"}]`, []string{"Oslo", "Berlin", "Lund"}},
		{"empty", `,"filters":[{"column":"area","op":"empty"}]`, []string{"Lund"}},
		{"two filters", `,"filters":[{"column":"capital","op":"eq","value":"true"},{"column":"area","op":"lt","value":"500"}]`, []string{"Oslo"}},
		{"sort", `,"sort":[{"column":"people","descending":true}]`, []string{"Berlin", "Frankfurt, Main", "Oslo", "Lund"}},
		{"sort by two", `,"sort":[{"column":"country"},{"column":"people"}]`, []string{"Frankfurt, Main", "Berlin", "Oslo", "Lund"}},
		{"page", `,"offset":1,"limit":2`, []string{"Frankfurt, Main", "Berlin"}},
		{"page behind the end", `,"offset":9`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, query, input(cities, tt.more))
			var first []string
			for _, row := range got.Rows {
				first = append(first, row[0])
			}
			if err != nil || got.Rows == nil || !reflect.DeepEqual(first, tt.want) {
				t.Errorf("query(%s) = %q, %v; want %q", tt.more, first, err, tt.want)
			}
		})
	}
}

func TestQueryColumns(t *testing.T) {
	t.Parallel()
	got, err := call(t, query, input(cities, `,"columns":["area","city"],"limit":1,"sort":[{"column":"city"}]`))
	want := queryOutput{Columns: []string{"area", "city"}, Rows: [][]string{{"891.1", "Berlin"}}, Matched: 4, Truncated: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("query\n got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"2", "10", -1}, {"2", "2.0", 0}, {"-1", "1e2", -1}, {"10", "x", -1}, {"x", "10", 1},
		{"a", "b", -1}, {"", "", 0}, {" 7 ", "7", 0}, {"NaN", "1", 1}, {"0x10", "1", 1}, {"1_000", "2", 1},
	}
	for _, tt := range tests {
		if got := compare(tt.a, tt.b); got != tt.want {
			t.Errorf("compare(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	got, err := call(t, stats, input(cities, `,"top":1`))
	if err != nil || got.RowCount != 4 || len(got.Columns) != 5 {
		t.Fatalf("stats = %+v, %v", got, err)
	}
	var types []string
	for _, c := range got.Columns {
		types = append(types, c.Type)
	}
	if want := []string{"text", "text", "integer", "number", "boolean"}; !reflect.DeepEqual(types, want) {
		t.Errorf("types = %v, want %v", types, want)
	}
	country := got.Columns[1]
	if country.Unique != 3 || country.Min != nil || !reflect.DeepEqual(country.Top, []valueCount{{"DE", 2}}) {
		t.Errorf("country = %+v", country)
	}
	area := got.Columns[3]
	if area.Filled != 3 || area.Empty != 1 || *area.Min != 248.3 || *area.Max != 891.1 || *area.Median != 480.8 {
		t.Errorf("area = %+v", area)
	}
	if math.Abs(*area.Mean-540.0667) > 0.001 || math.Abs(*area.StdDev-265.7472) > 0.001 {
		t.Errorf("area: mean %v, standard deviation %v", *area.Mean, *area.StdDev)
	}
}

func TestManyEqualNames(t *testing.T) {
	t.Parallel()
	got, err := call(t, parse, input(strings.Repeat("a,", 50_000)+"a\n", ""))
	if err != nil || len(got.Columns) != 50_001 || got.Columns[50_000] != "a_50001" {
		t.Errorf("parse of 50,001 equal names = %d columns, %v", len(got.Columns), err)
	}
}

func TestStatsOfExtremes(t *testing.T) {
	t.Parallel()
	got, err := call(t, stats, input("big,none\n1e308,\n1e308,\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	if big := got.Columns[0]; big.Sum != nil || *big.Max != 1e308 || *big.Median != 1e308 {
		t.Errorf("a sum that overflows must be left out: %+v", big)
	}
	if none := got.Columns[1]; none.Type != "empty" || none.Empty != 2 {
		t.Errorf("an empty column: %+v", none)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
}

func TestToJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input string
		want        []string
	}{
		{"typed", input("n,b,s,e\n1.5,TRUE,a<b,\n-2,false,\"q\"\"\",\n", ""),
			[]string{`{"n":1.5,"b":true,"s":"a<b","e":null}`, `{"n":-2,"b":false,"s":"q\"","e":null}`}},
		{"untyped", input("n,e\n1.5,\n", `,"types":false`), []string{`{"n":"1.5","e":""}`}},
		{"codes stay text", input("zip,tel,id,mixed\n01234,+49,12345678901234567,1\n10115,+1,1,x\n", ""),
			[]string{`{"zip":"01234","tel":"+49","id":"12345678901234567","mixed":"1"}`, `{"zip":"10115","tel":"+1","id":"1","mixed":"x"}`}},
		{"order of the columns", input("z,a\n1,2\n", ""), []string{`{"z":1,"a":2}`}},
		{"ragged", input("a,b\n1\n", ""), []string{`{"a":1,"b":null}`}},
		{"limit", input("a\n1\n2\n", `,"limit":1`), []string{`{"a":1}`}},
		{"empty", input("", ""), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, toJSON, tt.input)
			var records []string
			for _, r := range got.Records {
				records = append(records, strings.ReplaceAll(string(r), "\n", ""))
			}
			if err != nil || got.Records == nil || !reflect.DeepEqual(records, tt.want) {
				t.Errorf("to_json(%s)\n got %s, %v\nwant %s", tt.input, records, err, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	asQuery := func(s string) (any, error) { return call(t, query, s) }
	asParse := func(s string) (any, error) { return call(t, parse, s) }
	asStats := func(s string) (any, error) { return call(t, stats, s) }
	asJSON := func(s string) (any, error) { return call(t, toJSON, s) }
	tests := []struct {
		name     string
		tool     func(string) (any, error)
		input    string
		contains string
	}{
		{"long delimiter", asParse, input("a", `,"delimiter":"::"`), "delimiter: must be one character"},
		{"quote as delimiter", asStats, input("a", `,"delimiter":"\""`), "delimiter: must be one character"},
		{"line break as delimiter", asJSON, input("a", `,"delimiter":"\n"`), "delimiter: must be one character"},
		{"nul as delimiter", asParse, input("a", `,"delimiter":"\u0000"`), "delimiter: must be one character"},
		{"open quote", asParse, input("a,\"b\n1,2\n", ""), "text: record on line 1; parse error on line 2"},
		{"bare quote", asQuery, input("a,b\nx\"y,z\n", ""), "text: parse error on line 2"},
		{"unknown column", asQuery, input("a,b\n", `,"columns":["c"]`), `columns[0]: no column "c": there are "a", "b"`},
		{"unknown filter column", asQuery, input("a\n", `,"filters":[{"column":"x","op":"eq"}]`), `filters[0].column: no column "x"`},
		{"unknown operator", asQuery, input("a\n", `,"filters":[{"column":"a","op":"like"}]`), "filters[0].op: must be eq, ne"},
		{"unknown sort column", asQuery, input("a\n", `,"sort":[{"column":"x"}]`), `sort[0].column: no column "x"`},
		{"column of nothing", asQuery, input("", `,"columns":["x"]`), "there are none"},
		{"limit", asParse, input("a", `,"limit":-1`), "limit: must be from 0"},
		{"offset", asQuery, input("a", `,"offset":-1`), "offset: must be from 0"},
		{"top", asStats, input("a", `,"top":101`), "top: must be from 0 to 100"},
		{"json limit", asJSON, input("a", `,"limit":20001`), "limit: must be from 0 to 20000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.tool(tt.input)
			if skill.KindOf(err) != skill.Invalid || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("%s: %v (%s), want %q", tt.input, err, skill.KindOf(err), tt.contains)
			}
		})
	}
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"", cities, "a;b\n\"", "\xff,\x00\n", "\"a\"\"b\",\r\n", "a,a\n1e999,-0\n"} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, lazy bool) {
		parsed, err := parse(parseInput{Text: text, LazyQuotes: lazy})
		if err != nil {
			return
		}
		for _, row := range parsed.Rows {
			if len(row) > len(parsed.Columns) {
				t.Errorf("parse(%q): %d fields in %d columns", text, len(row), len(parsed.Columns))
			}
		}
		described, err := stats(statsInput{Text: text, LazyQuotes: lazy})
		if err != nil {
			t.Fatalf("stats(%q): %v", text, err)
		}
		if _, err := json.Marshal(described); err != nil {
			t.Errorf("stats(%q): %v", text, err)
		}
		converted, err := toJSON(toJSONInput{Text: text, LazyQuotes: lazy})
		if err != nil {
			t.Fatalf("to_json(%q): %v", text, err)
		}
		for _, r := range converted.Records {
			if !json.Valid(r) {
				t.Errorf("to_json(%q): %q is not valid JSON", text, r)
			}
		}
	})
}

func BenchmarkStats(b *testing.B) {
	text := "a,b,c\n" + strings.Repeat("1,2.5,word\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := stats(statsInput{Text: text}); err != nil {
			b.Fatal(err)
		}
	}
}
