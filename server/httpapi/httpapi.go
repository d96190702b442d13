// Package httpapi is the HTTP/REST front end: routes, framing, compression and
// error answers around the infer.Service. The form of the messages is the
// business of kserve/rest and modelconfig; what a request does is the core's.
package httpapi

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"triton/pkg/kserve/rest"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Options are the settings of the front end.
type Options struct {
	Pool *tensor.Pool
	Log  *slog.Logger
	// MaxInput is --http-max-input-size; 0 stands for 64 MiB.
	MaxInput int64
	// Linger is how long a draining Server waits on an idle connection for a
	// request that was sent before the client could know; it is answered with
	// the remark to close. 0 stands for 50 ms.
	Linger time.Duration
}

const defaultLinger = 50 * time.Millisecond

// api is the front end without a transport.
type api struct {
	svc       infer.Service
	pool      *tensor.Pool
	log       *slog.Logger
	maxInput  int64
	exchanges sync.Pool
}

func newAPI(svc infer.Service, o Options) *api {
	a := &api{svc: svc, pool: o.Pool, log: o.Log, maxInput: o.MaxInput}
	if a.maxInput <= 0 {
		a.maxInput = rest.DefaultMaxInput
	}
	if a.pool == nil {
		a.pool = tensor.NewPool()
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.exchanges.New = func() any {
		x := &exchange{api: a}
		x.decoder.Pool, x.decoder.MaxInput = a.pool, a.maxInput
		return x
	}
	return a
}

// New is the front end as an http.Handler. It starts nothing.
func New(svc infer.Service, o Options) http.Handler {
	return &handler{api: newAPI(svc, o)}
}
