package kserve

import "triton/pkg/tensor"

// ReleaseTensors releases the data of all tensors.
func ReleaseTensors(ts []Tensor) {
	for i := range ts {
		ts[i].Data.Release()
	}
}

// maxReused is the longest list whose storage is reused: a single message of a million
// inputs must not occupy a pool for ever.
const maxReused = 256

// emptied returns the storage of s with its elements cleared.
func emptied[T any](s []T) []T {
	if cap(s) > maxReused {
		return nil
	}
	clear(s)
	return s[:0]
}

// emptiedTensors is emptied, but keeps the storage of the shapes.
func emptiedTensors(ts []Tensor) []Tensor {
	if cap(ts) > maxReused {
		return nil
	}
	for i := range ts {
		t := &ts[i]
		t.Name = ""
		if cap(t.Shape) > maxReused {
			t.Shape = nil
		}
	}
	return ts[:0]
}

func addTensor(ts []Tensor) ([]Tensor, *Tensor) {
	if n := len(ts); n < cap(ts) {
		ts = ts[:n+1]
		t := &ts[n]
		t.Name, t.DataType, t.Shape = "", tensor.Invalid, t.Shape[:0]
		t.Data.Release()
		return ts, t
	}
	ts = append(ts, Tensor{})
	return ts, &ts[len(ts)-1]
}

func find(ts []Tensor, name string) *Tensor {
	for i := range ts {
		if ts[i].Name == name {
			return &ts[i]
		}
	}
	return nil
}
