package service

import (
	"context"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The names of perf_analyzer for the request and the response.
const (
	generator           = "message_generator"
	dynamicGRPCResponse = "response"
)

// DynamicGRPCOptions configure the target.
type DynamicGRPCOptions struct {
	client.Options
	Method      string // package.Service/Method
	Compression string // gzip, deflate or empty
}

type dynamicGRPC struct{ *lane.Method }

var (
	_ perf.Target    = (*dynamicGRPC)(nil)
	_ perf.Describer = (*dynamicGRPC)(nil)
)

// NewDynamicGRPC returns the target of any gRPC method with streams in both directions, which connects on first use. A
// command in the input data writes the encoded messages of each request; nothing is known of their fields.
func NewDynamicGRPC(o DynamicGRPCOptions) (perf.Target, error) {
	m, err := lane.NewMethod(lane.MethodOptions{
		Options: o.Options, Name: "/" + o.Method, Streaming: true, Compression: o.Compression,
	})
	if err != nil {
		return nil, err
	}
	return &dynamicGRPC{m}, nil
}

// Protocol returns client.GRPC.
func (t *dynamicGRPC) Protocol() client.Protocol { return client.GRPC }

// Describe returns the input, a command, and an output without data: the responses are binary
// messages of an unknown type.
func (t *dynamicGRPC) Describe(context.Context, string, string, bool) (*perf.Description, error) {
	return &perf.Description{
		Inputs:  []data.Tensor{{Name: generator, DataType: tensor.Bytes, Shape: tensor.Shape{-1}, Generator: true}},
		Outputs: []data.Tensor{{Name: dynamicGRPCResponse, DataType: tensor.Bytes, Shape: tensor.Shape{1}}},
	}, nil
}

// Prepare makes the messages of a request one call.
func (t *dynamicGRPC) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	messages, err := elements(req, generator)
	if err != nil {
		return nil, err
	}
	return t.Method.Prepare(messages...), nil
}

// PrepareSequence refuses.
func (t *dynamicGRPC) PrepareSequence(*kserve.Request) (*lane.Prepared, error) {
	return nil, errSequence
}

// Decode adds the output without data.
func (t *dynamicGRPC) Decode(_ *lane.Exchange, resp *kserve.Response) error {
	setText(resp, dynamicGRPCResponse, nil)
	return nil
}
