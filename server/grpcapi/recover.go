package grpcapi

import (
	"log/slog"

	"triton/pkg/kserve/rpc"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/infer"
)

// panics turns a panic in a call into an error; gRPC would end the process.
type panics struct{ log *slog.Logger }

var errPanic = status.New(status.Internal, "internal error while the call was served; the server's log has the details")

func (g panics) recover(method string, err *error) {
	if p := recover(); p != nil {
		g.report(method, p)
		*err = statusError(errPanic)
	}
}

func (g panics) report(method string, p any) {
	if g.log != nil {
		log.Panicked(g.log, "panic while serving gRPC", p, "method", method)
	}
}

// submit submits a request to its model. A panic becomes an error, unless a queue has
// accepted the request already: then the queue will answer it.
func (g panics) submit(m infer.Model, r *infer.Request) (err error) {
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
