package httpapi

import (
	"context"
	"log/slog"
	"time"

	"triton/server/infer"
)

// logAccess writes one record about the request, when requests are logged. Sizes
// are those of the bodies, in bytes.
func (x *exchange) logAccess() {
	log := x.api.opts.Access
	if log == nil {
		return
	}
	out := x.sent
	if !x.started {
		out = int64(x.size())
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, "HTTP request",
		slog.String("method", x.method),
		slog.String("path", x.path),
		slog.Int("status", x.status),
		slog.Int64("received", x.received),
		slog.Int64("sent", out),
		slog.Duration("duration", time.Duration(infer.Now()-x.began)),
		slog.String("model", x.model),
		slog.String("id", x.id),
		slog.String("peer", x.remote),
		slog.Bool("gone", x.gone),
	)
}
