package rpc

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/tensor"
)

// Arriving is a ModelInferRequest of which only the first bytes are known, which end in the raw
// contents of its only input.
type Arriving struct {
	ModelName, ModelVersion string
	// Contents is where the raw contents begin, and Size how long they are.
	Contents, Size int
}

// ReadArriving reads the first bytes of a message of total bytes. It reports false if they end
// anywhere else, if the message has another number of inputs, or if it is malformed.
func (c *Codec) ReadArriving(first mem.BufferSlice, total int) (a Arriving, ok bool) {
	d := decoder{codec: c, limited: true}
	d.reset(first)
	have, inputs := d.left, 0
	for d.left > 0 {
		num, typ, err := d.tag()
		switch {
		case err != nil:
			return a, false
		case typ != protowire.BytesType:
			err = d.skip(num, typ, maxDepth)
		case num == 1:
			a.ModelName, err = d.name("model name")
		case num == 2:
			a.ModelVersion, err = d.name("model version")
		case num == requestRaw:
			size, err := d.uvarint()
			a.Contents, a.Size = have-d.left, int(size)
			return a, err == nil && inputs == 1 && size > uint64(d.left) && size <= uint64(total-a.Contents)
		default:
			if num == requestTensors {
				inputs++
			}
			err = d.skipBytes()
		}
		if err != nil {
			return a, false
		}
	}
	return a, false
}

// Arrived is a frame of a message that is tensor memory, not memory of the transport: the reader of
// the message has copied the raw contents into it while they arrived.
type Arrived struct {
	Frame  int // its index
	Buffer *tensor.Buffer
}

// Lend returns a frame over tensor memory of more than 1 KiB. It has a reference of its own.
func Lend(b *tensor.Buffer) mem.Buffer { return lend(tensor.Segment{Buffer: b, N: b.Len()}) }
