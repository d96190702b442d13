package infer

import (
	"unsafe"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Output describes an output that a backend requests memory for.
type Output struct {
	// Name is the output's name. It is empty for memory that is never written to a
	// client's region, such as a sequence state or several outputs in one buffer.
	Name     string
	DataType tensor.DataType // required if Name is set
	Size     int             // bytes
	// At is the location that the backend prefers. The memory may be elsewhere: see the
	// Location of the buffer.
	At tensor.Location
	// Filled reports that the backend writes every byte before it sends the output. If it is
	// not set, recycled memory is cleared.
	Filled bool
}

// ResponseRetainer is a ResponseObserver that may retain responses after they are sent.
// Such responses are never written directly into the client's memory.
type ResponseRetainer interface {
	ResponseObserver
	RetainsResponses() bool
}

// Alloc returns memory for an output of the request: the client's region if the client
// requested the output there and the backend can write there, else memory of the pool.
// The caller owns the reference. See docs/adr/0011-memory.md.
func (r *Request) Alloc(o Output) (tensor.Segment, error) {
	if s, ok := r.Region(o); ok {
		return s, nil
	}
	return alloc(r.Pool, &o)
}

// Alloc is Request.Alloc for an output of the batch. It uses a client's region only if
// the batch has a single request.
func (b *Batch) Alloc(o Output) (tensor.Segment, error) {
	if len(b.Requests) == 1 {
		return b.Requests[0].Alloc(o)
	}
	return alloc(b.Requests[0].Pool, &o)
}

// Region returns the part of the client's region that is requested for an output, if a
// backend can write it there. The caller owns the reference. It reports false when the
// output must be copied instead: the region is too small, not aligned, of another kind,
// shared with an input or another output, or the server retains the response. A
// ResponseObserver must not call it for a named output while it observes a response.
func (r *Request) Region(o Output) (tensor.Segment, bool) {
	if o.Name == "" || o.Size == 0 || len(r.Outputs) == 0 {
		return tensor.Segment{}, false
	}
	if p := &r.reply; p.loan.kept != notKept { // the core may answer it concurrently and release the region
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.State() == Answered {
			return tensor.Segment{}, false
		}
	}
	for i := range r.Outputs {
		if want := &r.Outputs[i]; want.Name == o.Name {
			return r.lendRegion(want, &o)
		}
	}
	return tensor.Segment{}, false
}

// lendRegion lends the client's region of an output to the backend, if the backend can
// write there.
func (r *Request) lendRegion(want *kserve.RequestedOutput, o *Output) (tensor.Segment, bool) {
	s := want.Into
	if s.Buffer == nil || s.N < o.Size || r.overlaps(want) || r.retained() {
		return tensor.Segment{}, false
	}
	s.N = o.Size
	if s.Buffer.Device() != nil {
		if o.At != s.Buffer.Location() || r.Observer != nil || r.Trace != nil { // both read responses
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

// writable reports whether a backend can write values of that type into the segment.
func writable(s tensor.Segment, d tensor.DataType) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes())))
	return s.Buffer.Stable() && at%uintptr(max(d.Size(), 1)) == 0
}

// overlaps reports whether the region of an output overlaps an input or another output.
func (r *Request) overlaps(want *kserve.RequestedOutput) bool {
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

// retained reports whether a component of the server may retain the response.
func (r *Request) retained() bool {
	k, ok := r.Observer.(ResponseRetainer)
	return ok && k.RetainsResponses()
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
		return tensor.Segment{}, status.Wrap(err, status.Internal, "no memory for %d bytes of outputs: %w", o.Size, err)
	case err != nil:
		return tensor.Segment{}, status.Wrap(err, status.Internal, "no memory for output '%s' of %d bytes: %w", o.Name, o.Size, err)
	}
	return tensor.Segment{Buffer: b, N: o.Size}, nil
}
