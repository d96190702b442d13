package rpc_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// field is a field of bytes.
func field(num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

// allocated returns how many bytes of heap f allocates. Tests that call it must not
// run in parallel.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// floods are messages of lists that are cheap to send and dear to keep.
var floods = map[string]struct {
	element  []byte // of a message
	want     string // part of the error of a request
	response string // part of the error of a response; empty: it has no such list
}{
	"inputs":               {field(5, nil), "inputs", "outputs"},
	"inputs with contents": {field(5, field(5, nil)), "inputs", "outputs"},
	"requested outputs":    {field(6, nil), "requested outputs", "raw_output_contents"},
	"raw contents":         {field(7, nil), "raw_input_contents", ""},
	"parameters":           {field(4, nil), "parameters", "parameters"},
	"named parameters":     {field(4, field(1, []byte("p"))), "parameters", "parameters"},
}

// flood repeats an element up to about n bytes.
func flood(element []byte, n int) []byte { return bytes.Repeat(element, n/len(element)) }

// large is the size of a large message.
func large() int {
	if testing.Short() {
		return 1 << 20
	}
	return 8 << 20
}

// distinct is parameters of different names: of those with one name only the last
// is kept, while they are few.
func distinct() (msg []byte) {
	for i := range 20 {
		msg = append(msg, field(4, append(field(1, []byte{byte('a' + i)}), field(2, []byte{8, 1})...))...)
	}
	return msg
}

// TestFloodsAreRefused: a message of elements of few bytes each, all of which
// would take far more memory than the message, is refused for what it costs to
// read it.
func TestFloodsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	c := rpc.NewCodec(tensor.NewPool())
	for name, f := range floods {
		for _, size := range []int{large(), 200 << 10, 20 << 10} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				data := slicesOf(distinct(), flood(f.element, size))
				r := &rpc.Request{Message: &kserve.Request{}}
				used := allocated(func() {
					require.NoError(t, c.Unmarshal(data, r))
				})
				require.NoError(t, r.Broken)
				require.Less(t, used, uint64(size+(2<<20)), "of a request")
				require.Error(t, r.Err)
				require.Equal(t, status.InvalidArg, status.From(r.Err).Code, r.Err)
				if size > 100<<10 {
					require.ErrorContains(t, r.Err, f.want)
				}
				if f.response == "" {
					return
				}
				var resp kserve.Response
				var err error
				used = allocated(func() { err = c.Unmarshal(data, &resp) })
				require.Less(t, used, uint64(size+(2<<20)), "of a response")
				require.Error(t, err)
				if size > 100<<10 {
					require.ErrorContains(t, err, f.response)
				}
			})
		}
	}
}

// TestFloodsInTensors bounds the lists within a tensor: its dims, its parameters
// and its contents, which may come in many pieces.
func TestFloodsInTensors(t *testing.T) {
	size := large()
	c := rpc.NewCodec(tensor.NewPool())
	offset := field(4, append(field(1, []byte("shared_memory_offset")), field(2, []byte{0x10, 1})...))
	for name, inner := range map[string][]byte{
		"packed dims":   field(3, make([]byte, size)),
		"packed pieces": bytes.Repeat(field(3, []byte{1}), size/3),
		"lone dims":     bytes.Repeat([]byte{0x18, 1}, size/2),
		"parameters":    bytes.Repeat(offset, size/len(offset)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, num := range []protowire.Number{5, 6} { // input, requested output
				if num == 6 && name != "parameters" {
					continue
				}
				if num == 6 { // where parameters have another number
					inner = bytes.Repeat(append([]byte{0x12}, offset[1:]...), size/len(offset))
				}
				data := mem.BufferSlice{mem.SliceBuffer(field(num, inner))}
				r := &rpc.Request{Message: &kserve.Request{}}
				used := allocated(func() { require.NoError(t, c.Unmarshal(data, r)) })
				require.NoError(t, r.Broken)
				require.Less(t, used, uint64(max(size/4, 1<<20)))
				require.Error(t, r.Err)
				if strings.Contains(name, "dims") || name == "packed pieces" {
					require.ErrorContains(t, r.Err, "dimensions")
				}
				if num == 5 && name != "parameters" {
					var resp kserve.Response
					var err error
					used = allocated(func() { err = c.Unmarshal(data, &resp) })
					require.Less(t, used, uint64(max(size/4, 1<<20)))
					require.ErrorContains(t, err, "dimensions")
				}
			}
		})
	}
}

// TestFloodKeepsNames: the response to a message with too many elements still
// names its request.
func TestFloodKeepsNames(t *testing.T) {
	t.Parallel()
	data := slicesOf(field(1, []byte("m")), bytes.Repeat(field(6, nil), 1<<20), field(3, []byte("id")), field(2, []byte("7")))
	r := &rpc.Request{Message: &kserve.Request{}}
	require.NoError(t, rpc.NewCodec(tensor.NewPool()).Unmarshal(data, r))
	require.Equal(t, "m", r.Message.ModelName)
	require.Equal(t, "7", r.Message.ModelVersion)
	require.Equal(t, "id", r.Message.ID)
	require.ErrorContains(t, r.Err, "1048576 requested outputs")
}

func slicesOf(parts ...[]byte) (s mem.BufferSlice) {
	for _, p := range parts {
		s = append(s, mem.SliceBuffer(p))
	}
	return s
}

// wide is a request of n inputs and outputs of one element each, with names as
// short as so many may have.
func wide(n int) *inferencepb.ModelInferRequest {
	r := &inferencepb.ModelInferRequest{ModelName: "wide", Parameters: map[string]*inferencepb.InferParameter{}}
	for i := range n {
		name := fmt.Sprint(i)
		r.Inputs = append(r.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT8", Shape: []int64{1}})
		r.Outputs = append(r.Outputs, &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: name})
		r.RawInputContents = append(r.RawInputContents, []byte{byte(i)})
		r.Parameters[name] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: true}}
	}
	return r
}

// TestWideMessages: requests and responses with very many tensors are read, and
// take memory in proportion.
func TestWideMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	c := rpc.NewCodec(tensor.NewPool())
	for _, n := range []int{16, 17, 1024, 1025, 20_000, 1 << 16} {
		data := split(wire(t, wide(n)), 16<<10)
		r := &rpc.Request{Message: &kserve.Request{}}
		used := allocated(func() { require.NoError(t, c.Unmarshal(data, r)) })
		require.NoError(t, r.Broken)
		require.NoError(t, r.Err)
		require.Len(t, r.Message.Inputs, n)
		require.Len(t, r.Message.Outputs, n)
		require.Len(t, r.Message.Parameters, n)
		require.Equal(t, []byte{byte(n - 1)}, dataOf(&r.Message.Inputs[n-1]))
		require.Less(t, used, uint64(20*data.Len()+(1<<20)), "%d inputs in %d bytes", n, data.Len())
		r.Message.Reset()
	}
}
