package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// size is how many columns and rows the terminal of answers has; 0 when they go elsewhere.
func (t *terminal) size() (columns, rows int) {
	if !t.outTTY || t.outFile == nil {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(t.outFile.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// table prints rows in columns, which tabs divide in the header.
func (t *terminal) table(header string, rows [][]string) {
	t.listing(lines.Listing{Header: header, Rows: rows})
}

// listing prints rows in columns: as they are for programs, and so that they fit a terminal.
func (t *terminal) listing(l lines.Listing) {
	columns, _ := t.size()
	if columns == 0 || t.wide {
		printAll(t.say, l.Lines())
		return
	}
	for i, cells := range l.Fit(columns, time.Now()) {
		t.say("%s", strings.TrimRight(t.painted(i, cells), " "))
	}
}

// fitting is a style whose tables fit the terminal.
func (t *terminal) fitting() lines.Style {
	columns, _ := t.size()
	if t.wide {
		columns = 0
	}
	return lines.Style{Columns: columns}
}

// painted are the cells of a row: the first row is the header.
func (t *terminal) painted(row int, cells []string) string {
	if !t.look.On() {
		return strings.Join(cells, "")
	}
	for i, c := range cells {
		bare := strings.TrimRight(c, " ")
		paint := t.look.Word
		switch {
		case row == 0:
			paint = t.look.Dim
		case i == 0:
			paint = t.look.Bold
		}
		cells[i] = paint(bare) + c[len(bare):]
	}
	return strings.Join(cells, "")
}

// paging are the commands whose answers can be long.
var paging = []string{
	"help", "exit-codes", "info", "list", "explain", "logs", "audit", "audit list", "audit show", "approvals list", "approvals show",
	"config list", "memory list", "memory show", "outdated", "permission list", "permission show", "policy list", "policy schema", "provider list",
	"stats", "task list", "task show", "tree", "trust list", "search", "scan",
}

// isLong reports whether the answer of a command is shown in a pager when it is long.
func (t *terminal) isLong(c *cli.Context, path string) bool {
	return slices.Contains(paging, path) && !c.Bool("follow") && !c.Bool("no-pager")
}

// inPager runs do, and shows what it printed: in a pager when that is longer than the screen.
func (t *terminal) inPager(do func() error) error {
	columns, rows := t.size()
	pager := t.pager()
	if columns == 0 || rows == 0 || pager == nil || t.json {
		return do()
	}
	screenful := t.out
	var printed bytes.Buffer
	t.out = screen.NewAnswers(&printed)
	err := do()
	t.out = screenful
	pager.Stdin, pager.Stdout, pager.Stderr = bytes.NewReader(printed.Bytes()), t.outFile, os.Stderr
	if height(printed.String(), columns) >= rows && pager.Start() == nil {
		_ = pager.Wait() // how a person leaves a pager says nothing
		return err
	}
	if _, failed := t.out.Write(printed.Bytes()); err == nil {
		err = failed
	}
	return err
}

var escapes = lazyregexp.New("\x1b\\[[0-9;]*m")

// height is how many rows of a terminal a text takes.
func height(text string, columns int) (rows int) {
	for line := range strings.Lines(text) {
		width := lines.Width(escapes().ReplaceAllString(strings.TrimSuffix(line, "\n"), ""))
		rows += max(1, (width+columns-1)/columns)
	}
	return rows
}
