package lines

import (
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
)

var fitNow = time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)

// A table fits every terminal that has room for its columns, and nothing is cut without need.
func TestFit(t *testing.T) {
	l := Listing{"NAME\tVERSION\tDIGEST\tSTATE\tSINCE\tDESCRIPTION", [][]string{
		{"html-to-text", "1.2.0*", "sha256:" + strings.Repeat("0123456789abcdef", 4), "quarantined, pinned", "2026-03-04 11:57", strings.Repeat("turns pages into text ", 20)},
		{"表計算", "10.20.30", "0123456789ab", "-", "2026-03-06 12:00", "表の計算をする表の計算をする表の計算をする👩‍👩‍👧"},
		{"a", "", "", "", "2020-01-01 00:00", ""},
	}}
	for width := 60; width <= 200; width++ {
		rows := l.Fit(width, fitNow)
		for _, cells := range rows {
			if got := uniseg.StringWidth(strings.Join(cells, "")); got > width {
				t.Errorf("%d: %q is %d wide", width, cells, got)
			}
		}
		if got := strings.TrimSpace(rows[1][0]); got != "html-to-text" {
			t.Errorf("%d: the name is %q", width, got)
		}
		if width >= 100 && (strings.TrimSpace(rows[1][2]) != "sha256:0123456789ab" || strings.TrimSpace(rows[1][4]) != "3 min ago") {
			t.Errorf("%d: digest and time are %q", width, rows[1])
		}
	}
	if got := l.Fit(1000, fitNow)[1][5]; got != strings.Repeat("turns pages into text ", 20) {
		t.Errorf("with room, the description is %q", got)
	}
	l.Fit(3, fitNow) // ends
	if got := (Listing{Header: "A\tB"}).Fit(80, fitNow); len(got) != 1 {
		t.Errorf("no rows are %q", got)
	}
}

// Without a terminal nothing is cut, and nothing is told from now.
func TestListingLines(t *testing.T) {
	long := strings.Repeat("long ", 100)
	got := strings.Join(Listing{"NAME\tSINCE\tWHAT", [][]string{{"a", "2026-03-04 11:57", long}}}.Lines(), "\n")
	if !strings.Contains(got, strings.TrimSpace(long)) || !strings.Contains(got, "2026-03-04 11:57") {
		t.Errorf("it is %q", got)
	}
}
