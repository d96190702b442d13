package httpapi

import (
	"context"
	"log/slog"
	"time"

	"triton/server/infer"
)

// logAccess logs the request if requests are logged. Sizes are those of the bodies, in bytes.
func (x *exchange) logAccess() {
	log := x.api.opts.AccessLog
	if log == nil {
		return
	}
	out := x.sent
	if !x.Started() {
		out = int64(x.Size())
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "HTTP request",
		slog.String("method", x.Method),
		slog.String("path", x.Path),
		slog.Int("status", x.Status),
		slog.Int64("received", x.received),
		slog.Int64("sent", out),
		slog.Duration("duration", time.Duration(infer.Now()-x.began)),
		slog.String("model", x.model),
		slog.String("id", x.id),
		slog.String("peer", x.RemoteAddr()),
		slog.Bool("disconnected", x.disconnected),
	)
}
