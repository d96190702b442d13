package grpcapi

import (
	"log/slog"
	"runtime/debug"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/infer"
)

// guard keeps a panic in one call from ending the process, which is what gRPC
// makes of it.
type guard struct{ log *slog.Logger }

var errPanic = status.New(status.Internal, "the server met a fault of its own while it answered")

func (g guard) recover(method string, err *error) {
	if p := recover(); p != nil {
		g.report(method, p)
		*err = failure(errPanic)
	}
}

func (g guard) report(method string, p any) {
	if g.log != nil {
		g.log.Error("panic while serving gRPC", "method", method, "panic", p, "stack", string(debug.Stack()))
	}
}

// submit hands a request to its model. A panic there is an error, unless a queue
// has the request already: then that will answer it.
func (g guard) submit(m infer.Model, r *infer.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.report(rpc.ModelStreamInfer, p)
			if r.State() == infer.Decoded {
				err = errPanic
			}
		}
	}()
	return m.Submit(r)
}
