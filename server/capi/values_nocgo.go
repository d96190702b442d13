//go:build !cgo || !linux

package capi

import (
	"log/slog"

	"triton/pkg/log"
	"triton/server/backend"
)

var metrics = backend.NewMetrics(nil)

// Metrics returns the metrics of C code, of which this program has none.
func Metrics() *backend.Metrics { return metrics }

// SetLog does nothing: this program has no C code.
func SetLog(*slog.Logger, *log.Sink) {}
