package plugins

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds of what a plugin writes.
const (
	maxLine    = 8 << 10 // bytes of a line; the rest of it is dropped
	maxNoise   = 100     // lines before the handshake
	keptLines  = 20      // that are shown when it dies
	maxPerTick = 500     // lines in a second that reach the log
)

// lines reads lines of bounded length.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, maxLine)} }

// next returns the next line. Its error ends the reading.
func (l lines) next() (string, error) {
	line, err := l.r.ReadSlice('\n')
	text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD")
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if text != "" {
		err = nil // the end comes with the next
	}
	return text, err
}

// output takes what a plugin writes to the log, and keeps the last lines.
type output struct {
	log   hclog.Logger
	clean *scrubber

	mu      sync.Mutex
	last    []string
	second  time.Time // that is counted
	count   int
	dropped int
}

// take takes one line.
func (o *output) take(line string) {
	if line == "" {
		return
	}
	line = o.clean.text(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last = append(o.last, line); len(o.last) > keptLines {
		o.last = o.last[1:]
	}
	if now := time.Now(); now.Sub(o.second) >= time.Second {
		if o.dropped > 0 {
			o.log.Warn("the plugin wrote more lines than the log takes", "dropped", o.dropped)
		}
		o.second, o.count, o.dropped = now, 0, 0
	}
	if o.count++; o.count > maxPerTick {
		o.dropped++
		return
	}
	level, text := levelOf(line)
	o.log.Log(level, text)
}

// Write takes what the plugin prints after the handshake, which comes in pieces
// of any size.
func (o *output) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		o.take(shortenLine(line))
	}
	return len(b), nil
}

func shortenLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	return strings.ToValidUTF8(line[:min(len(line), maxLine)], "\uFFFD")
}

// tail are the last lines.
func (o *output) tail() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.last...)
}

// levelOf is the level that a line begins with, "[WARN] ...", and its text. Lines
// without one are information.
func levelOf(line string) (hclog.Level, string) {
	if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]"); ok && line[0] == '[' {
		if level := hclog.LevelFromString(name); level != hclog.NoLevel {
			return level, strings.TrimSpace(rest)
		}
	}
	return hclog.Info, line
}
