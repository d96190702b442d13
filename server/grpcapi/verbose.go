package grpcapi

import (
	"context"
	"path"

	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/log"
	"triton/server/infer"
)

// logRequest logs a call. Triton logs its internal steps, one of which names the call as well.
func (o *Options) logRequest(method string) {
	log.Lazy(o.Log, 1, func() string { return "GRPC request: " + path.Base(method) })
}

// logFailed logs the failure of an inference request.
func (o *Options) logFailed(id string, err error) {
	if err != nil {
		log.Lazy(o.Log, 1, func() string { return infer.Tag(id) + "Infer failed: " + grpcstatus.Convert(err).Message() })
	}
}

// logCancelled writes to the verbose log that the client has cancelled. The text is
// Triton's as far as test suites match it.
func (s *service) logCancelled(ctx context.Context, handler string) {
	if ctx.Err() != nil {
		log.Lazy(s.opts.Log, 1, func() string { return "Cancellation notification received for " + handler + ", rpc_ok=1" })
	}
}
