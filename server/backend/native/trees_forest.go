//go:build cgo && linux

package native

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden
#cgo noescape trt_predict
#cgo nocallback trt_predict
#include <stdlib.h>
#include "trees.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"triton/pkg/status"
)

// treesFunctions are the functions of the C APIs, in the order of the tables of the C layer.
var treesFunctions = [...][]string{
	xgboost: {
		"XGBGetLastError", "XGBoosterCreate", "XGBoosterFree", "XGBoosterLoadModel", "XGBoosterSetParam", "XGBoosterSaveJsonConfig",
		"XGBoosterGetNumFeature", "XGBoosterPredictFromDense",
	},
	lightgbm: {
		"LGBM_GetLastError", "LGBM_BoosterCreateFromModelfile", "LGBM_BoosterFree", "LGBM_BoosterGetNumFeature", "LGBM_BoosterNumModelPerIteration",
		"LGBM_BoosterPredictForMat", "LGBM_BoosterPredictForMatSingleRowFastInit", "LGBM_BoosterPredictForMatSingleRowFast", "LGBM_FastConfigFree",
	},
	treelite: {
		"TreeliteGetLastError", "TreeliteDeserializeModelFromFile", "TreeliteFreeModel", "TreeliteQueryNumFeature", "TreeliteGetInputType",
		"TreeliteGTILParseConfig", "TreeliteGTILGetOutputShape", "TreeliteGTILPredict", "TreeliteGTILDeleteConfig",
	},
}

// treesOpened has the path of each opened library. It is global because libraries are: they are
// never unloaded.
var treesOpened struct {
	sync.Mutex
	path [len(treesLibraries)]string
}

// open opens the library of a kind once per process.
func (e *trees) open(k treesKind, pairs map[string]string) error {
	treesOpened.Lock()
	defer treesOpened.Unlock()
	if treesOpened.path[k] != "" {
		return nil
	}
	l := treesLibraries[k]
	l.Backend = e.name
	path, err := e.search.find(l, pairs)
	if err != nil {
		return err
	}
	if err := openLibrary(path, treesFunctions[k], unsafe.Pointer(&C.trt_trees_tables[k].function)); err != nil {
		return err
	}
	treesOpened.path[k] = path
	return nil
}

// forest is a model in C memory.
type forest struct {
	forestTraits
	kind treesKind
	ptr  *C.trt_forest
}

func loadForest(s treesSettings, path string) (*forest, error) {
	f := &forest{kind: s.kind, ptr: (*C.trt_forest)(C.calloc(1, C.sizeof_trt_forest))}
	if f.ptr == nil {
		return nil, status.New(status.Internal, "no memory for a model")
	}
	f.ptr.engine, f.ptr.threads = C.int32_t(s.kind), C.int32_t(s.threads)
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if C.trt_forest_load(f.ptr, name) != 0 {
		defer f.free()
		return nil, f.kind.fail("cannot load "+path, C.GoString(&f.ptr.error[0]))
	}
	var err error
	switch s.kind {
	case xgboost:
		f.forestTraits, err = describeXGBoost([]byte(C.GoString(f.ptr.about)))
		f.ptr.margin = C.int32_t(truth(f.margin))
	case lightgbm:
		f.forestTraits, err = describeLightGBM(path, int(f.ptr.groups))
	}
	f.features = int(f.ptr.features)
	if err != nil {
		f.free()
		return nil, err
	}
	if err := f.warm(); err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

// warm predicts a row of zeros: XGBoost configures a model at its first prediction, which
// other predictions must not overlap.
func (f *forest) warm() error {
	if f.kind != xgboost || f.features == 0 {
		return nil
	}
	p, err := f.prediction()
	if err == nil {
		_, err = p.predict(make([]byte, 4*f.features), 1, f.features)
		p.Close()
	}
	return err
}

func (f *forest) free() {
	C.trt_forest_free(f.ptr)
	f.ptr = nil
}

// forestPrediction is what an instance predicts with, in C memory.
type forestPrediction struct {
	ptr  *C.trt_prediction
	kind treesKind
}

func (f *forest) prediction() (*forestPrediction, error) {
	p := &forestPrediction{(*C.trt_prediction)(C.calloc(1, C.sizeof_trt_prediction)), f.kind}
	if p.ptr == nil {
		return nil, status.New(status.Internal, "no memory for an instance")
	}
	p.ptr.forest = f.ptr
	return p, nil
}

// predict returns the values of the rows, which are valid until the next call.
func (p *forestPrediction) predict(x []byte, rows, columns int) ([]float64, error) {
	if C.trt_predict(p.ptr, (*C.float)(unsafe.Pointer(unsafe.SliceData(x))), C.uint64_t(rows), C.uint64_t(columns)) != 0 {
		return nil, p.kind.fail("cannot predict", C.GoString(&p.ptr.error[0]))
	}
	return unsafe.Slice((*float64)(p.ptr.y), int(p.ptr.n)), nil
}

// Close frees the memory of the runs.
func (p *forestPrediction) Close() {
	C.trt_prediction_free(p.ptr)
	p.ptr = nil
}
