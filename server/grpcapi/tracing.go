package grpcapi

import (
	"context"

	"google.golang.org/grpc/metadata"

	"triton/server/infer"
	"triton/server/trace"
)

// clock has the moments before it is known which model a request is for; they
// are 0 while nothing is traced.
type clock struct{ waiting, arrived int64 }

// now is the time for traces.
func (s *service) now() int64 {
	if !s.opts.Tracer.Active() {
		return 0
	}
	return infer.Now()
}

func (s *service) startClock() clock { return clock{waiting: s.now()} }

func (c *clock) read(s *service) { c.arrived = s.now() }

// sample lets a trace follow the request, if it is one to be traced; nil if not.
func (s *service) sample(ctx context.Context, r *infer.Request, c clock) *trace.Trace {
	if !s.opts.Tracer.Active() {
		return nil // before the closure, which is memory
	}
	t := s.opts.Tracer.Sample(r.ModelName, func(name string) string {
		if v := metadata.ValueFromIncomingContext(ctx, name); len(v) > 0 {
			return v[0]
		}
		return ""
	})
	if t == nil {
		return nil
	}
	r.Trace = t
	t.Event("GRPC_WAITREAD_START", c.waiting)
	t.Event("GRPC_WAITREAD_END", c.arrived)
	return t
}
