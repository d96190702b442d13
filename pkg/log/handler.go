package log

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"triton/pkg/tritonjson"
)

var pid = strconv.Itoa(os.Getpid())

// handler formats records by the settings of the sink. Attributes of With are kept
// for the text formats and for JSON, because the format may change.
type handler struct {
	sink  *Sink
	attrs string // attributes of With, formatted as text
	group string
	json  jsonHandlers
}

var _ slog.Handler = (*handler)(nil)

func newHandler(k *Sink) *handler { return &handler{sink: k, json: newJSONHandlers(k)} }

func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	return h.sink.settings.Load().enabled(l)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	b := []byte(c.attrs)
	for _, a := range attrs {
		b = appendAttr(b, c.group, a)
	}
	c.attrs = string(b)
	c.json = h.json.with(func(j slog.Handler) slog.Handler { return j.WithAttrs(attrs) })
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.group += name + "."
	c.json = h.json.with(func(j slog.Handler) slog.Handler { return j.WithGroup(name) })
	return &c
}

var buffers = sync.Pool{New: func() any { return new([2][]byte) }}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	settings := h.sink.settings.Load()
	from, elsewhere := ctx.Value(sourceKey{}).(source)
	if settings.Format == JSON {
		if elsewhere {
			r.AddAttrs(slog.String("file", string(appendPlace(nil, from.file, from.line))))
		}
		return h.json.of(r.Level).Handle(ctx, r)
	}
	bufs := buffers.Get().(*[2][]byte)
	defer buffers.Put(bufs)
	text, table := append(append(bufs[0][:0], r.Message...), h.attrs...), ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindAny {
			if t, ok := a.Value.Any().(rawText); ok {
				table = string(t)
				return true
			}
		}
		text = appendAttr(text, h.group, a)
		return true
	})
	line := bufs[1][:0]
	if settings.Format == ISO8601 {
		line = r.Time.UTC().AppendFormat(line, "2006-01-02T15:04:05Z ")
		line = append(line, severity(r.Level), ' ')
	} else {
		line = append(line, severity(r.Level))
		line = r.Time.UTC().AppendFormat(line, "0102 15:04:05.000000 ")
	}
	line = append(line, pid...)
	line = append(line, ' ')
	if elsewhere {
		line = appendPlace(line, from.file, from.line)
	} else {
		line = appendSource(line, r.PC)
	}
	line = appendText(line, text, table, settings.Raw)
	bufs[0], bufs[1] = text, line
	return h.sink.write(r.Level, line)
}

func severity(l slog.Level) byte {
	switch {
	case l >= slog.LevelError:
		return 'E'
	case l >= slog.LevelWarn:
		return 'W'
	}
	return 'I'
}

// appendText appends the message with its attributes, which are quoted where they could be read as
// several, and below them a table unchanged. Unless raw is set, message and attributes are one JSON
// string, as programs that read Triton's log expect, so that no input can forge a line.
func appendText(b, text []byte, below string, raw bool) []byte {
	b = append(b, "] "...)
	switch {
	case raw:
		b = append(b, text...)
	case len(text) > 0 || below == "":
		b = tritonjson.AppendValid(b, string(text))
	}
	b = append(b, '\n')
	if below != "" {
		b = append(append(b, below...), '\n')
	}
	return b
}

func appendSource(b []byte, pc uintptr) []byte {
	if pc == 0 {
		return append(b, "?:0"...)
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return appendPlace(b, f.File, f.Line)
}

func appendPlace(b []byte, file string, line int) []byte {
	b = append(b, filepath.Base(file)...)
	b = append(b, ':')
	return strconv.AppendInt(b, int64(line), 10)
}

// source is the place of code that is not Go's.
type source struct {
	file string
	line int
}

type sourceKey struct{}

// Foreign logs a message of code in another language, which tells its own file and line.
func Foreign(ctx context.Context, l *slog.Logger, level slog.Level, file string, line int, msg string) {
	if l.Enabled(ctx, level) {
		ctx = context.WithValue(ctx, sourceKey{}, source{file, line})
		_ = l.Handler().Handle(ctx, slog.NewRecord(time.Now(), level, msg, 0))
	}
}

func newRecord(l slog.Level, msg string, skip int) slog.Record {
	var pcs [1]uintptr
	runtime.Callers(skip, pcs[:])
	return slog.NewRecord(time.Now(), l, msg, pcs[0])
}
