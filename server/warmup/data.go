package warmup

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// dataFolder is the folder of a model's directory with the data files.
const dataFolder = "warmup"

// data returns the bytes of an input.
func (p *Plan) data(in *input, from *inferencepb.ModelWarmup_Input) (*tensor.Buffer, error) {
	like := in.dataType
	if like == tensor.Bytes {
		like = tensor.Uint32 // the length of an empty string
	}
	size, err := in.shape.ByteSize(like)
	if err != nil {
		return nil, status.New(status.InvalidArg, "warmup setting for input '%s': shape %v: %w", in.name, in.shape, err)
	}
	switch from.GetInputDataType().(type) {
	case *inferencepb.ModelWarmup_Input_ZeroData:
		return p.buffer(in, size, zero)
	case *inferencepb.ModelWarmup_Input_RandomData:
		return p.buffer(in, size, random)
	case *inferencepb.ModelWarmup_Input_InputDataFile:
		return p.file(in, size, from.GetInputDataFile())
	}
	return nil, status.New(status.InvalidArg, "[request id: <id_unknown>] warmup setting expects input '%s' to have input_data_type set", in.name)
}

func (p *Plan) buffer(in *input, size int64, fill func(tensor.DataType, []byte)) (*tensor.Buffer, error) {
	buf, err := p.opts.Pool.TryGet(int(size))
	if err != nil {
		return nil, status.New(status.Internal, "warmup setting for input '%s': no memory for shape %v: %w", in.name, in.shape, err)
	}
	fill(in.dataType, buf.Bytes())
	return buf, nil
}

func zero(_ tensor.DataType, mem []byte) { clear(mem) }

// random fills mem with random bytes. Booleans are 0 or 1; strings are empty, as random
// bytes contain no valid length.
func random(d tensor.DataType, mem []byte) {
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
func (p *Plan) file(in *input, size int64, name string) (*tensor.Buffer, error) {
	f, length, err := open(p.opts.Dir, name)
	if err != nil {
		return nil, status.New(status.Internal, "failed to open text file for read %s: %s", filepath.Join(p.opts.Dir, dataFolder)+"/"+name, status.Strerror(err))
	}
	defer f.Close()
	switch {
	case in.dataType == tensor.Bytes:
		size = length
	case length < size:
		return nil, status.New(status.InvalidArg,
			"[request id: <id_unknown>] warmup setting expects %d bytes, but the data provided from %sonly has %d bytes", size, name, length)
	}
	var failed error
	buf, err := p.buffer(in, size, func(_ tensor.DataType, mem []byte) { _, failed = io.ReadFull(f, mem) })
	if err == nil && failed != nil {
		buf.Release()
		err = status.New(status.Internal, "reading warm-up data file %s: %w", name, failed)
	}
	return buf, err
}

// open opens a regular file in the model's directory.
func open(dir, name string) (*os.File, int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	path := filepath.Join(dataFolder, name)
	info, err := root.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("not a file")
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}
