package lane

import (
	"errors"
	"slices"

	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
)

// flatBytes is the size up to which a prepared request is one slice: one write is
// cheaper than a vector, and the copy does not multiply the memory of large
// tensors.
const flatBytes = 64 << 10

// Prepared is one request in wire form, for any number of sends on Conns of the
// client that made it.
type Prepared struct {
	segments [][]byte // HTTP: head and body
	message  mem.BufferSlice
	messages []mem.BufferSlice // of a call of Method with streams
	size     int
	release  func()
	// sequence marks a request that changes the state of a sequence: it must not
	// run twice.
	sequence bool
	// addSequence marks a request of PrepareSequence: each send adds the parameters of the
	// sequence, over HTTP between the first segment and the others.
	addSequence bool
}

var (
	errRaw      = errors.New("a raw request cannot be prepared: name its input")
	errSequence = errors.New("PrepareSequence takes the sequence from Exchange.Sequence, not from the request")
)

// Size returns the size of the request in bytes.
func (p *Prepared) Size() int { return p.size }

// Release frees the memory after the last send.
func (p *Prepared) Release() {
	if p.release != nil {
		p.release()
	}
	*p = Prepared{}
}

// newPrepared appends the bytes of the tensors to the head.
func newPrepared(head []byte, req *kserve.Request) *Prepared {
	p := &Prepared{
		segments: [][]byte{head}, size: len(head),
		sequence: req.SequenceID != 0 || req.SequenceIDStr != "",
	}
	for i := range req.Inputs {
		d := &req.Inputs[i].Data
		for k := range d.Segments() {
			b := d.Segment(k).Bytes()
			p.segments = append(p.segments, b)
			p.size += len(b)
		}
	}
	if p.size <= flatBytes {
		p.segments = [][]byte{slices.Concat(p.segments...)}
	}
	return p
}

// newPreparedSequence appends the bytes of the tensors to foot, which follows the
// parameters of the sequence.
func newPreparedSequence(head, foot []byte, req *kserve.Request) *Prepared {
	p := newPrepared(foot, req)
	p.segments = append([][]byte{head}, p.segments...)
	p.size += len(head) + sequenceWidth
	p.sequence, p.addSequence = true, true
	return p
}
