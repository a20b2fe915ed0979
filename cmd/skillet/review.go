package main

import (
	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/internal/text"
)

func fullFlag() cli.Flag {
	return &cli.BoolFlag{Name: "full", Usage: "show all of what is different, however long it is"}
}

// A printer prints one line, of an answer or for people.
type printer func(format string, args ...any)

// showLines prints lines that have text of others in them.
func showLines(print printer, lines []string) {
	for _, line := range lines {
		print("%s", visible(line))
	}
}

// count is "1 file", "2 files".
func count(n int, what string) string { return text.Count(n, what) }
