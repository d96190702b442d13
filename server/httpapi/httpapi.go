// Package httpapi is the HTTP/REST front end: routes, framing, compression and
// error answers around the infer.Service. The form of the messages is the
// business of kserve/rest and modelconfig; what a request does is the core's.
package httpapi

import (
	"log/slog"
	"net/http"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// Options are the settings of the front end.
type Options struct {
	Pool *tensor.Pool
	Log  *slog.Logger
	// MaxInput is --http-max-input-size; 0 stands for 64 MiB.
	MaxInput int64
}

// New is the front end as an http.Handler. It starts nothing.
func New(svc infer.Service, o Options) http.Handler {
	panic("to be written")
}
