package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/skillet-run/skillet/internal/text"
)

// A Guard reads what a server writes, a message a line, and hands on what can be one. The
// first line that cannot be, or that is too much, ends it for good.
type Guard struct {
	in  *bufio.Reader
	out []byte // of the line that is being handed on

	mu       sync.Mutex
	messages int // since the last request
	bytes    int
	err      error
}

// NewGuard reads from r.
func NewGuard(r io.Reader) *Guard { return &Guard{in: bufio.NewReaderSize(r, 64<<10)} }

// Asked says that the server was sent a request: what it may send is counted anew.
func (g *Guard) Asked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.messages, g.bytes = 0, 0
}

// Err is why the guard ended; nil when it did not, or when the server closed its output.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Read hands on the next messages.
func (g *Guard) Read(p []byte) (int, error) {
	if err := g.Err(); err != nil {
		return 0, err
	}
	for len(g.out) == 0 {
		line, err := g.line()
		if err == nil && len(line) > 0 {
			if err = g.check(line); err == nil {
				g.out = append(line, '\n')
				break
			}
		}
		if err != nil {
			return 0, g.fail(err)
		}
	}
	n := copy(p, g.out)
	g.out = g.out[n:]
	return n, nil
}

func (g *Guard) fail(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != io.EOF {
		g.err = err
	}
	return err
}

// line is the next line, without its end and white space around it.
func (g *Guard) line() ([]byte, error) {
	var line []byte
	for {
		part, err := g.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > MaxMessage {
			return nil, fmt.Errorf("%w: it sent a message of more than %s", ErrServer, text.Size(MaxMessage))
		}
		switch err {
		case nil:
			return bytes.TrimSpace(line), nil
		case bufio.ErrBufferFull:
		case io.EOF:
			if rest := bytes.TrimSpace(line); len(rest) > 0 {
				return rest, nil
			}
			return nil, err
		default:
			return nil, err
		}
	}
}

// check refuses what is not a message of JSON-RPC, and what is too much.
func (g *Guard) check(line []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.messages++
	if g.bytes += len(line); g.messages > MaxMessages || g.bytes > MaxBytes {
		return fmt.Errorf("%w: it sent more than %d messages, or %s, that nobody asked for", ErrServer, MaxMessages, text.Size(MaxBytes))
	}
	var head struct {
		Version string `json:"jsonrpc"`
	}
	if line[0] != '{' || json.Unmarshal(line, &head) != nil || head.Version != "2.0" {
		return fmt.Errorf("%w: its standard output has what is not a message: %q", ErrServer, text.Short(text.Plain(string(line[:min(len(line), maxText)])), 80))
	}
	return nil
}
