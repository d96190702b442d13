package grpcapi

import (
	"context"

	"triton/pkg/log"
)

// logCancelled writes to the verbose log that the client has cancelled. The text is
// Triton's as far as test suites match it.
func (s *service) logCancelled(ctx context.Context, handler string) {
	level := log.Verbose(1)
	if ctx.Err() == nil || s.opts.Log == nil || !s.opts.Log.Enabled(ctx, level) {
		return
	}
	s.opts.Log.Log(ctx, level, "Cancellation notification received for "+handler+", rpc_ok=1")
}
