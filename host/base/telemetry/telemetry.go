// Package telemetry makes the host's logger: structured lines in text or JSON,
// in which the values of secrets, and text shaped like a credential, are struck
// out before anything is written.
//
// It knows no skill and no store; who logs says what a line is about.
package telemetry

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// Options are the form of a log.
type Options struct {
	// Output receives the lines; they never go to standard output.
	Output io.Writer
	// Level is trace, debug, info, warn, error or off; empty means warn.
	Level string
	// JSON writes one object a line instead of text.
	JSON bool
	// Redactor strikes secrets out; nil strikes out only what is shaped like
	// a credential.
	Redactor *Redactor
}

// New makes a logger.
func New(o Options) hclog.Logger {
	level := hclog.LevelFromString(o.Level)
	if level == hclog.NoLevel {
		level = hclog.Warn
	}
	r := o.Redactor
	if r == nil {
		r = NewRedactor()
	}
	return redacted{hclog.New(&hclog.LoggerOptions{
		Name: "skillet", Output: o.Output, Level: level, JSONFormat: o.JSON, DisableTime: false,
	}), r, nil}
}

// redacted is a logger that strikes secrets out of messages and arguments. It
// overrides every method that writes or derives, because an embedded logger
// would let lines through unseen.
type redacted struct {
	hclog.Logger
	r *Redactor
	// implied are the arguments of With, which are looked through when a line is
	// written: most loggers of calls write none.
	implied []any
}

func (l redacted) args(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if i%2 == 0 {
			out[i] = l.key(a)
			continue
		}
		out[i] = l.r.Value(fmt.Sprint(args[i-1]), a)
	}
	return out
}

// key is a field's name; what stands in the place of one may be a value whose
// name was forgotten.
func (l redacted) key(k any) any {
	if s, ok := k.(string); ok {
		return l.r.Text(s)
	}
	return l.r.Value("", k)
}

func (l redacted) Log(level hclog.Level, msg string, args ...any) {
	if level < l.GetLevel() { // nothing is written, so nothing need be struck out
		return
	}
	l.whole().Log(level, l.r.Text(msg), l.args(args)...)
}
func (l redacted) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l redacted) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l redacted) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l redacted) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l redacted) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// whole is the logger with the arguments of With.
func (l redacted) whole() hclog.Logger {
	if len(l.implied) == 0 {
		return l.Logger
	}
	return l.Logger.With(l.args(l.implied)...)
}

func (l redacted) With(args ...any) hclog.Logger {
	return redacted{l.Logger, l.r, slices.Concat(l.implied, args)}
}
func (l redacted) ImpliedArgs() []any { return l.whole().ImpliedArgs() }
func (l redacted) Named(name string) hclog.Logger {
	return redacted{l.Logger.Named(name), l.r, l.implied}
}
func (l redacted) ResetNamed(name string) hclog.Logger {
	return redacted{l.Logger.ResetNamed(name), l.r, l.implied}
}

func (l redacted) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

func (l redacted) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	if o == nil { // hclog's own logger does not take nil here
		o = &hclog.StandardLoggerOptions{}
	}
	return lineWriter{l.whole().StandardWriter(o), l.r}
}

// lineWriter strikes secrets out of whole writes; the standard library's
// logger makes one write a line.
type lineWriter struct {
	w io.Writer
	r *Redactor
}

func (w lineWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.r.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Slog lets libraries that speak [log/slog] write into l.
func Slog(l hclog.Logger) *slog.Logger { return slog.New(handler{l: l}) }
