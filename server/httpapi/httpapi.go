// Package httpapi is the HTTP/REST front end: routes, framing, compression and
// error answers around the infer.Service. The form of the messages is the
// business of kserve/rest and modelconfig; what a request does is the core's.
package httpapi

import (
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/kserve/rest"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/restricted"
	"triton/server/shm"
	"triton/server/trace"
)

// Options are the settings of the front end.
type Options struct {
	Pool *tensor.Pool
	Log  *slog.Logger
	// MaxInput is --http-max-input-size; 0 stands for 64 MiB.
	MaxInput int64
	// Linger is how long a server that ends waits on idle connections for requests
	// that were sent before the client could know, counted from the last one that
	// came over any connection. They are answered with the remark to close. 0
	// stands for 250 ms.
	Linger time.Duration
	// MinRate is how many bytes a second of a body must come on average in each
	// period of two minutes; 0: one byte in each period.
	MinRate int64
	// MaxConnections is how many connections a Server serves at a time; others are
	// answered 503. 0: no limit.
	MaxConnections int
	// MaxUnread is what infer.Backlog allows a stream, in bytes; 0 stands for
	// infer.DefaultBacklog.
	MaxUnread int

	// Regions is the shared memory of clients, Tracer samples requests, Logs is
	// what /v2/logging changes. Each may be nil: the server has none.
	Regions *shm.Manager
	Tracer  *trace.Tracer
	Logs    *log.Sink
	// Restricted says which endpoints need a secret header.
	Restricted restricted.Rules
	// Forward chooses by name which headers become request parameters; nil: none.
	Forward *regexp.Regexp
	// Origins are the web origins that browsers may call from, "*" for all; none
	// turns CORS off.
	Origins []string
	// Access logs every request; nil does not.
	Access *slog.Logger
	// Metrics are read for load reports; nil: none are sent.
	Metrics prometheus.Gatherer
}

const defaultLinger = 250 * time.Millisecond

// api is the front end without a transport.
type api struct {
	svc       infer.Service
	opts      Options
	pool      *tensor.Pool
	log       *slog.Logger
	maxInput  int64
	pace      pace
	timed     bool // somebody wants to know when requests begin
	exchanges sync.Pool
}

func newAPI(svc infer.Service, o Options) *api {
	a := &api{svc: svc, opts: o, pool: o.Pool, log: o.Log, maxInput: o.MaxInput, pace: newPace(o.MinRate)}
	if a.maxInput <= 0 {
		a.maxInput = rest.DefaultMaxInput
	}
	if a.pool == nil {
		a.pool = tensor.NewPool()
	}
	if o.MaxUnread == 0 {
		a.opts.MaxUnread = infer.DefaultBacklog
	}
	if o.Regions == nil {
		a.opts.Regions = shm.New(shm.Options{})
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.timed = o.Tracer != nil || o.Access != nil
	a.exchanges.New = a.newExchange
	return a
}

// New is the front end as an http.Handler. It starts nothing.
func New(svc infer.Service, o Options) http.Handler {
	return &handler{api: newAPI(svc, o)}
}
