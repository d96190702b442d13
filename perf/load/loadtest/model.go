// Package loadtest provides null servers for tests: they answer every inference
// request with the same bytes, over HTTP and over gRPC, so that tests can measure
// what a load generator costs by itself.
package loadtest

import (
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Model is the name of the only model.
const Model = "null"

// Request returns a request for the model with a batch of one.
func Request() *kserve.Request {
	req := &kserve.Request{ModelName: Model, Outputs: []kserve.RequestedOutput{{Name: "OUTPUT0", Binary: true}}}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, tensor.Shape{1, 16}
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 64)))
	return req
}

// state counts the requests; the statistics are derived from the count.
type state struct{ requests atomic.Uint64 }

// The model: one INT32 vector of 16 in and out, batches of up to 64.
const (
	metadataJSON = `{"name":"null","versions":["1"],"platform":"null","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[-1,16]}],"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[-1,16]}]}`
	configJSON   = `{"name":"null","platform":"","backend":"null","max_batch_size":64,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[16]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[16]}]}`
	serverJSON   = `{"name":"triton","version":"2.51.0","extensions":["statistics"]}`
	outputJSON   = `{"model_name":"null","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}]}`
)

// microsecond is the reported duration of each part of a request, in nanoseconds.
const microsecond = 1000

func (s *state) statisticsJSON() string {
	n := s.requests.Load()
	part := fmt.Sprintf(`{"count":%d,"ns":%d}`, n, n*microsecond)
	return fmt.Sprintf(`{"model_stats":[{"name":"null","version":"1","last_inference":0,"inference_count":%d,"execution_count":%d,`+
		`"inference_stats":{"success":{"count":%d,"ns":%d},"fail":{"count":0,"ns":0},"queue":%s,"compute_input":%s,"compute_infer":%s,"compute_output":%s,`+
		`"cache_hit":{"count":0,"ns":0},"cache_miss":{"count":0,"ns":0}},"response_stats":{},"batch_stats":[],"memory_usage":[]}]}`,
		n, n, n, n*5*microsecond, part, part, part, part)
}

func (s *state) statistics() *inferencepb.ModelStatisticsResponse {
	n := s.requests.Load()
	part := func() *inferencepb.StatisticDuration {
		return &inferencepb.StatisticDuration{Count: n, Ns: n * microsecond}
	}
	return &inferencepb.ModelStatisticsResponse{ModelStats: []*inferencepb.ModelStatistics{{
		Name: Model, Version: "1", InferenceCount: n, ExecutionCount: n,
		InferenceStats: &inferencepb.InferStatistics{
			Success: &inferencepb.StatisticDuration{Count: n, Ns: n * 5 * microsecond},
			Queue:   part(), ComputeInput: part(), ComputeInfer: part(), ComputeOutput: part(),
		},
	}}}
}

// inferResponse returns the gRPC response to every inference.
func inferResponse() ([]byte, error) {
	return proto.Marshal(response())
}

func response() *inferencepb.ModelInferResponse {
	return &inferencepb.ModelInferResponse{
		ModelName: Model, ModelVersion: "1",
		Outputs:           []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "OUTPUT0", Datatype: "INT32", Shape: []int64{1, 16}}},
		RawOutputContents: [][]byte{make([]byte, 64)},
	}
}
