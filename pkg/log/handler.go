package log

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

var pid = strconv.Itoa(os.Getpid())

// handler turns records into lines. Attributes stand behind the message, as
// key=value, inside its quotes: readers of Triton's format know one message.
type handler struct {
	sink   *Sink
	prefix string // attributes of With, formatted
	group  string
}

var _ slog.Handler = (*handler)(nil)

func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	return h.sink.settings.Load().enabled(l)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	b := []byte(c.prefix)
	for _, a := range attrs {
		b = appendAttr(b, c.group, a)
	}
	c.prefix = string(b)
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.group += name + "."
	return &c
}

var buffers = sync.Pool{New: func() any { return new([2][]byte) }}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	bufs := buffers.Get().(*[2][]byte)
	defer buffers.Put(bufs)
	text, below := append(bufs[0][:0], r.Message...), ""
	text = append(text, h.prefix...)
	r.Attrs(func(a slog.Attr) bool {
		if t, ok := a.Value.Any().(rawText); ok {
			below = string(t)
			return true
		}
		text = appendAttr(text, h.group, a)
		return true
	})
	line := bufs[1][:0]
	settings := h.sink.settings.Load()
	switch settings.Format {
	case JSON:
		line = appendJSONLine(line, r, text, below)
	case ISO8601:
		line = r.Time.UTC().AppendFormat(line, "2006-01-02T15:04:05Z ")
		line = append(line, severity(r.Level), ' ')
		line = appendText(line, r, text, below, settings.Raw)
	default:
		line = append(line, severity(r.Level))
		line = r.Time.UTC().AppendFormat(line, "0102 15:04:05.000000 ")
		line = appendText(line, r, text, below, settings.Raw)
	}
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

// appendText is the common rest of Triton's two formats: pid, place, message.
// Unless raw the message is quoted, so that no input can forge a line; a table
// follows as it is.
func appendText(b []byte, r slog.Record, text []byte, below string, raw bool) []byte {
	b = append(b, pid...)
	b = append(b, ' ')
	b = appendSource(b, r.PC)
	b = append(b, "] "...)
	switch {
	case raw:
		b = append(b, text...)
	case len(text) > 0 || below == "":
		b = appendQuoted(b, text)
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
	b = append(b, filepath.Base(f.File)...)
	b = append(b, ':')
	return strconv.AppendInt(b, int64(f.Line), 10)
}

func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return b
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, g := range v.Group() {
			b = appendAttr(b, group, g)
		}
		return b
	}
	b = append(b, ' ')
	b = append(b, group...)
	b = append(b, a.Key...)
	b = append(b, '=')
	return append(b, v.String()...)
}

func appendJSONLine(b []byte, r slog.Record, text []byte, below string) []byte {
	b = append(b, `{"time":`...)
	b = r.Time.UTC().AppendFormat(b, `"2006-01-02T15:04:05.000000Z"`)
	b = append(b, `,"level":"`...)
	b = append(b, levelName(r.Level)...)
	b = append(b, `","pid":`...)
	b = append(b, pid...)
	b = append(b, `,"source":"`...)
	b = appendSource(b, r.PC)
	b = append(b, `","msg":`...)
	b = appendQuoted(b, text)
	if below != "" {
		t, err := json.Marshal(below)
		if err == nil {
			b = append(append(b, `,"table":`...), t...)
		}
	}
	return append(b, '}', '\n')
}

func levelName(l slog.Level) string {
	switch severity(l) {
	case 'E':
		return "ERROR"
	case 'W':
		return "WARNING"
	}
	if l < slog.LevelInfo {
		return "VERBOSE"
	}
	return "INFO"
}

const hex = "0123456789ABCDEF"

// appendQuoted writes text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(b, text []byte) []byte {
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(text[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
				continue
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func newRecord(l slog.Level, msg string, skip int) slog.Record {
	var pcs [1]uintptr
	runtime.Callers(skip, pcs[:])
	return slog.NewRecord(time.Now(), l, msg, pcs[0])
}
