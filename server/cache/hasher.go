package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"sync"

	"triton/pkg/kserve"
	"triton/server/infer"
)

// hasher computes keys. The length or kind of every part precedes it, so that no two
// different requests hash the same bytes.
type hasher struct {
	hash  hash.Hash
	text  []byte // not hashed yet
	order []int
}

var hashers = sync.Pool{New: func() any { return &hasher{hash: sha256.New()} }}

// keyOf returns the key of a request to the model version of scope. It does not depend on
// the request's ID, priority and timeout, and on the form in which outputs are returned.
func keyOf(scope string, r *infer.Request) (k Key) {
	h := hashers.Get().(*hasher)
	h.hash.Reset()
	h.text = h.text[:0]
	h.string(scope)
	h.inputs(r.Inputs)
	h.outputs(r.Outputs)
	h.sequence(r)
	h.parameters(r.Parameters)
	h.flush()
	h.text = h.hash.Sum(h.text)
	copy(k[:], h.text)
	if cap(h.text) > maxKeptText {
		h.text = nil
	}
	hashers.Put(h)
	return k
}

const (
	maxCollected = 1 << 10  // parts up to this size are collected in text and hashed together
	maxKeptText  = 64 << 10 // largest buffer that is kept for the next request
)

func (h *hasher) flush() {
	h.hash.Write(h.text)
	h.text = h.text[:0]
}

func (h *hasher) uint(n uint64)   { h.text = binary.LittleEndian.AppendUint64(h.text, n) }
func (h *hasher) string(s string) { h.uint(uint64(len(s))); h.text = append(h.text, s...) }

// sorted returns the indices of n things, sorted by name.
func (h *hasher) sorted(n int, name func(i int) string) []int {
	h.order = h.order[:0]
	for i := range n {
		h.order = append(h.order, i)
	}
	slices.SortFunc(h.order, func(a, b int) int { return cmp.Compare(name(a), name(b)) })
	return h.order
}

func (h *hasher) inputs(inputs []kserve.Tensor) {
	h.uint(uint64(len(inputs)))
	for _, i := range h.sorted(len(inputs), func(i int) string { return inputs[i].Name }) {
		t := &inputs[i]
		h.string(t.Name)
		h.uint(uint64(t.DataType))
		h.uint(uint64(len(t.Shape)))
		for _, d := range t.Shape {
			h.uint(uint64(d))
		}
		h.uint(uint64(t.Data.Len()))
		for s := range t.Data.Segments() {
			h.bytes(t.Data.Segment(s).Bytes())
		}
	}
}

func (h *hasher) bytes(b []byte) {
	if len(b) <= maxCollected {
		h.text = append(h.text, b...)
		return
	}
	h.flush()
	h.hash.Write(b)
}

// outputs hashes the requested outputs; an empty list requests all.
func (h *hasher) outputs(outputs []kserve.RequestedOutput) {
	h.uint(uint64(len(outputs)))
	for _, i := range h.sorted(len(outputs), func(i int) string { return outputs[i].Name }) {
		h.string(outputs[i].Name)
	}
}

// sequence hashes the correlation ID, which ensembles echo.
func (h *hasher) sequence(r *infer.Request) {
	flags := uint64(0)
	if r.SequenceStart {
		flags |= 1
	}
	if r.SequenceEnd {
		flags |= 2
	}
	h.uint(flags)
	h.uint(r.SequenceID)
	h.string(r.SequenceIDStr)
}

// parameters hashes the parameters that backends may read.
func (h *hasher) parameters(all []kserve.Parameter) {
	h.uint(uint64(len(all)))
	for _, i := range h.sorted(len(all), func(i int) string { return all[i].Name }) {
		p := &all[i]
		h.string(p.Name)
		h.uint(uint64(p.Kind))
		switch p.Kind {
		case kserve.ParamBool:
			n := uint64(0)
			if p.Bool {
				n = 1
			}
			h.uint(n)
		case kserve.ParamInt:
			h.uint(uint64(p.Int))
		case kserve.ParamUint:
			h.uint(p.Uint)
		case kserve.ParamDouble:
			h.uint(math.Float64bits(p.Double))
		case kserve.ParamString:
			h.string(p.String)
		}
	}
}
