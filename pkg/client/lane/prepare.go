package lane

import (
	"errors"
	"slices"
)

// flatBytes is the size up to which a prepared request is one slice: one write is
// cheaper than a vector, and the copy does not multiply the memory of large
// tensors.
const flatBytes = 64 << 10

// Prepared is one request in wire form, for any number of sends on Conns of the
// client that made it.
type Prepared struct {
	segments [][]byte  // HTTP: head and body
	message  message   // gRPC
	messages []message // of a call of Method with streams
	failed   error     // why it cannot be sent
	size     int
	release  func()
	// sequence marks a request that changes the state of a sequence: it must not
	// run twice.
	sequence bool
	// addSequence marks a request of PrepareSequence: each send adds the parameters of the
	// sequence, over HTTP between the first segment and the others.
	addSequence bool
	custom      any // of Custom
}

// Custom returns a request of a Conn outside of this package, in the form of its own.
func Custom(request any, release func()) *Prepared {
	return &Prepared{custom: request, release: release}
}

// Custom returns the request of the function Custom, nil for other requests.
func (p *Prepared) Custom() any { return p.custom }

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
func newPrepared(head []byte, tail [][]byte) *Prepared {
	p := &Prepared{segments: append([][]byte{head}, tail...)}
	for _, b := range p.segments {
		p.size += len(b)
	}
	if p.size <= flatBytes {
		p.segments = [][]byte{slices.Concat(p.segments...)}
	}
	return p
}

// newPreparedSequence appends the bytes of the tensors to foot, which follows the
// parameters of the sequence.
func newPreparedSequence(head, foot []byte, tail [][]byte) *Prepared {
	p := newPrepared(foot, tail)
	p.segments = append([][]byte{head}, p.segments...)
	p.size += len(head) + sequenceWidth
	p.sequence, p.addSequence = true, true
	return p
}
