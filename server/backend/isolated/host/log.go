package host

import (
	"context"
	"log/slog"

	"triton/pkg/log"
	"triton/server/backend/child"
)

// logHandler sends log records to the server, which decides what to log.
type logHandler struct {
	send  func(*child.Message)
	attrs []slog.Attr
	group string
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled sends all records: the level of the server's log can change at any time.
func (*logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle sends a record.
func (l *logHandler) Handle(_ context.Context, r slog.Record) error {
	var m child.Message
	m.Begin(Log).Uint64(uint64(int64(r.Level)))
	m.String(r.Message)
	all := l.attrs
	r.Attrs(func(a slog.Attr) bool {
		a.Key = l.group + a.Key
		all = append(all[:len(all):len(all)], a)
		return true
	})
	m.Uint32(uint32(len(all)))
	for _, a := range all {
		m.String(a.Key)
		m.String(a.Value.Resolve().String())
	}
	l.send(&m)
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *l
	more.attrs = append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)
	return &more
}

// WithGroup returns a handler that puts a name before those of attributes.
func (l *logHandler) WithGroup(name string) slog.Handler {
	more := *l
	more.group = l.group + name + "."
	return &more
}

func logPanic(to *slog.Logger, where string, p any) {
	log.Panicked(to, "panic in "+where, p)
}
