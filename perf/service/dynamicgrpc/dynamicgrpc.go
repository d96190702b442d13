// Package dynamicgrpc is the target of any gRPC method with streams in both directions. A
// command in the input data writes the encoded messages of each request; the package knows
// nothing of their fields.
package dynamicgrpc

import (
	"context"

	"triton/perf"
	"triton/perf/data"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The names of perf_analyzer for the request and the response.
const (
	generator = "message_generator"
	response  = "response"
)

// Options configure the target.
type Options struct {
	client.Options
	Method      string // package.Service/Method
	Compression string // gzip, deflate or empty
}

type target struct{ *lane.Method }

var (
	_ perf.Target    = (*target)(nil)
	_ perf.Describer = (*target)(nil)
)

// New returns a target. It connects on first use.
func New(o Options) (perf.Target, error) {
	m, err := lane.NewMethod(lane.MethodOptions{
		Options: o.Options, Name: "/" + o.Method, Streaming: true, Compression: o.Compression,
	})
	if err != nil {
		return nil, err
	}
	return &target{m}, nil
}

// Protocol returns client.GRPC.
func (t *target) Protocol() client.Protocol { return client.GRPC }

// Describe returns the input, a command, and an output without data: the responses are binary
// messages of an unknown type.
func (t *target) Describe(context.Context, string, string, bool) (*perf.Description, error) {
	return &perf.Description{
		Inputs:  []data.Tensor{{Name: generator, DataType: tensor.Bytes, Shape: tensor.Shape{-1}, Generator: true}},
		Outputs: []data.Tensor{{Name: response, DataType: tensor.Bytes, Shape: tensor.Shape{1}}},
	}, nil
}

// Prepare makes the messages of a request one call.
func (t *target) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	messages, err := service.Elements(req, generator)
	if err != nil {
		return nil, err
	}
	return t.Method.Prepare(messages...), nil
}

// PrepareSequence refuses.
func (t *target) PrepareSequence(*kserve.Request) (*lane.Prepared, error) {
	return nil, service.ErrSequence
}

// Decode adds the output without data.
func (t *target) Decode(_ *lane.Exchange, resp *kserve.Response) error {
	service.SetText(resp, response, nil)
	return nil
}
