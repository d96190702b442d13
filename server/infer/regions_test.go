package infer

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// placed answers a request for output y in region[off:off+n].
func placed(t *testing.T, region *tensor.Buffer, off, n int, data tensor.Data) (*Response, error) {
	t.Helper()
	r := NewRequest()
	r.Unary()
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "y", Into: tensor.Segment{Buffer: region.Retain(), Off: off, N: n}},
		kserve.RequestedOutput{Name: "z"})
	resp := NewResponse()
	resp.Add("y", tensor.Uint8, tensor.Shape{int64(data.Len())}, data)
	resp.Add("z", tensor.Uint8, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{7})))
	r.Respond(resp, true)
	got, err := r.Wait(context.Background())
	r.Release()
	r.Release()
	return got, err
}

func pieces(parts ...string) (d tensor.Data) {
	for _, p := range parts {
		b := tensor.HeapBuffer([]byte(p))
		d.Append(b, 0, len(p))
		b.Release()
	}
	return d
}

func TestOutputsAreWrittenToRegions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		off, n int
		data   []string
		want   string
	}{
		{"exact", 2, 3, []string{"abc"}, "..abc..."},
		{"room left", 2, 6, []string{"abc"}, "..abc..."},
		{"in pieces", 0, 8, []string{"ab", "c", "de"}, "abcde..."},
		{"nothing", 3, 5, nil, "........"},
		{"nothing into nothing", 3, 0, nil, "........"},
	} {
		region := tensor.HeapBuffer([]byte("........"))
		resp, err := placed(t, region, c.off, c.n, pieces(c.data...))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(region.Bytes()), c.name)
		require.Zero(t, resp.Output("y").Data.Len(), c.name)
		require.Equal(t, 1, resp.Output("z").Data.Len(), "the other output stays")
		resp.Release()
		region.Release()
	}
}

func TestAnOutputTooLargeForItsRegion(t *testing.T) {
	t.Parallel()
	region := tensor.HeapBuffer([]byte("........"))
	resp, err := placed(t, region, 2, 2, pieces("abc"))
	require.Nil(t, resp)
	require.EqualError(t, err,
		"shared memory size specified with the request for output 'y' (2 bytes) should be at least 3 bytes to hold the results")
	require.Equal(t, status.Internal, status.CodeOf(err))
	require.Equal(t, "........", string(region.Bytes()))
	region.Release()
}

// Once a client has its answer its region is unused, although the core may hold the
// request a moment longer.
func TestTheFinalResponseGivesRegionsBack(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	region := pool.Get(8)
	r := NewRequest()
	r.Unary()
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "y", Into: tensor.Segment{Buffer: region, N: 8}})
	resp := NewResponse()
	resp.Add("y", tensor.Uint8, tensor.Shape{2}, pieces("ab"))
	require.EqualValues(t, 1, pool.Outstanding())
	r.Respond(resp, true)
	require.Zero(t, pool.Outstanding())
	require.True(t, r.Outputs[0].Placed)
	resp, err := r.Wait(context.Background())
	require.NoError(t, err)
	resp.Release()
	r.Release()
	r.Release()
}

// An output that the backend wrote into its region is not copied.
func TestAnOutputInItsRegionIsNotCopied(t *testing.T) {
	t.Parallel()
	region := tensor.HeapBuffer([]byte("..abc..."))
	d := tensor.SliceData(region, 2, 3)
	require.True(t, startsAt(&d, tensor.Segment{Buffer: region, Off: 2, N: 6}))
	require.False(t, startsAt(&d, tensor.Segment{Buffer: region, Off: 1, N: 6}))
	require.False(t, startsAt(&d, tensor.Segment{Buffer: tensor.HeapBuffer(nil), Off: 2}))
	d.Release()
	require.False(t, startsAt(&d, tensor.Segment{Buffer: region, Off: 2}))
	resp, err := placed(t, region, 2, 3, tensor.SliceData(region, 2, 3))
	require.NoError(t, err)
	require.Equal(t, "..abc...", string(region.Bytes()))
	resp.Release()
	region.Release()
}

// card is memory that only a device can address.
type card struct {
	memory []byte
	err    error
	freed  int
}

func (c *card) Free(*tensor.Buffer) { c.freed++ }

func (*card) Location() tensor.Location { return tensor.Location{Kind: tensor.GPU} }

func (c *card) Read([]byte, uint64) error { return errors.ErrUnsupported }

func (c *card) Write(src []byte, offset uint64) error {
	copy(c.memory[offset:], src)
	return c.err
}

func TestOutputsAreCopiedToADevice(t *testing.T) {
	t.Parallel()
	c := &card{memory: []byte("........")}
	region := tensor.NewBuffer(nil, false, c)
	resp, err := placed(t, region, 2, 6, pieces("ab", "c", "de"))
	require.NoError(t, err)
	require.Equal(t, "..abcde.", string(c.memory))
	require.Zero(t, resp.Output("y").Data.Len())
	resp.Release()
	_, err = placed(t, region, 2, 2, pieces("abc"))
	require.EqualError(t, err,
		"shared memory size specified with the request for output 'y' (2 bytes) should be at least 3 bytes to hold the results")
	c.err = errors.New("unspecified launch failure")
	_, err = placed(t, region, 2, 6, pieces("x"))
	require.EqualError(t, err, "failed to copy output 'y' to CUDA shared memory: unspecified launch failure")
	require.Equal(t, status.Internal, status.CodeOf(err))
	region.Release()
	require.Equal(t, 1, c.freed)
}

// taken is memory that a client has taken away.
type taken struct{}

func (taken) Free(*tensor.Buffer) {}
func (taken) Foreign()            {}
func (taken) Lost() error         { return errors.New("region 'r' is lost") }

// A request fails if the memory of an input or for an output was taken away while it ran. No
// observer, such as a cache, sees the answer that was computed from what took its place.
func TestMemoryThatWasTakenAway(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"input", "output"} {
		pool := tensor.NewPool()
		r := asking(pool, memoryOf())
		gone := tensor.NewBuffer(make([]byte, 16), true, taken{})
		if where == "input" {
			r.AddInput().Data = tensor.NewData(gone)
		} else {
			r.Outputs[0].Into.Buffer.Release()
			r.Outputs[0].Into = tensor.Segment{Buffer: gone, N: 16}
		}
		seen := &seen{}
		r.Observer = seen
		resp := NewResponse()
		resp.Add("y", tensor.Uint8, tensor.Shape{3}, tensor.NewData(tensor.HeapBuffer([]byte("abc"))))
		r.Respond(resp, true)
		_, err := r.Wait(t.Context())
		require.EqualError(t, err, "region 'r' is lost", where)
		require.EqualError(t, seen.err, "region 'r' is lost", where)
		r.Release()
		r.Release()
	}
}

// seen keeps the error of the response.
type seen struct{ err error }

func (s *seen) Observe(_ *Request, resp *Response, _ bool) { s.err = resp.Err }
