package model

import (
	"io"
	"math/rand/v2"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// data returns the bytes of an input, which was checked.
func (p *warmUpPlan) data(in *warmUpInput, from *inferencepb.ModelWarmup_Input) (*tensor.Buffer, error) {
	like := in.dataType
	if like == tensor.Bytes {
		like = tensor.Uint32 // the length of an empty string
	}
	size, err := in.shape.ByteSize(like)
	if err != nil {
		return nil, status.New(status.InvalidArg, "warmup setting for input '%s': shape %v: %w", in.name, in.shape, err)
	}
	switch from.GetInputDataType().(type) {
	case *inferencepb.ModelWarmup_Input_RandomData:
		return p.buffer(in, size, randomData)
	case *inferencepb.ModelWarmup_Input_InputDataFile:
		return p.file(in, size, from.GetInputDataFile())
	}
	return p.buffer(in, size, zeroData)
}

func (p *warmUpPlan) buffer(in *warmUpInput, size int64, fill func(tensor.DataType, []byte)) (*tensor.Buffer, error) {
	buf, err := p.opts.Pool.TryGet(int(size))
	if err != nil {
		return nil, status.New(status.Internal, "warmup setting for input '%s': no memory for shape %v: %w", in.name, in.shape, err)
	}
	fill(in.dataType, buf.Bytes())
	return buf, nil
}

func zeroData(_ tensor.DataType, mem []byte) { clear(mem) }

// randomData fills mem with random bytes. Booleans are 0 or 1; strings are empty, as random
// bytes contain no valid length.
func randomData(d tensor.DataType, mem []byte) {
	if d == tensor.Bytes {
		clear(mem)
		return
	}
	for i := range mem {
		mem[i] = byte(rand.Uint32()) //nolint:gosec // not for secrets
		if d == tensor.Bool {
			mem[i] &= 1
		}
	}
}

// file reads the beginning of a data file or, for strings, all of it.
func (p *warmUpPlan) file(in *warmUpInput, size int64, name string) (*tensor.Buffer, error) {
	f, length, err := modelconfig.OpenWarmup(p.opts.Dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if in.dataType == tensor.Bytes {
		size = length
	}
	var failed error
	buf, err := p.buffer(in, size, func(_ tensor.DataType, mem []byte) { _, failed = io.ReadFull(f, mem) })
	if err == nil && failed != nil {
		buf.Release()
		err = status.New(status.Internal, "reading warm-up data file %s: %w", name, failed)
	}
	return buf, err
}
