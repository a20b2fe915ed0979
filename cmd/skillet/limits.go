package main

import (
	"fmt"
	"strconv"

	"github.com/skillet-run/skillet/host/review/review"
)

// bounds are the limits of a skill as they hold on this host.
type bounds review.Bounds

// grouped writes a large number so that its size is seen: 200,000,000,000.
func grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// show prints the limits behind a label, and which of them the host made smaller.
func (b bounds) show(print printer, label string) {
	l := b.Limits
	kept := ""
	if l.KVBytes > 0 {
		kept = fmt.Sprintf(", %d MB of values of its own", l.KVBytes>>20)
	}
	print("%s %d MB memory, %g s, %s fuel, %d KB output, %d host calls, %d MB a file%s",
		label, l.MemoryBytes>>20, l.Seconds, grouped(l.Fuel), l.OutputBytes>>10, l.HostCalls, l.FileSizeBytes>>20, kept)
	for _, c := range b.Cut {
		print("    %s: the manifest says %s, and the setting %s of this host allows %s", c.Limit, c.Asked, c.Setting, c.Allowed)
	}
}
