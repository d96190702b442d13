package grpcapi

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/kserve/rpc"
	"triton/server/infer"
)

// callRecord holds the fields of a call's record in the access log.
type callRecord struct {
	model, id string // of the first request
	requests  int
}

func (c *callRecord) request(model, id string) {
	if c.requests++; c.requests == 1 {
		c.model, c.id = model, id
	}
}

// logCall writes the record of a call.
func logCall(ctx context.Context, to *slog.Logger, method string, start int64, record *callRecord, err error, more ...slog.Attr) {
	from := ""
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String("method", method),
		slog.String("code", grpcstatus.Code(err).String()),
		slog.Duration("duration", time.Duration(infer.Now()-start)),
		slog.String("peer", from))
	if record.model != "" {
		attrs = append(attrs, slog.String("model", record.model))
	}
	if record.id != "" {
		attrs = append(attrs, slog.String("id", record.id))
	}
	to.LogAttrs(ctx, slog.LevelInfo, "gRPC call", append(attrs, more...)...)
}

// logStream is logCall for a stream that has ended.
func logStream(s *stream, to *slog.Logger, start int64, err *error) {
	s.mu.Lock()
	record := s.record
	s.mu.Unlock()
	logCall(s.conn.Context(), to, rpc.ModelStreamInfer, start, &record, *err, slog.Int("requests", record.requests))
}

// logAdmin is logCall for a call that is not an inference.
func logAdmin(ctx context.Context, to *slog.Logger, req any, method string, start int64, err *error) {
	var record callRecord
	switch r := req.(type) {
	case interface{ GetModelName() string }:
		record.model = r.GetModelName()
	case interface{ GetName() string }:
		record.model = r.GetName()
	}
	logCall(ctx, to, method, start, &record, *err)
}
