package log

import (
	"io"
	"log/slog"
)

// Access is a logger of requests: one line of JSON for each, without a level.
// It writes every line with one call.
func Access(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
}
