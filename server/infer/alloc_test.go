package infer

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
)

// asking returns a request for output y in region[8:24].
func asking(pool *tensor.Pool, region *tensor.Buffer) *Request {
	r := NewRequest()
	r.Unary()
	r.Pool = pool
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "y", Into: tensor.Segment{Buffer: region.Retain(), Off: 8, N: 16}},
		kserve.RequestedOutput{Name: "z"})
	return r
}

// memory returns a region of 64 bytes, aligned to 8.
func memoryOf() *tensor.Buffer {
	words := make([]uint64, 8)
	return tensor.NewBuffer(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 64), true, nil)
}

func finish(r *Request) {
	r.Release()
	r.Release()
}

type observing struct{}

func (observing) Observe(*Request, *Response, bool) {}

type keeping struct{ observing }

func (keeping) RetainsResponses() bool { return true }

func TestAllocFindsTheRegion(t *testing.T) {
	t.Parallel()
	gpu := &gpu{}
	for _, c := range []struct {
		name   string
		ask    Output
		change func(r *Request, region *tensor.Buffer)
		region bool
	}{
		{"all of it", Output{Name: "y", DataType: tensor.FP64, Size: 16}, nil, true},
		{"a part", Output{Name: "y", DataType: tensor.Uint8, Size: 3}, nil, true},
		{"pinned memory is as good", Output{Name: "y", Size: 3, At: tensor.Location{Kind: tensor.CPUPinned}}, nil, true},
		{"too large", Output{Name: "y", Size: 17}, nil, false},
		{"nothing", Output{Name: "y"}, nil, false},
		{"another output", Output{Name: "z", Size: 4}, nil, false},
		{"no output", Output{Size: 4}, nil, false},
		{"on a device", Output{Name: "y", Size: 4, At: tensor.Location{Kind: tensor.GPU}}, nil, false},
		{"not aligned", Output{Name: "y", DataType: tensor.FP64, Size: 8}, func(r *Request, _ *tensor.Buffer) { r.Outputs[0].Into.Off = 4 }, false},
		{"the region of an input", Output{Name: "y", Size: 8}, func(r *Request, region *tensor.Buffer) {
			r.AddInput().Data = tensor.SliceData(region, 20, 8)
		}, false},
		{"a region next to an input", Output{Name: "y", Size: 8}, func(r *Request, region *tensor.Buffer) {
			r.AddInput().Data = tensor.SliceData(region, 24, 8)
		}, true},
		{"the region of another output", Output{Name: "y", Size: 8}, func(r *Request, region *tensor.Buffer) {
			r.Outputs[1].Into = tensor.Segment{Buffer: region.Retain(), Off: 0, N: 9}
		}, false},
		{"a response observer", Output{Name: "y", Size: 8}, func(r *Request, _ *tensor.Buffer) { r.Observer = observing{} }, true},
		{"somebody keeps it", Output{Name: "y", Size: 8}, func(r *Request, _ *tensor.Buffer) { r.Observer = keeping{} }, false},
		{"lent already", Output{Name: "y", Size: 8}, func(r *Request, _ *tensor.Buffer) { r.Outputs[0].Lend() }, false},
		{"the region's device", Output{Name: "y", Size: 4, At: gpu.Location()}, gpu.instead, true},
		{"the region's device, and an observer", Output{Name: "y", Size: 4, At: gpu.Location()}, func(r *Request, region *tensor.Buffer) {
			gpu.instead(r, region)
			r.Observer = observing{}
		}, false},
		{"another device", Output{Name: "y", Size: 4, At: tensor.Location{Kind: tensor.GPU}}, gpu.instead, false},
		{"not the region's device", Output{Name: "y", Size: 4}, gpu.instead, false},
	} {
		pool, region := tensor.NewPool(), memoryOf()
		r := asking(pool, region)
		if c.change != nil {
			c.change(r, region)
		}
		into := r.Outputs[0].Into
		var b Batch
		b.Add(r)
		s, err := b.Alloc(c.ask)
		require.NoError(t, err, c.name)
		require.Equal(t, c.ask.Size, s.N, c.name)
		if c.region {
			require.Equal(t, [2]any{into.Buffer, into.Off}, [2]any{s.Buffer, s.Off}, c.name)
		} else {
			require.EqualValues(t, 1, pool.Outstanding(), c.name)
			require.Equal(t, pool.Location(), s.Buffer.Location(), c.name)
			require.Len(t, s.Bytes(), c.ask.Size, c.name)
		}
		s.Buffer.Release()
		finish(r)
		require.Zero(t, pool.Outstanding())
		region.Release()
	}
	require.Zero(t, gpu.open)
}

// gpu counts the buffers on it.
type gpu struct{ open int }

func (g *gpu) Free(*tensor.Buffer)      { g.open-- }
func (*gpu) Location() tensor.Location  { return tensor.Location{Kind: tensor.GPU, Device: 2} }
func (*gpu) Read([]byte, uint64) error  { panic("read") }
func (*gpu) Write([]byte, uint64) error { panic("written") }
func (g *gpu) region() *tensor.Buffer   { g.open++; return tensor.NewBuffer(nil, false, g) }
func (g *gpu) instead(r *Request, _ *tensor.Buffer) {
	r.Outputs[0].Release()
	r.Outputs[0].Into = tensor.Segment{Buffer: g.region(), Off: 8, N: 16}
}

// An output that the backend wrote where the client wants it is not copied, also on
// a device.
func TestAllocatedOutputsAreNotCopied(t *testing.T) {
	t.Parallel()
	device := &gpu{}
	for _, on := range []tensor.Location{{}, device.Location()} {
		pool, region := tensor.NewPool(), memoryOf()
		r := asking(pool, region)
		if on.Kind == tensor.GPU {
			device.instead(r, region)
		}
		s, err := r.Alloc(Output{Name: "y", DataType: tensor.Uint8, Size: 3, At: on})
		require.NoError(t, err)
		if on.Kind == tensor.CPU {
			copy(s.Bytes(), "abc")
		}
		resp := NewResponse()
		resp.Add("y", tensor.Uint8, tensor.Shape{3}, tensor.SegmentData(s))
		r.Respond(resp, true)
		resp, err = r.Wait(t.Context())
		require.NoError(t, err)
		require.True(t, r.Outputs[0].Placed)
		require.Zero(t, resp.Output("y").Data.Len())
		_, client := pool.Copied()
		require.Zero(t, client)
		if on.Kind == tensor.CPU {
			require.Equal(t, "\x00abc\x00", string(region.Bytes()[7:12]))
		}
		resp.Release()
		finish(r)
		region.Release()
	}
	require.Zero(t, device.open)
}

// The region is lent for one output at a time, so that a backend with several
// responses under way does not write one over the other.
func TestARegionIsLentOnce(t *testing.T) {
	t.Parallel()
	pool, region := tensor.NewPool(), memoryOf()
	r := asking(pool, region)
	for range 2 {
		first, err := r.Alloc(Output{Name: "y", Size: 4})
		require.NoError(t, err)
		require.Same(t, region, first.Buffer)
		second, err := r.Alloc(Output{Name: "y", Size: 4})
		require.NoError(t, err)
		require.NotSame(t, region, second.Buffer)
		second.Buffer.Release()
		r.writeRegions(&Response{}, false) // without the output: the region is still the backend's
		third, err := r.Alloc(Output{Name: "y", Size: 4})
		require.NoError(t, err)
		require.NotSame(t, region, third.Buffer)
		third.Buffer.Release()
		resp := NewResponse()
		resp.Add("y", tensor.Uint8, tensor.Shape{4}, tensor.SegmentData(first))
		r.writeRegions(resp, false)
		resp.Release()
	}
	finish(r)
	region.Release()
	require.Zero(t, pool.Outstanding())
}

// The core may answer a kept request while the backend allocates memory: the memory is
// then no region of the client's.
func TestAllocWhileTheCoreAnswers(t *testing.T) {
	t.Parallel()
	for range 100 {
		pool, region := tensor.NewPool(), memoryOf()
		r := asking(pool, region)
		r.Lend(owner{}, true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				s, err := r.Alloc(Output{Name: "y", Size: 4})
				if err != nil {
					t.Error(err)
					return
				}
				in := s.Buffer == region
				s.Buffer.Release()
				if r.State() == Answered && !in {
					return
				}
			}
		}()
		r.Revoke(status.New(status.Internal, "the backend is too slow"))
		<-done
		finish(r)
		r.Release()
		region.Release()
		require.Zero(t, pool.Outstanding())
	}
}

// owner ignores all calls.
type owner struct{}

func (owner) Kept(*Request)                {}
func (owner) Responded(*Request, Delivery) {}
func (owner) Completed(*Request, error)    {}
func (owner) Finished(*Request)            {}

// TestRecycledMemory allocates outputs in memory that holds another client's bytes.
func TestRecycledMemory(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte("secret!!"), 1<<17)
	pool := tensor.NewPool()
	r, other := NewRequest(), NewRequest()
	r.Pool, other.Pool = pool, pool
	for _, size := range []int{1, 8, 255, 4096, 100_000, 1 << 20} {
		for _, requests := range [][]*Request{{r}, {r, other}} {
			b := Batch{Requests: requests}
			leave := pool.Get(size)
			copy(leave.Bytes(), secret)
			leave.Release()
			s, err := b.Alloc(Output{Name: "y", DataType: tensor.Uint8, Size: size})
			require.NoError(t, err)
			require.Equal(t, make([]byte, size), s.Bytes())
			s.Buffer.Release()
		}
	}
	finish(r)
	finish(other)
	require.Zero(t, pool.Outstanding())
}

func TestAllocWithoutMemory(t *testing.T) {
	t.Parallel()
	m := tensortest.New(nil)
	m.Refuse(tensortest.Above(10))
	r := NewRequest()
	_, err := r.Alloc(Output{Name: "y", Size: 1})
	require.EqualError(t, err, "no memory for output 'y': the request has no pool")
	r.Pool = m.Pool
	for _, filled := range []bool{false, true} {
		_, err = r.Alloc(Output{Name: "y", Size: 11, Filled: filled})
		require.EqualError(t, err, "no memory for output 'y' of 11 bytes: the test refuses memory")
		require.Equal(t, status.Internal, status.CodeOf(err))
	}
	finish(r)
}
