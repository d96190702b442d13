package rpc_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
)

// FuzzDecodeRequest compares with the protobuf library reading into the
// generated message, whatever the frames are.
func FuzzDecodeRequest(f *testing.F) {
	seeds := []*inferencepb.ModelInferRequest{sample(), {}, typedSample(), paramSample()}
	for _, s := range seeds {
		f.Add(wire(f, s), uint16(0))
		f.Add(wire(f, s), uint16(3))
	}
	f.Add([]byte("\x0b\x08\x01\x0c\x2a\x04\x18\x01\x18\x02\x3a\x00"), uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, frame uint16) {
		pool := tensor.NewPool()
		c := rpc.NewCodec(pool)
		m, wrong, err := decode(t, c, b, int(frame))
		var want inferencepb.ModelInferRequest
		require.Equal(t, proto.Unmarshal(b, &want) == nil, err == nil, "readable: %v", err)
		if err == nil {
			compare(t, &want, m, wrong)
		}
		m.Reset()
		require.Zero(t, pool.Outstanding())
	})
}

func compare(t *testing.T, want *inferencepb.ModelInferRequest, m *kserve.Request, wrong error) {
	t.Helper()
	require.Equal(t, want.GetModelName(), m.ModelName)
	require.Equal(t, want.GetModelVersion(), m.ModelVersion)
	require.Equal(t, want.GetId(), m.ID)
	if wrong != nil && strings.Contains(wrong.Error(), ", at most ") {
		return // more than is kept
	}
	require.Len(t, m.Inputs, len(want.GetInputs()))
	require.Len(t, m.Outputs, len(want.GetOutputs()))
	expect, ok := reference(want)
	require.Equal(t, ok, wrong == nil, "good: %v", wrong)
	for i, in := range want.GetInputs() {
		got := &m.Inputs[i]
		require.Equal(t, in.GetName(), got.Name)
		d, _ := tensor.ParseDataType(in.GetDatatype())
		require.Equal(t, d, got.DataType)
		require.True(t, got.Shape.Equal(in.GetShape()))
		if ok {
			require.Equal(t, string(expect[i]), string(dataOf(got)))
		}
	}
	for i, out := range want.GetOutputs() {
		require.Equal(t, out.GetName(), m.Outputs[i].Name)
		if ok {
			require.Equal(t, uint32(out.GetParameters()["classification"].GetInt64Param()), m.Outputs[i].Classification)
		}
	}
	if ok {
		compareParameters(t, want.GetParameters(), m)
	}
}

func compareParameters(t *testing.T, want map[string]*inferencepb.InferParameter, m *kserve.Request) {
	t.Helper()
	require.Equal(t, want["sequence_start"].GetBoolParam(), m.SequenceStart)
	require.Equal(t, want["sequence_end"].GetBoolParam(), m.SequenceEnd)
	require.Equal(t, want["sequence_id"].GetStringParam(), m.SequenceIDStr)
	require.Equal(t, uint64(want["sequence_id"].GetInt64Param()), m.SequenceID)
	require.Equal(t, uint64(want["timeout"].GetInt64Param()), m.TimeoutMicros)
	require.Equal(t, uint64(want["priority"].GetInt64Param())+want["priority"].GetUint64Param(), m.Priority)
	own := 0
	for name := range want {
		switch name {
		case "sequence_start", "sequence_end", "sequence_id", "timeout", "priority", "triton_enable_empty_final_response":
		default:
			own++
		}
	}
	require.Len(t, m.Parameters, own)
	for _, p := range m.Parameters {
		w := want[p.Name]
		require.Equal(t, w.GetBoolParam(), p.Bool)
		require.Equal(t, w.GetInt64Param(), p.Int)
		require.Equal(t, w.GetStringParam(), p.String)
		require.Equal(t, math.Float64bits(w.GetDoubleParam()), math.Float64bits(p.Double))
	}
}

// reference is the data of the inputs by the rules of the protocol, written
// over the generated message; false when the message breaks one.
func reference(r *inferencepb.ModelInferRequest) ([][]byte, bool) {
	for name, p := range r.GetParameters() {
		if !goodParameter(name, p) {
			return nil, false
		}
	}
	var out [][]byte
	raw := r.GetRawInputContents()
	for _, in := range r.GetInputs() {
		if touchesRegion(in.GetParameters()) {
			return nil, false
		}
		switch {
		case in.Contents != nil && len(r.GetRawInputContents()) > 0:
			return nil, false
		case in.Contents != nil:
			b, ok := typedBytes(in)
			if !ok {
				return nil, false
			}
			out = append(out, b)
		case len(raw) == 0:
			return nil, false
		default:
			out = append(out, raw[0])
			raw = raw[1:]
		}
	}
	for _, o := range r.GetOutputs() {
		p, has := o.GetParameters()["classification"]
		_, isInt := p.GetParameterChoice().(*inferencepb.InferParameter_Int64Param)
		if touchesRegion(o.GetParameters()) || has && (!isInt || p.GetInt64Param() <= 0) {
			return nil, false
		}
	}
	return out, true
}

// touchesRegion: with no region registered every use of one is an error.
func touchesRegion(ps map[string]*inferencepb.InferParameter) bool {
	for _, k := range []string{"shared_memory_region", "shared_memory_offset", "shared_memory_byte_size"} {
		if _, ok := ps[k]; ok {
			return true
		}
	}
	return false
}

func goodParameter(name string, p *inferencepb.InferParameter) bool {
	_, isBool := p.GetParameterChoice().(*inferencepb.InferParameter_BoolParam)
	_, isInt := p.GetParameterChoice().(*inferencepb.InferParameter_Int64Param)
	_, isString := p.GetParameterChoice().(*inferencepb.InferParameter_StringParam)
	_, isUint := p.GetParameterChoice().(*inferencepb.InferParameter_Uint64Param)
	switch name {
	case "sequence_id":
		return isInt || isString
	case "sequence_start", "sequence_end", "triton_enable_empty_final_response":
		return isBool
	case "priority":
		return isUint || isInt && p.GetInt64Param() >= 0
	case "timeout":
		return isInt
	}
	return p.GetParameterChoice() != nil && !isUint && (len(name) < 7 || name[:7] != "triton_")
}

func typedBytes(in *inferencepb.ModelInferRequest_InferInputTensor) ([]byte, bool) {
	c := in.GetContents()
	kinds := 0
	for _, n := range []int{
		len(c.BoolContents), len(c.IntContents), len(c.Int64Contents), len(c.UintContents), len(c.Uint64Contents),
		len(c.Fp32Contents), len(c.Fp64Contents), len(c.BytesContents),
	} {
		if n > 0 {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, kinds == 0
	}
	var b []byte
	le := binary.LittleEndian
	switch in.GetDatatype() {
	case "BOOL":
		for _, v := range c.BoolContents {
			b = append(b, map[bool]byte{true: 1}[v])
		}
	case "INT8", "INT16", "INT32":
		for _, v := range c.IntContents {
			if bits := in.GetDatatype()[3:]; bits == "8" && v != int32(int8(v)) || bits == "16" && v != int32(int16(v)) {
				return nil, false
			}
			b = appendWidth(b, uint32(v), in.GetDatatype()[3:])
		}
	case "UINT8", "UINT16", "UINT32":
		for _, v := range c.UintContents {
			if bits := in.GetDatatype()[4:]; bits == "8" && v > math.MaxUint8 || bits == "16" && v > math.MaxUint16 {
				return nil, false
			}
			b = appendWidth(b, v, in.GetDatatype()[4:])
		}
	case "INT64":
		for _, v := range c.Int64Contents {
			b = le.AppendUint64(b, uint64(v))
		}
	case "UINT64":
		for _, v := range c.Uint64Contents {
			b = le.AppendUint64(b, v)
		}
	case "FP32":
		for _, v := range c.Fp32Contents {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	case "FP64":
		for _, v := range c.Fp64Contents {
			b = le.AppendUint64(b, math.Float64bits(v))
		}
	case "BYTES":
		for _, v := range c.BytesContents {
			b = tensor.AppendElement(b, v)
		}
	}
	return b, len(b) > 0
}

func appendWidth(b []byte, v uint32, width string) []byte {
	le := binary.LittleEndian.AppendUint32(nil, v)
	return append(b, le[:map[string]int{"8": 1, "16": 2, "32": 4}[width]]...)
}

func typedSample() *inferencepb.ModelInferRequest {
	r := &inferencepb.ModelInferRequest{ModelName: "m"}
	add := func(d string, c *inferencepb.InferTensorContents) {
		r.Inputs = append(r.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{
			Name: d, Datatype: d, Shape: []int64{2}, Contents: c,
		})
	}
	add("BOOL", &inferencepb.InferTensorContents{BoolContents: []bool{true, false}})
	add("INT8", &inferencepb.InferTensorContents{IntContents: []int32{-128, 127}})
	add("INT16", &inferencepb.InferTensorContents{IntContents: []int32{-1, 32767}})
	add("INT64", &inferencepb.InferTensorContents{Int64Contents: []int64{-1, 1 << 40}})
	add("UINT32", &inferencepb.InferTensorContents{UintContents: []uint32{1, math.MaxUint32}})
	add("UINT64", &inferencepb.InferTensorContents{Uint64Contents: []uint64{1, math.MaxUint64}})
	add("FP32", &inferencepb.InferTensorContents{Fp32Contents: []float32{1.5, float32(math.NaN())}})
	add("FP64", &inferencepb.InferTensorContents{Fp64Contents: []float64{1.5, math.Inf(-1)}})
	add("BYTES", &inferencepb.InferTensorContents{BytesContents: [][]byte{[]byte("ab"), {}}})
	add("FP16", &inferencepb.InferTensorContents{})
	return r
}

func paramSample() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{Parameters: map[string]*inferencepb.InferParameter{
		"sequence_id":          {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: "x"}},
		"sequence_start":       {ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: true}},
		"timeout":              {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: -1}},
		"shared_memory_region": {ParameterChoice: &inferencepb.InferParameter_DoubleParam{DoubleParam: 1}},
	}}
}

// FuzzDecodeResponse looks for panics, leaks and disagreement on what can be
// read.
func FuzzDecodeResponse(f *testing.F) {
	f.Add(wire(f, &inferencepb.ModelInferResponse{
		ModelName: "m", Outputs: []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y", Datatype: "INT8", Shape: []int64{2}}},
		RawOutputContents: [][]byte{{1, 2}},
	}), uint16(4))
	f.Fuzz(func(t *testing.T, b []byte, frame uint16) {
		pool := tensor.NewPool()
		var r kserve.Response
		data := split(b, int(frame))
		err := rpc.NewCodec(pool).Unmarshal(data, &r)
		data.Free()
		var want inferencepb.ModelInferResponse
		if perr := proto.Unmarshal(b, &want); perr != nil {
			require.Error(t, err)
		} else if err == nil {
			require.Equal(t, want.GetModelName(), r.ModelName)
			require.Len(t, r.Outputs, len(want.GetOutputs()))
		}
		r.Reset()
		require.Zero(t, pool.Outstanding())
	})
}

var _ mem.BufferSlice
