package infer

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Output is an output that an engine asks memory for.
type Output struct {
	// Name is the output's name. Empty: nobody is to get it where a client wants
	// it, such as the state of a sequence or several outputs in one buffer.
	Name     string
	DataType tensor.DataType // of a named output
	Size     int             // bytes
	// At is where the engine wants the memory. It is a wish: the Place of the
	// buffer says where the memory is.
	At tensor.Location
	// Filled says that the engine writes every byte, or sends none. Without it
	// memory that was used before is cleared.
	Filled bool
}

// ResponseKeeper is a Tap that may keep responses longer than the client's memory
// holds still.
type ResponseKeeper interface {
	Tap
	KeepsResponses() bool
}

// Alloc returns memory for an output of the request: the client's region if it
// wants the output there and the engine can write there, else memory of the pool.
// The reference is the caller's. See docs/adr/0011-memory.md.
func (r *Request) Alloc(o Output) (tensor.Segment, error) {
	if s, ok := r.Region(o); ok {
		return s, nil
	}
	return alloc(r.Pool, &o)
}

// Alloc is Request.Alloc for an output of the batch. Only a request that is alone
// in it gets its output into its client's region.
func (b *Batch) Alloc(o Output) (tensor.Segment, error) {
	if len(b.Requests) == 1 {
		return b.Requests[0].Alloc(o)
	}
	return alloc(b.Requests[0].Pool, &o)
}

// Region returns the part of the client's region for an output that is asked into
// one, when an engine can write it there. The reference is the caller's. It
// reports false when the output is to be copied there: the memory is too small,
// not aligned, of another kind, part of an input or of another output, or the
// response stays in the server. A Tap must not call it for a named output while
// it responds.
func (r *Request) Region(o Output) (tensor.Segment, bool) {
	if o.Name == "" || o.Size == 0 || len(r.Outputs) == 0 {
		return tensor.Segment{}, false
	}
	if p := &r.reply; p.loan.kept { // the core may answer it meanwhile, which gives the region back
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.State() == Answered {
			return tensor.Segment{}, false
		}
	}
	for i := range r.Outputs {
		if want := &r.Outputs[i]; want.Name == o.Name {
			return r.lend(want, &o)
		}
	}
	return tensor.Segment{}, false
}

func (r *Request) lend(want *kserve.RequestedOutput, o *Output) (tensor.Segment, bool) {
	s := want.Into
	if s.Buffer == nil || s.N < o.Size || r.shares(want) || r.kept() {
		return tensor.Segment{}, false
	}
	s.N = o.Size
	if s.Buffer.Device() != nil {
		if o.At != s.Buffer.Location() || r.Tap != nil || r.Trace != nil { // both read responses
			return tensor.Segment{}, false
		}
	} else if o.At.Kind == tensor.GPU || !writable(s, o.DataType) {
		return tensor.Segment{}, false
	}
	if !want.Lend() {
		return tensor.Segment{}, false
	}
	s.Buffer.Retain()
	return s, true
}

// writable reports whether an engine can write values of that type there. A
// client that has taken its memory away gets an error from the copy.
func writable(s tensor.Segment, d tensor.DataType) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes())))
	return s.Buffer.Stable() && at%uintptr(max(d.Size(), 1)) == 0 && tensor.TouchShared(s.Bytes())
}

// shares reports whether the place of an output is also that of an input or of
// another output.
func (r *Request) shares(want *kserve.RequestedOutput) bool {
	for i := range r.Inputs {
		d := &r.Inputs[i].Data
		for k := range d.Segments() {
			if want.Into.Overlaps(d.Segment(k)) {
				return true
			}
		}
	}
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o != want && want.Into.Overlaps(o.Into) {
			return true
		}
	}
	return false
}

// kept reports whether something in the server may keep the response.
func (r *Request) kept() bool {
	k, ok := r.Tap.(ResponseKeeper)
	return ok && k.KeepsResponses()
}

// alloc takes memory of the pool.
func alloc(p *tensor.Pool, o *Output) (tensor.Segment, error) {
	if p == nil {
		return tensor.Segment{}, status.New(status.Internal, "no memory for output '%s': the request has no pool", o.Name)
	}
	var b *tensor.Buffer
	var err error
	if o.Filled {
		b, err = p.TryGet(o.Size)
	} else {
		b, err = p.TryGetZeroed(o.Size)
	}
	switch {
	case err != nil && o.Name == "":
		return tensor.Segment{}, status.New(status.Internal, "no memory for %d bytes of outputs: %w", o.Size, err)
	case err != nil:
		return tensor.Segment{}, status.New(status.Internal, "no memory for output '%s' of %d bytes: %w", o.Name, o.Size, err)
	}
	return tensor.Segment{Buffer: b, N: o.Size}, nil
}
