package log

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
)

// jsonHandlers write JSON lines with slog.JSONHandler, one handler per stream of
// the console. Each attribute is a field of its own, after time, level, pid,
// source and msg.
type jsonHandlers struct{ out, err slog.Handler }

func newJSONHandlers(k *Sink) jsonHandlers {
	line := func(l slog.Level) slog.Handler {
		return slog.NewJSONHandler(leveled{k, l}, &slog.HandlerOptions{
			AddSource: true, Level: slog.Level(minLevel), ReplaceAttr: jsonField,
		})
	}
	return jsonHandlers{out: line(slog.LevelInfo), err: line(slog.LevelError)}
}

// minLevel accepts every record; Sink decides which are written.
const minLevel = -1 << 31

func (j jsonHandlers) of(l slog.Level) slog.Handler {
	if l >= slog.LevelWarn {
		return j.err
	}
	return j.out
}

func (j jsonHandlers) with(change func(slog.Handler) slog.Handler) jsonHandlers {
	return jsonHandlers{out: change(j.out), err: change(j.err)}
}

// leveled writes lines of one level to a sink.
type leveled struct {
	sink  *Sink
	level slog.Level
}

func (w leveled) Write(line []byte) (int, error) {
	return len(line), w.sink.write(w.level, line)
}

// jsonField formats the fields that slog itself adds. It distinguishes them from
// attributes of the same name by their types.
func jsonField(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch v := a.Value.Any().(type) {
	case slog.Level:
		// slog inlines the fields of a group without a name.
		return slog.Attr{Value: slog.GroupValue(slog.String(slog.LevelKey, levelName(v)), slog.Int("pid", os.Getpid()))}
	case *slog.Source:
		source := "?:0"
		if v.File != "" {
			source = filepath.Base(v.File) + ":" + strconv.Itoa(v.Line)
		}
		return slog.String(slog.SourceKey, source)
	}
	if a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.String(slog.TimeKey, a.Value.Time().UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	return a
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
