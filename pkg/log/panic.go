package log

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"
)

// Panicked logs a contained panic with its stack, as an error at the place of its caller. args are attributes.
func Panicked(to *slog.Logger, msg string, panicked any, args ...any) {
	ctx := context.Background()
	if !to.Enabled(ctx, slog.LevelError) {
		return
	}
	var caller [1]uintptr
	runtime.Callers(2, caller[:])
	r := slog.NewRecord(time.Now(), slog.LevelError, msg, caller[0])
	r.Add(args...)
	r.Add("panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
	_ = to.Handler().Handle(ctx, r)
}
