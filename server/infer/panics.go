package infer

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// logPanic logs a contained panic in code that handles the request.
func (r *Request) logPanic(where string, p any) { logPanic(r.Log, r, where, p) }

// logPanic logs a contained panic with its stack. log and r may be nil.
func logPanic(log *slog.Logger, r *Request, where string, p any) {
	if log == nil {
		return
	}
	var attrs []any
	if r != nil {
		attrs = append(attrs, "model", r.ModelName, "version", r.ModelVersion, "id", r.ID)
	}
	log.Error("panic in "+where, append(attrs, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
}
