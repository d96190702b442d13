//go:build cgo && linux

package capi

// #include "value.h"
import "C"

import (
	"context"
	"log/slog"
	"sync/atomic"

	"triton/pkg/log"
)

// current is the log of the process: TRITONSERVER_LogMessage names no server.
var current atomic.Pointer[slog.Logger]

var discard = slog.New(slog.DiscardHandler)

func logger() *slog.Logger {
	if l := current.Load(); l != nil {
		return l
	}
	return discard
}

// SetLog makes l the log of C code: that of the last server of the process, as in Triton. Its levels follow the
// settings of sink; without one they are those that l has now.
func SetLog(l *slog.Logger, sink *log.Sink) {
	current.Store(l)
	if sink != nil {
		sink.Watch(func(log.Settings) {
			if current.Load() == l { // otherwise another server has come since
				C.capi_log_enable(levels(l))
			}
		})
		return
	}
	C.capi_log_enable(levels(l))
}

// slogLevels are the levels of lines by TRITONSERVER_LogLevel.
var slogLevels = [...]slog.Level{
	C.TRITONSERVER_LOG_INFO:    slog.LevelInfo,
	C.TRITONSERVER_LOG_WARN:    slog.LevelWarn,
	C.TRITONSERVER_LOG_ERROR:   slog.LevelError,
	C.TRITONSERVER_LOG_VERBOSE: log.Verbose(1),
}

func levels(l *slog.Logger) (bits C.uint) {
	for i, level := range slogLevels {
		if l.Enabled(context.Background(), level) {
			bits |= 1 << i
		}
	}
	return bits
}

//export capiLog
func capiLog(level C.int, file *C.char, line C.int, msg *C.char) {
	defer func() { _ = recover() }() // a line of the log is not worth a process
	log.Foreign(context.Background(), logger(), slogLevels[level], C.GoString(file), int(line), C.GoString(msg))
}
