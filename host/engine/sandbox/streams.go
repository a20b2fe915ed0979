package sandbox

import (
	"bytes"
	"fmt"
)

// capped is a buffer that takes no more than its limit.
type capped struct {
	limit int64
	data  []byte
	over  bool // something did not fit
}

// add appends b, or nothing of it when it does not fit.
func (c *capped) add(b []byte) bool {
	if int64(len(b)) > c.limit-int64(len(c.data)) {
		c.over = true
		return false
	}
	c.data = append(c.data, b...)
	return true
}

// fill appends as much of b as fits and drops the rest.
func (c *capped) fill(b []byte) {
	n := min(int64(len(b)), c.limit-int64(len(c.data)))
	c.over = c.over || n < int64(len(b))
	c.data = append(c.data, b[:n]...)
}

// bytes returns the contents, with a last line that says so when some are
// missing.
func (c *capped) bytes() []byte {
	if !c.over {
		return c.data
	}
	return fmt.Appendf(c.data, "\n[cut after %s]\n", byteCount(c.limit))
}

// streams is what flows between the guest and the caller.
type streams struct {
	stdin   bytes.Reader
	stdout  capped // of a command: it is the output
	stderr  capped // and standard output of others
	written capped // by output_write
	log     capped // only counts
}

// open begins the streams of a call. What is the output has the caller's room.
func (s *streams) open(c *Call, command bool) {
	s.stdin.Reset(c.Input)
	s.stdout, s.written = capped{limit: c.Limits.OutputBytes}, capped{limit: c.Limits.OutputBytes}
	s.stderr, s.log = capped{limit: c.Limits.LogBytes}, capped{limit: c.Limits.LogBytes}
	if command {
		s.stdout.data = c.Output[:0]
	} else {
		s.written.data = c.Output[:0]
	}
}

// log hands a line on until the log is full, and then says once that it is.
func (in *instance) log(level Level, msg string) {
	c := &in.streams.log
	if in.call.Log == nil || c.over {
		return
	}
	in.spend(uint64(len(msg)))
	if int64(len(msg)) > c.limit {
		c.over = true
		in.call.Log(LevelWarn, fmt.Sprintf("log cut after %s", byteCount(in.call.Limits.LogBytes)))
		return
	}
	c.limit -= int64(len(msg))
	in.call.Log(level, msg)
}

// command reports whether the guest runs as a WASI command: its input and
// output are the standard streams.
func (in *instance) command() bool {
	return in.module.info.ABI == ABIWASICommand && in.call.Export == startExport
}

// readStdin is standard input of a command; others have none.
func (in *instance) readStdin(b []byte) int {
	in.checkTime()
	if !in.command() {
		return 0
	}
	n, _ := in.streams.stdin.Read(b)
	in.chargeBytes(uint64(n))
	return n
}

// stdinLen is how much of it is left.
func (in *instance) stdinLen() int {
	if !in.command() {
		return 0
	}
	return in.streams.stdin.Len()
}

// writeStdout is the output of a command, and beside standard error for others.
func (in *instance) writeStdout(b []byte) {
	if !in.command() {
		in.writeStderr(b)
		return
	}
	in.checkTime()
	in.chargeBytes(uint64(len(b)))
	if !in.streams.stdout.add(b) {
		in.stop(in.outputError())
	}
}

func (in *instance) writeStderr(b []byte) {
	in.checkTime()
	in.chargeBytes(uint64(len(b)))
	in.streams.stderr.fill(b)
}
