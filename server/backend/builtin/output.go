package builtin

import (
	"encoding/binary"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// add appends an output of size bytes to a response. fill writes all of them, into the
// client's memory if possible. A request that does not want the output gets none. After
// an error the response has no such output.
func add(r *infer.Request, resp *infer.Response, name string, d tensor.DataType, shape tensor.Shape, size int, fill func(mem []byte)) error {
	if !r.Wants(name) {
		return nil
	}
	s, err := r.Alloc(infer.Output{Name: name, DataType: d, Size: size, Filled: true})
	if err != nil {
		return err
	}
	fill(s.Bytes())
	resp.Add(name, d, shape, tensor.SegmentData(s))
	return nil
}

// addNumber appends an output of one 32-bit number.
func addNumber(r *infer.Request, resp *infer.Response, name string, d tensor.DataType, shape tensor.Shape, v uint32) error {
	return add(r, resp, name, d, shape, 4, func(mem []byte) { binary.NativeEndian.PutUint32(mem, v) })
}
