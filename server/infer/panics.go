package infer

import (
	"log/slog"

	"triton/pkg/log"
)

// logPanic logs a contained panic in code that handles the request.
func (r *Request) logPanic(where string, p any) { logPanic(r.Log, r, where, p) }

// logPanic logs a contained panic with its stack. to and r may be nil.
func logPanic(to *slog.Logger, r *Request, where string, p any) {
	if to == nil {
		return
	}
	var attrs []any
	if r != nil {
		attrs = append(attrs, "model", r.ModelName, "version", r.ModelVersion, "id", r.ID)
	}
	log.Panicked(to, "panic in "+where, p, attrs...)
}
