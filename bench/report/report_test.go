package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/bench/report"
)

func sample() *report.Report {
	r := &report.Report{Machine: "a machine"}
	r.Add(report.Record{Section: "call", Module: "c/bulk", Input: "100 B", Row: "ours", NS: 2500, Ratio: 1.25})
	r.AddBar("ours / wazero warm", "c/bulk", "100 B", 1.25, "<= 1.5", true)
	r.AddBar("ours / wazero warm", "rust/bulk", "1 MB", 12.5, "<= 2.5", false)
	r.AddAtLeast("wasmtime fresh / ours", "c/bulk", "1 MB", 0.7, 10, 0.73)
	r.AddAtLeast("wasmtime fresh / ours", "js/bulk", "100 B", 7.5, 10, 12)
	r.AddAtLeast("wasmtime fresh / ours", "c/bulk", "100 B", 20, 10, 100)
	return r
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := sample().Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []report.Record
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 6 || list[0].NS != 2500 || list[0].Machine != "a machine" || *list[2].Met {
		t.Errorf("got %+v", list)
	}
	for _, field := range []string{`"module":"c/bulk"`, `"input":"100 B"`, `"row":"ours"`, `"ns_per_call":2500`, `"ratio_to_bare_warm":1.25`} {
		if !strings.Contains(string(text), field) {
			t.Errorf("no %s in %s", field, text)
		}
	}
}

func TestFind(t *testing.T) {
	if ns, ok := sample().Find("call", "c/bulk", "100 B", "ours"); !ok || ns != 2500 {
		t.Errorf("got %v, %v", ns, ok)
	}
	if _, ok := sample().Find("call", "c/bulk", "100 B", "theirs"); ok {
		t.Error("found what is not there")
	}
}

func TestBars(t *testing.T) {
	want := `asked for              bar     module     input  measured
ours / wazero warm     <= 1.5  c/bulk     100 B      1.25  met
ours / wazero warm     <= 2.5  rust/bulk   1 MB      12.5  not met
wasmtime fresh / ours  >= 10x  c/bulk      1 MB      0.70  not met: a warm instance would reach 0.73
wasmtime fresh / ours  >= 10x  js/bulk    100 B      7.50  not met
wasmtime fresh / ours  >= 10x  c/bulk     100 B      20.0  met
2 of 5 bars met; 1 ask for more than a warm instance of wazero reaches
`
	if got := sample().Bars(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		report.Time(12): "12.0 ns", report.Time(1234): "1.23 us", report.Time(45_600_000): "45.6 ms", report.Time(2e9): "2.00 s",
		report.Size(2048): "2.00 KiB", report.Size(300 << 20): "300 MiB", report.Number(0.123): "0.12", report.Number(1234): "1234",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShortRow(t *testing.T) {
	got := report.Table{Head: []string{"module", "one", "two"}, Rows: [][]string{{"c", "1.5"}, {"rust", "12", "3"}}}.String()
	if want := "module  one  two\nc       1.5\nrust     12    3\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
