package runner

import (
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
)

// What a guest says, and what it asks for, stands in results and in the audit
// log beside what the host says. So it stays on one line, as what it is, and is
// no longer than this, in bytes. 100 denials and 256 uses of this length fit in
// an entry of the journal, however they are escaped.
const (
	maxRequest = 512
	maxMessage = 4096
)

// clip cuts a text to at most n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

// line makes one line of a text: white space becomes spaces, and what cannot be
// seen goes.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// printable makes an error safe to show whose text may be the guest's: with a line
// feed it could add a hint of its own. What is wrong with an input is told in
// several lines, and is the host's.
func printable(e *fault.Error) *fault.Error {
	if e.Kind == fault.KindUsage {
		return e
	}
	c := *e
	c.Message = clip(line(strings.TrimSpace(e.Message)), maxMessage)
	return &c
}

// clipDenials shortens what was asked for. A hint that would be cut is left out.
func clipDenials(ds []task.Denial) {
	for i, d := range ds {
		if len(d.Way().String()) > 2*maxRequest {
			ds[i].Hinted(fault.Hint{})
		}
		ds[i].Request, ds[i].Capability, ds[i].Reason = clip(d.Request, maxRequest), clip(d.Capability, maxRequest), clip(d.Reason, maxRequest)
	}
}

// stderrLines are the lines a guest wrote to its standard error, such as the
// stack of a panic.
func stderrLines(b []byte) []task.LogLine {
	var lines []task.LogLine
	for text := range strings.Lines(string(b)) {
		lines = append(lines, task.LogLine{Level: "stderr", Message: strings.TrimRight(line(text), " ")})
	}
	return lines
}
