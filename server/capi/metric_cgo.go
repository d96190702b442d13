//go:build cgo && linux

package capi

// #include "value.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"triton/pkg/status"
	"triton/server/backend"
)

// metrics holds the families of the process: the functions for metrics name no server. Of servers'
// own families those that Triton has too are refused.
var metrics = backend.NewMetrics(nil)

// Metrics returns the metrics of C code.
func Metrics() *backend.Metrics { return metrics }

// argument makes an error that tells of an argument one of the API.
func argument(err error) error {
	if e := status.From(err); e != nil && e.Code == status.Internal {
		return status.New(status.InvalidArg, "%s", e.Msg)
	}
	return err
}

//export capiFamily
func capiFamily(name, description *C.char, kind C.int, handle *C.uintptr_t) *C.TRITONSERVER_Error {
	return call(func() error {
		f, err := metrics.Family(C.GoString(name), C.GoString(description), backend.MetricKind(kind))
		if err != nil {
			return argument(err)
		}
		*handle = C.uintptr_t(cgo.NewHandle(f))
		return nil
	})
}

//export capiFamilyRelease
func capiFamilyRelease(handle C.uintptr_t) {
	_ = call(func() error {
		h := cgo.Handle(handle)
		h.Value().(*backend.MetricFamily).Release()
		h.Delete()
		return nil
	})
}

//export capiMetric
func capiMetric(family C.uintptr_t, pairs **C.char, count C.uint64_t, bounds *C.double, n C.uint64_t, handle *C.uintptr_t) *C.TRITONSERVER_Error {
	return call(func() error {
		texts := unsafe.Slice(pairs, 2*count)
		labels := make([]backend.MetricLabel, count)
		for i := range labels {
			labels[i] = backend.MetricLabel{Name: C.GoString(texts[2*i]), Value: C.GoString(texts[2*i+1])}
		}
		limits := unsafe.Slice((*float64)(unsafe.Pointer(bounds)), n)
		m, err := cgo.Handle(family).Value().(*backend.MetricFamily).Metric(labels, limits)
		if err != nil {
			return argument(err)
		}
		*handle = C.uintptr_t(cgo.NewHandle(m))
		return nil
	})
}

func metricOf(handle C.uintptr_t) *backend.Metric {
	return cgo.Handle(handle).Value().(*backend.Metric)
}

//export capiMetricRelease
func capiMetricRelease(handle C.uintptr_t) {
	_ = call(func() error {
		metricOf(handle).Release()
		cgo.Handle(handle).Delete()
		return nil
	})
}

//export capiMetricValue
func capiMetricValue(handle C.uintptr_t, value *C.double) *C.TRITONSERVER_Error {
	return call(func() error {
		v, err := metricOf(handle).Value()
		if err == nil {
			*value = C.double(v)
		}
		return err
	})
}

//export capiMetricIncrement
func capiMetricIncrement(handle C.uintptr_t, v C.double) *C.TRITONSERVER_Error {
	return call(func() error { return metricOf(handle).Increment(float64(v)) })
}

//export capiMetricSet
func capiMetricSet(handle C.uintptr_t, v C.double) *C.TRITONSERVER_Error {
	return call(func() error { return metricOf(handle).Set(float64(v)) })
}

//export capiMetricObserve
func capiMetricObserve(handle C.uintptr_t, v C.double) *C.TRITONSERVER_Error {
	return call(func() error { return metricOf(handle).Observe(float64(v)) })
}
