package service

import (
	"context"
	"errors"
	"fmt"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

const (
	predict     = "/tensorflow.serving.PredictionService/Predict"
	getMetadata = "/tensorflow.serving.PredictionService/GetModelMetadata"
)

// TFServingOptions configure the target.
type TFServingOptions struct {
	client.Options
	Signature   string // of the saved model
	Compression string // gzip, deflate or empty
}

type tfServing struct {
	*lane.Method
	signature string
}

var (
	_ perf.Target    = (*tfServing)(nil)
	_ perf.Describer = (*tfServing)(nil)
)

// NewTFServing returns the target of TensorFlow Serving's PredictionService over gRPC, which connects on first use. The few
// messages that it needs are encoded by hand: the generated types would bring all of TensorFlow's.
func NewTFServing(o TFServingOptions) (perf.Target, error) {
	if o.Protocol != client.GRPC {
		return nil, errors.New("perf_analyzer supports only grpc protocol for TensorFlow Serving.")
	}
	m, err := lane.NewMethod(lane.MethodOptions{Options: o.Options, Name: predict, Compression: o.Compression})
	if err != nil {
		return nil, err
	}
	return &tfServing{m, o.Signature}, nil
}

// Protocol returns client.GRPC.
func (t *tfServing) Protocol() client.Protocol { return client.GRPC }

// Describe reads the inputs of the signature from the server. Responses have no outputs.
func (t *tfServing) Describe(ctx context.Context, model, version string, batching bool) (*perf.Description, error) {
	reply, err := t.Invoke(ctx, getMetadata, appendMetadataRequest(nil, spec{name: model, version: version}))
	if err != nil {
		return nil, &perf.SetupError{What: "failed to get model metadata", Err: err}
	}
	inputs, err := readInputs(reply, t.signature)
	if err != nil {
		return nil, err
	}
	d := &perf.Description{}
	if batching {
		d.MaxBatch = maxBatch
	}
	for _, in := range inputs {
		tensor, err := in.describe(batching)
		if err != nil {
			return nil, err
		}
		d.Inputs = append(d.Inputs, tensor)
	}
	return d, nil
}

// maxBatch leaves it to the server to refuse a batch.
const maxBatch = 1<<31 - 1

// Prepare encodes a PredictRequest.
func (t *tfServing) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	message, err := appendPredictRequest(nil, spec{req.ModelName, req.ModelVersion, t.signature}, req)
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", req.ModelName, err)
	}
	return t.Method.Prepare(message), nil
}

// PrepareSequence refuses.
func (t *tfServing) PrepareSequence(*kserve.Request) (*lane.Prepared, error) {
	return nil, errSequence
}

// Decode leaves the response without outputs.
func (t *tfServing) Decode(*lane.Exchange, *kserve.Response) error { return nil }
