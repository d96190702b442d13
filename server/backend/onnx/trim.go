//go:build cgo && (linux || darwin)

package onnx

/*
#include "ort.h"
*/
import "C"

// Trim gives memory that closed sessions have freed back to the system, where the C library can. It
// stops other allocations of the C heap meanwhile, for some milliseconds.
func Trim() { C.trt_ort_trim() }
