package lane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/client"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func sequenceRequest(bytes int) *kserve.Request {
	req := &kserve.Request{
		ModelName: "m", Outputs: []kserve.RequestedOutput{{Name: "Y", Binary: true}},
		Parameters: []kserve.Parameter{{Name: "mine", Kind: kserve.ParamInt, Int: 3}},
	}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Uint8, tensor.Shape{int64(bytes)}
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, bytes)))
	return req
}

var sequencesToSend = []Sequence{
	{ID: 1, Start: true}, {ID: 42}, {ID: math.MaxInt64, End: true}, {ID: 7, Start: true, End: true},
}

func TestSequencesOverHTTP(t *testing.T) {
	t.Parallel()
	c, err := newHTTP(Options{Options: client.Options{Address: "h:1"}})
	require.NoError(t, err)
	for _, size := range []int{5, flatBytes + 1} {
		p, err := c.prepare(sequenceRequest(size), Regions{}, true)
		require.NoError(t, err)
		for _, s := range sequencesToSend {
			var wire []byte
			for i, segment := range p.segments {
				if i == 1 {
					wire = appendSequenceJSON(wire, s)
				}
				wire = append(wire, segment...)
			}
			require.Len(t, wire, p.Size())
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
			require.NoError(t, err)
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			n, err := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
			require.NoError(t, err)
			require.Len(t, body, n+size)
			var message struct {
				Parameters map[string]any
				Inputs     []map[string]any
				Outputs    []map[string]any
			}
			d := json.NewDecoder(bytes.NewReader(body[:n]))
			d.UseNumber()
			require.NoError(t, d.Decode(&message), string(body[:n]))
			require.Equal(t, map[string]any{
				"sequence_id": json.Number(strconv.FormatUint(s.ID, 10)), "sequence_start": s.Start, "sequence_end": s.End,
				"mine": json.Number("3"),
			}, message.Parameters)
			require.Len(t, message.Inputs, 1)
			require.Len(t, message.Outputs, 1)
		}
	}
}

// Requests in several parts do not allocate either: those of sequences, and large ones.
func TestWritingDoesNotAllocate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	received := make(chan struct{})
	go func() {
		defer close(received)
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() {
		require.NoError(t, errors.Join(conn.Close(), listener.Close()))
		<-received
	}()
	c, err := newHTTP(Options{Options: client.Options{Address: "h:1"}})
	require.NoError(t, err)
	p, err := c.prepare(sequenceRequest(flatBytes+1), Regions{}, true)
	require.NoError(t, err)
	l := &httpLane{}
	allocations := testing.AllocsPerRun(100, func() {
		require.NoError(t, l.write(conn, p, sequencesToSend[0]))
	})
	require.Zero(t, allocations)
}

func TestSequencesOverGRPC(t *testing.T) {
	t.Parallel()
	c, err := newGRPC(Options{Options: client.Options{Protocol: client.GRPC, Address: "h:1"}})
	require.NoError(t, err)
	p, err := c.prepare(sequenceRequest(5), Regions{}, true)
	require.NoError(t, err)
	l := &grpcLane{client: c}
	for _, s := range sequencesToSend {
		out, err := l.outgoing(p, &Exchange{Sequence: s})
		require.NoError(t, err)
		var m inferencepb.ModelInferRequest
		require.NoError(t, proto.Unmarshal(bytes.Join(out.Parts, nil), &m))
		require.EqualValues(t, s.ID, m.GetParameters()["sequence_id"].GetInt64Param())
		require.Equal(t, s.Start, m.GetParameters()["sequence_start"].GetBoolParam())
		require.Equal(t, s.End, m.GetParameters()["sequence_end"].GetBoolParam())
		require.EqualValues(t, 3, m.GetParameters()["mine"].GetInt64Param())
		require.Len(t, m.GetRawInputContents(), 1)
	}
}

func TestPrepareSequenceRefusesASequence(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Options: client.Options{Address: "h:1"}})
	require.NoError(t, err)
	req := sequenceRequest(1)
	req.SequenceID = 3
	_, err = c.PrepareSequence(req)
	require.ErrorContains(t, err, "Exchange.Sequence")
}

func TestStreamMessages(t *testing.T) {
	t.Parallel()
	final := func(v bool) map[string]*inferencepb.InferParameter {
		return map[string]*inferencepb.InferParameter{
			"other":                 {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: "x"}},
			"triton_final_response": {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: v}},
		}
	}
	outputs := []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y"}}
	for name, c := range map[string]struct {
		m              *inferencepb.ModelStreamInferResponse
		final, outputs bool
		failure        string
	}{
		"without the parameter": {&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{Outputs: outputs}}, true, true, ""},
		"more follow":           {&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{Outputs: outputs, Parameters: final(false)}}, false, true, ""},
		"the last, empty":       {&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{Parameters: final(true)}}, true, false, ""},
		"error":                 {&inferencepb.ModelStreamInferResponse{ErrorMessage: "no"}, true, false, "no"},
	} {
		b, err := proto.Marshal(c.m)
		require.NoError(t, err)
		m, err := readStreamMessage(b)
		require.NoError(t, err, name)
		require.Equal(t, [3]any{c.final, c.outputs, c.failure}, [3]any{m.final, m.outputs, m.failure}, name)
	}
}

func FuzzStreamMessage(f *testing.F) {
	b, err := proto.Marshal(&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{
		ModelName: "m", Parameters: map[string]*inferencepb.InferParameter{"triton_final_response": {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: true}}},
		Outputs: []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y"}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x0a, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readStreamMessage(b)
		var want inferencepb.ModelStreamInferResponse
		if proto.Unmarshal(b, &want) != nil {
			return // the reader looks at less, and may accept it
		}
		if err != nil {
			t.Fatalf("a valid message is refused: %v", err)
		}
		if m.failure != want.GetErrorMessage() {
			t.Fatalf("error %q, want %q", m.failure, want.GetErrorMessage())
		}
	})
}
