//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import (
	"context"

	"triton/server/backend"
	"triton/server/infer"
)

// runWatched is run, stopped when no caller needs the result: ONNX Runtime checks for
// that between nodes.
func (i *instance) runWatched(ctx context.Context, b *infer.Batch) (err error) {
	i.watch.Begin(ctx, b)
	defer func() {
		if !i.watch.End() {
			return
		}
		C.trt_ort_go(i.call)
		if err != nil {
			err = backend.Interrupted(ctx)
		}
	}()
	return i.run(b)
}

// stop makes the current run fail.
func (i *instance) stop() { C.trt_ort_stop(i.call) }
