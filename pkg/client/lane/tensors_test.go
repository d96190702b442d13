package lane_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// echo is a server that answers with a text and keeps the last request.
type echo struct {
	*httptest.Server
	last atomic.Pointer[sent]
}

type sent struct{ contentType, body, jsonLength string }

func newEcho(t *testing.T, answer string) *echo {
	e := &echo{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		e.last.Store(&sent{r.Header.Get("Content-Type"), string(b), r.Header.Get("Inference-Header-Content-Length")})
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(e.Close)
	return e
}

func tensorOf(name string, d tensor.DataType, shape tensor.Shape, data []byte) kserve.Tensor {
	return kserve.Tensor{Name: name, DataType: d, Shape: shape, Data: tensor.NewData(tensor.HeapBuffer(data))}
}

func floats(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestJSONTensors(t *testing.T) {
	e := newEcho(t, `{"model_name":"m","outputs":[`+
		`{"name":"Y","datatype":"FP32","shape":[1,2],"data":[0.5,-2]},{"name":"Z","datatype":"BYTES","shape":[2],"data":["a","ü\n"]},{"name":"R","datatype":"INT8","shape":[2]}]}`)
	c := newClient(t, lane.Options{Options: client.Options{Address: e.URL}, JSONInputs: true, JSONOutputs: true})
	req := &kserve.Request{ModelName: "m", Outputs: []kserve.RequestedOutput{{Name: "Y", Binary: true}, {Name: "Z", Classification: 2}}}
	req.Inputs = []kserve.Tensor{
		tensorOf("X", tensor.FP32, tensor.Shape{1, 2}, floats(1.5, -3)),
		tensorOf("B", tensor.Bool, tensor.Shape{2}, []byte{1, 0}),
		tensorOf("S", tensor.Bytes, tensor.Shape{2}, tensor.AppendElement(tensor.AppendElement(nil, []byte(`"ü`)), nil)),
	}
	var resp kserve.Response
	require.NoError(t, infer(t, c, req, &resp))
	require.JSONEq(t, `{"inputs":[{"name":"X","datatype":"FP32","shape":[1,2],"data":[1.5,-3.0]},{"name":"B","datatype":"BOOL","shape":[2],"data":[true,false]},`+
		`{"name":"S","datatype":"BYTES","shape":[2],"data":["\"ü",""]}],"outputs":[{"name":"Y","parameters":{"binary_data":false}},{"name":"Z","parameters":{"binary_data":false,"classification":2}}]}`, e.last.Load().body)
	require.Equal(t, "application/json", e.last.Load().contentType)
	require.Empty(t, e.last.Load().jsonLength)
	for name, want := range map[string][]byte{
		"Y": floats(0.5, -2), "Z": tensor.AppendElement(tensor.AppendElement(nil, []byte("a")), []byte("ü\n")), "R": nil,
	} {
		data, whole := resp.Output(name).Data.Contiguous()
		require.True(t, whole)
		require.Equal(t, want, data, name)
	}
	req.Outputs = nil
	require.NoError(t, infer(t, c, req, &resp))
	require.Contains(t, e.last.Load().body, `"binary_data_output":false`)

	// Sequences, which are added at each send.
	p, err := c.PrepareSequence(req)
	require.NoError(t, err)
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.Do(t.Context(), p, &lane.Exchange{Sequence: lane.Sequence{ID: 7, Start: true}}))
	require.Contains(t, e.last.Load().body, `"data":["\"ü",""]}],"parameters":{"binary_data_output":false,"sequence_id":7,"sequence_start":true`)
	require.NoError(t, l.Close())

	// One of the two forms alone.
	c = newClient(t, lane.Options{Options: client.Options{Address: e.URL}, JSONOutputs: true})
	require.NoError(t, infer(t, c, req, &resp))
	require.Contains(t, e.last.Load().body, `"parameters":{"binary_data_size":8}`)
	require.Equal(t, "application/octet-stream", e.last.Load().contentType)
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	_, err := lane.New(lane.Options{Options: client.Options{Protocol: client.GRPC, Address: "a:1"}, JSONInputs: true})
	require.EqualError(t, err, "only HTTP has tensors in JSON")
	c := newClient(t, lane.Options{Options: client.Options{Address: "a:1"}, JSONInputs: true})
	inf64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(-1)))
	for want, in := range map[string]kserve.Tensor{
		`input "A": JSON has no FP16 numbers`:                               tensorOf("A", tensor.FP16, tensor.Shape{1}, []byte{0, 0}),
		`input "A": JSON has no BF16 numbers`:                               tensorOf("A", tensor.BF16, tensor.Shape{1}, []byte{0, 0}),
		`input "A": JSON has no numbers that are infinite or NaN`:           tensorOf("A", tensor.FP32, tensor.Shape{2}, floats(math.MaxFloat32, float32(math.NaN()))),
		`input "B": JSON has no numbers that are infinite or NaN`:           tensorOf("B", tensor.FP64, tensor.Shape{1}, inf64),
		`input "A": JSON has no strings that are not UTF-8, such as "\xff"`: tensorOf("A", tensor.Bytes, tensor.Shape{1}, tensor.AppendElement(nil, []byte{0xff})),
	} {
		_, err := c.Prepare(&kserve.Request{ModelName: "m", Inputs: []kserve.Tensor{in}})
		require.EqualError(t, err, want)
	}
}

func sharedRequest() (*kserve.Request, lane.Regions) {
	req := &kserve.Request{ModelName: "m", ModelVersion: "3", Outputs: []kserve.RequestedOutput{{Name: "Y", Binary: true}, {Name: "Z", Binary: true}}}
	req.Parameters = []kserve.Parameter{{Name: "p", Kind: kserve.ParamBool, Bool: true}}
	req.Inputs = []kserve.Tensor{
		tensorOf("X", tensor.Int8, tensor.Shape{1, 4}, []byte("gone")),
		tensorOf("E", tensor.Int8, tensor.Shape{2}, []byte("hi")),
	}
	return req, lane.Regions{
		Inputs:  []kserve.RegionSlice{{Region: `in"0`, Size: 4, Offset: 8}, {}},
		Outputs: []kserve.RegionSlice{{Region: "out", Size: 64}},
	}
}

func TestPrepareShared(t *testing.T) {
	e := newEcho(t, `{}`)
	c := newClient(t, options(client.Options{Address: e.URL}))
	req, at := sharedRequest()
	const inputs = `"inputs":[{"name":"X","datatype":"INT8","shape":[1,4],"parameters":{"shared_memory_region":"in\"0","shared_memory_byte_size":4,"shared_memory_offset":8}},` +
		`{"name":"E","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}}],` +
		`"outputs":[{"name":"Y","parameters":{"shared_memory_region":"out","shared_memory_byte_size":64}},{"name":"Z","parameters":{"binary_data":true}}]`
	for sequence, want := range map[bool]string{
		false: `{"parameters":{"p":true},` + inputs + `}`,
		true:  `{` + inputs + `,"parameters":{"p":true,"sequence_id":5,"sequence_start":false,"sequence_end":true` + fmt.Sprintf("%20s", "") + `}}`,
	} {
		p, err := c.PrepareShared(req, at, sequence)
		require.NoError(t, err)
		l, err := c.Dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Do(t.Context(), p, &lane.Exchange{Sequence: lane.Sequence{ID: 5, End: true}}))
		require.NoError(t, l.Close())
		require.Equal(t, want+"hi", e.last.Load().body)
		require.Equal(t, fmt.Sprint(len(want)), e.last.Load().jsonLength)
	}
	req.SequenceID = 1
	_, err := c.PrepareShared(req, at, true)
	require.ErrorContains(t, err, "Exchange.Sequence")
}

func TestPrepareSharedGRPC(t *testing.T) {
	got := make(chan *inferencepb.ModelInferRequest, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		m := &inferencepb.ModelInferRequest{}
		if err := stream.RecvMsg(m); err != nil {
			return err
		}
		got <- m
		return stream.SendMsg(&inferencepb.ModelInferResponse{})
	}))
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() { s.Stop(); require.NoError(t, <-done) })
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: listener.Addr().String()}))
	req, at := sharedRequest()
	req.Outputs[1].Classification = 3
	for _, sequence := range []bool{false, true} {
		p, err := c.PrepareShared(req, at, sequence)
		require.NoError(t, err)
		l, err := c.Dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Do(t.Context(), p, &lane.Exchange{Sequence: lane.Sequence{ID: 9, Start: true}}))
		require.NoError(t, l.Close())
		m := <-got
		text := func(s string) *inferencepb.InferParameter {
			return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: s}}
		}
		number := func(n int64) *inferencepb.InferParameter {
			return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: n}}
		}
		flag := func(b bool) *inferencepb.InferParameter {
			return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: b}}
		}
		want := &inferencepb.ModelInferRequest{
			ModelName: "m", ModelVersion: "3", Parameters: map[string]*inferencepb.InferParameter{"p": flag(true)},
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
				{Name: "X", Datatype: "INT8", Shape: []int64{1, 4}, Parameters: map[string]*inferencepb.InferParameter{
					"shared_memory_region": text(`in"0`), "shared_memory_byte_size": number(4), "shared_memory_offset": number(8),
				}},
				{Name: "E", Datatype: "INT8", Shape: []int64{2}},
			},
			Outputs: []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{
				{Name: "Y", Parameters: map[string]*inferencepb.InferParameter{"shared_memory_region": text("out"), "shared_memory_byte_size": number(64)}},
				{Name: "Z", Parameters: map[string]*inferencepb.InferParameter{"classification": number(3)}},
			},
			RawInputContents: [][]byte{[]byte("hi")},
		}
		if sequence {
			want.Parameters["sequence_id"], want.Parameters["sequence_start"], want.Parameters["sequence_end"] = number(9), flag(true), flag(false)
		}
		require.True(t, proto.Equal(want, m), "%v", m)
	}
}
