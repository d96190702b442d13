package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/server/servertest"
)

// TestLimitsOfRequests sends, over HTTP and gRPC, requests with one thing that is too long or there
// too often.
func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "1", 0)))
	long := strings.Repeat("x", kserve.MaxName+1)
	type request = inferencepb.ModelInferRequest
	for _, c := range []struct {
		name, want string
		change     func(r *request)
	}{
		{"model", "the model name has 4097 bytes, at most 4096 are possible", func(r *request) { r.ModelName = long }},
		{"version", "the model version has 4097 bytes, at most 4096 are possible", func(r *request) { r.ModelVersion = strings.Repeat("1", len(long)) }},
		{"id", "the request ID has 65537 bytes, at most 65536 are possible", func(r *request) { r.Id = strings.Repeat("x", kserve.MaxID+1) }},
		{"input", "the tensor name has 4097 bytes, at most 4096 are possible", func(r *request) { r.Inputs[0].Name = long }},
		{"datatype", "the data type has 4097 bytes, at most 4096 are possible", func(r *request) { r.Inputs[0].Datatype = long }},
		{"parameter", "the parameter name has 4097 bytes, at most 4096 are possible", func(r *request) {
			r.Parameters = map[string]*inferencepb.InferParameter{long: {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 1}}}
		}},
		{"text", "the value of a string parameter has 1048577 bytes, at most 1048576 are possible", func(r *request) {
			r.Parameters = map[string]*inferencepb.InferParameter{
				"p": {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: strings.Repeat("x", kserve.MaxText+1)}},
			}
		}},
		{"dimensions", "dimensions", func(r *request) { r.Inputs[0].Shape = make([]int64, kserve.MaxDims+1) }},
		{"parameters", " parameters", func(r *request) {
			r.Parameters = map[string]*inferencepb.InferParameter{}
			for i := range kserve.MaxElements + 1 {
				r.Parameters[fmt.Sprint("p", i)] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{}}
			}
		}},
		{"inputs", " inputs", func(r *request) {
			for range kserve.MaxElements {
				r.Inputs = append(r.Inputs, r.Inputs[0])
			}
		}},
		{"outputs", " requested outputs", func(r *request) {
			r.Outputs = make([]*inferencepb.ModelInferRequest_InferRequestedOutputTensor, kserve.MaxElements+1)
			for i := range r.Outputs {
				r.Outputs[i] = &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: "OUTPUT0"}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &request{ModelName: "m", Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
				Name: "INPUT0", Datatype: "INT32", Shape: []int64{1}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{5}},
			}}}
			c.change(r)
			overGRPC := refusedByGRPC(t, s.GRPC, r)
			require.Contains(t, overGRPC, c.want)
			require.Less(t, len(overGRPC), 200, "the value is not repeated")
			overHTTP := refusedByHTTP(t, s.HTTP, r)
			require.Contains(t, overHTTP, c.want)
			require.Less(t, len(overHTTP), 200, "the value is not repeated")
		})
	}
}

func refusedByGRPC(t *testing.T, address string, r *inferencepb.ModelInferRequest) string {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	_, err = inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(context.Background(), r)
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	return status.Convert(err).Message()
}

// refusedByHTTP sends the request as JSON.
func refusedByHTTP(t *testing.T, address string, r *inferencepb.ModelInferRequest) string {
	t.Helper()
	type tensor struct {
		Name     string  `json:"name"`
		Datatype string  `json:"datatype,omitempty"`
		Shape    []int64 `json:"shape,omitempty"`
		Data     []int32 `json:"data,omitempty"`
	}
	body := struct {
		ID         string         `json:"id"`
		Parameters map[string]any `json:"parameters"`
		Inputs     []tensor       `json:"inputs"`
		Outputs    []tensor       `json:"outputs,omitempty"`
	}{r.Id, map[string]any{}, nil, nil}
	for name, p := range r.Parameters {
		switch v := p.ParameterChoice.(type) {
		case *inferencepb.InferParameter_StringParam:
			body.Parameters[name] = v.StringParam
		case *inferencepb.InferParameter_Int64Param:
			body.Parameters[name] = v.Int64Param
		default:
			body.Parameters[name] = true
		}
	}
	for _, in := range r.Inputs {
		body.Inputs = append(body.Inputs, tensor{in.Name, in.Datatype, in.Shape, in.Contents.IntContents})
	}
	for _, out := range r.Outputs {
		body.Outputs = append(body.Outputs, tensor{Name: out.Name})
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	path := "/v2/models/" + r.ModelName
	if r.ModelVersion != "" {
		path += "/versions/" + r.ModelVersion
	}
	resp, err := newClient(t).Post("http://"+address+path+"/infer", "application/json", strings.NewReader(string(text)))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	var reply struct{ Error string }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&reply))
	return reply.Error
}
