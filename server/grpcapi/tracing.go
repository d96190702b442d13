package grpcapi

import (
	"context"

	"google.golang.org/grpc/metadata"

	"triton/server/frontend"
	"triton/server/infer"
)

// clock holds the times of a request before its model is known. They are 0 while no request can
// be traced.
type clock struct{ waiting, arrived int64 }

func (s *service) startClock() clock { return clock{waiting: s.tracing.Now()} }

func (c *clock) read(s *service) { c.arrived = s.tracing.Now() }

// sample attaches a trace to the request if it is sampled; else it returns nil.
func (s *service) sample(ctx context.Context, r *infer.Request, c clock) *frontend.Trace {
	if !s.tracing.Active() {
		return nil // before the closure is allocated
	}
	t := s.tracing.Sample(r.ModelName, func(name string) string {
		if v := metadata.ValueFromIncomingContext(ctx, name); len(v) > 0 {
			return v[0]
		}
		return ""
	}, c.waiting, c.arrived)
	t.Attach(r)
	return t
}
