package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/url"
	"os"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// torchServeInput is perf_analyzer's name of the input, the path of a file.
const torchServeInput = "TORCHSERVE_INPUT"

type torchServe struct{ *lane.Post }

var (
	_ perf.Target    = (*torchServe)(nil)
	_ perf.Describer = (*torchServe)(nil)
)

// NewTorchServe returns the target of TorchServe's inference API over HTTP, which connects on first use. Each request
// uploads a file, whose path is the input data.
func NewTorchServe(o client.Options) (perf.Target, error) {
	if o.Protocol != client.HTTP {
		return nil, errors.New("perf_analyzer does not support gRPC protocol with TorchServe")
	}
	post, err := lane.NewPost(lane.PostOptions{Options: o, Failure: torchServeFailure})
	if err != nil {
		return nil, err
	}
	return &torchServe{post}, nil
}

func torchServeFailure(code int, body []byte) error {
	return status.New(status.Unknown, "inference failed with error code %d: %s", code, bytes.TrimSpace(body))
}

// Protocol returns client.HTTP.
func (t *torchServe) Protocol() client.Protocol { return client.HTTP }

// Describe returns the input. Responses have no outputs: their form depends on the handler of
// the model.
func (t *torchServe) Describe(context.Context, string, string, bool) (*perf.Description, error) {
	return &perf.Description{Inputs: []data.Tensor{{Name: torchServeInput, DataType: tensor.Bytes, Shape: tensor.Shape{1}}}}, nil
}

// Prepare reads the file and makes it the part "data" of a form. perf_analyzer reads it again
// for each request.
func (t *torchServe) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	path, err := element(req, torchServeInput)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(string(path))
	if err != nil {
		return nil, fmt.Errorf("Failed to open the specified file `%s`: %w", path, err)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormField("data")
	if err == nil {
		_, err = part.Write(content)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return nil, fmt.Errorf("form of %s: %w", path, err)
	}
	model := "predictions/" + url.PathEscape(req.ModelName)
	if req.ModelVersion != "" {
		model += "/" + url.PathEscape(req.ModelVersion)
	}
	return t.Post.Prepare(model, form.FormDataContentType(), body.Bytes()), nil
}

// PrepareSequence refuses.
func (t *torchServe) PrepareSequence(*kserve.Request) (*lane.Prepared, error) {
	return nil, errSequence
}

// Decode leaves the response without outputs.
func (t *torchServe) Decode(*lane.Exchange, *kserve.Response) error { return nil }
