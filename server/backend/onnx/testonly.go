//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

import "triton/server/infer"

// runBare runs the batch n times over the same values and sends no response: the cost
// of ONNX Runtime alone, which the benchmarks compare with Execute's. It is not in a
// test file because test files cannot use cgo.
func (i *instance) runBare(b *infer.Batch, n int) error {
	if err := i.gather.Collect(b); err != nil {
		return err
	}
	defer i.gather.Release()
	defer i.dropOutputs()
	i.setInputs()
	if _, err := i.setOutputs(b, true); err != nil {
		return err
	}
	if C.trt_ort_run_bare(i.call, C.int64_t(n)) != 0 {
		return i.runError()
	}
	return nil
}
