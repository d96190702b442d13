package grpcapi

import (
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// guard keeps a panic in one call from ending the process, which is what gRPC
// makes of it.
type guard struct{ log *slog.Logger }

func (g guard) recover(method string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	if g.log != nil {
		g.log.Error("panic while serving gRPC", "method", method, "panic", p, "stack", string(debug.Stack()))
	}
	*err = grpcstatus.Error(codes.Internal, "the server met a fault of its own while it answered")
}
