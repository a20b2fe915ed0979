package telemetry

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// handler is a slog.Handler that writes into a logger of hclog's.
type handler struct {
	l     hclog.Logger
	group string
}

// levels pairs the levels of the two libraries, least severe first.
var levels = [...]struct {
	below slog.Level
	level hclog.Level
}{{slog.LevelDebug, hclog.Trace}, {slog.LevelInfo, hclog.Debug}, {slog.LevelWarn, hclog.Info}, {slog.LevelError, hclog.Warn}}

func levelOf(l slog.Level) hclog.Level {
	for _, row := range levels {
		if l < row.below {
			return row.level
		}
	}
	return hclog.Error
}

func (h handler) Enabled(_ context.Context, l slog.Level) bool {
	return h.l.GetLevel() != hclog.Off && h.l.GetLevel() <= levelOf(l)
}

func (h handler) Handle(_ context.Context, r slog.Record) error {
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = h.appendAttr(args, a)
		return true
	})
	h.l.Log(levelOf(r.Level), r.Message, args...)
	return nil
}

func (h handler) appendAttr(args []any, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		return append(args, h.group+a.Key, v.Any())
	}
	inner := h
	if a.Key != "" {
		inner.group += a.Key + "."
	}
	for _, g := range v.Group() {
		args = inner.appendAttr(args, g)
	}
	return args
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = h.appendAttr(args, a)
	}
	return handler{h.l.With(args...), h.group}
}

func (h handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return handler{h.l, h.group + name + "."}
}
