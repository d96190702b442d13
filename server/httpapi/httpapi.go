// Package httpapi is the KServe v2 API over HTTP: routes, compression and error replies
// around an infer.Service. Package http1 handles connections; packages kserve/rest and
// modelconfig encode messages.
package httpapi

import (
	"context"
	"log/slog"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/kserve/rest"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/access"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/readiness"
	"triton/server/shm"
	"triton/server/trace"
)

// Options are the settings of the frontend.
type Options struct {
	Pool *tensor.Pool
	Log  *slog.Logger
	// Memory is the memory for requests; nil has no limit. It counts that of Pool if Pool has it as
	// its account.
	Memory *memory.Budget
	// MaxInput is --http-max-input-size; 0 stands for 64 MiB.
	MaxInput int64
	// MaxUnread bounds the unread responses of a stream in bytes; 0 stands for
	// infer.DefaultResponseBacklog.
	MaxUnread int

	Regions *shm.Manager  // the shared memory of clients; nil: none
	Tracer  *trace.Tracer // samples requests; nil: none are traced
	Logs    *log.Sink     // what /v2/logging changes; nil: none
	// Restricted says which endpoints need a secret header.
	Restricted frontend.Restrictions
	// Guard decides who may do what; nil: everybody may do everything.
	Guard *access.Guard
	// RefuseControl refuses the calls that a port for control serves.
	RefuseControl bool
	// Forward matches the names of headers that become request parameters; nil: none.
	Forward *regexp.Regexp
	// Origins are the web origins that browsers may call from, "*" for all. Without origins
	// CORS is off.
	Origins []string
	// AccessLog gets a record of every request; nil: none.
	AccessLog *slog.Logger
	// Metrics are the source of load reports; nil: none are sent.
	Metrics prometheus.Gatherer
	// Traffic has the traffic rules; nil: the server has none.
	Traffic Traffic
	// Readiness answers the verbose health checks; nil: there are none.
	Readiness func() readiness.Report
	// State is the fleet state of the server; nil: there is none.
	State State
}

// State is the fleet state of a server, as JSON documents.
type State interface {
	// ExportState returns a document of what serves.
	ExportState(ctx context.Context) ([]byte, error)
	// ApplyState brings the server to a document once and returns what was done. With dry it
	// returns only what would be done.
	ApplyState(ctx context.Context, document []byte, dry bool) ([]byte, error)
}

type api struct {
	svc      infer.Service
	opts     Options
	pool     *tensor.Pool
	log      *slog.Logger
	maxInput int64
	tracing  frontend.Tracing
	timed    bool // requests may be traced or logged
}

// New makes the API. It starts nothing.
func New(svc infer.Service, o Options) http1.Handler {
	a := &api{svc: svc, opts: o, pool: o.Pool, log: o.Log, maxInput: o.MaxInput}
	if a.maxInput <= 0 {
		a.maxInput = rest.DefaultMaxInput
	}
	if a.pool == nil {
		a.pool = tensor.NewPool()
	}
	if o.MaxUnread == 0 {
		a.opts.MaxUnread = infer.DefaultResponseBacklog
	}
	if o.Regions == nil {
		a.opts.Regions = shm.New(shm.Options{})
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.tracing = frontend.HTTPTracing(o.Tracer, a.log)
	a.timed = o.Tracer != nil || o.AccessLog != nil
	return a
}
