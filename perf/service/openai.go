package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// The names of perf_analyzer for the request and the response.
const (
	openAIPayload  = "payload"
	openAIResponse = "response"
)

// OpenAIOptions configure the target.
type OpenAIOptions struct {
	client.Options
	Endpoint string // path below the address, such as v1/chat/completions
}

// openAI sends payloads to one endpoint.
type openAI struct {
	*lane.Post
	endpoint string
}

var (
	_ perf.Target            = (*openAI)(nil)
	_ perf.Describer         = (*openAI)(nil)
	_ perf.Conversationalist = (*openAI)(nil)
)

// NewOpenAI returns the target of OpenAI's HTTP API, and of any server that takes JSON by POST and answers with JSON or a
// stream of server-sent events, such as Triton's generate extension. It connects on first use. The input data holds whole
// request bodies.
func NewOpenAI(o OpenAIOptions) (perf.Target, error) {
	if o.Protocol != client.HTTP {
		return nil, errors.New("perf_analyzer does not support gRPC protocol with OpenAI endpoints")
	}
	if strings.ContainsFunc(o.Endpoint, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("endpoint %q: a path has no blanks and no control characters", o.Endpoint)
	}
	post, err := lane.NewPost(lane.PostOptions{Options: o.Options, Failure: openAIFailure, Event: event})
	if err != nil {
		return nil, err
	}
	return &openAI{post, o.Endpoint}, nil
}

// openAIFailure returns the error of a response.
func openAIFailure(code int, body []byte) error {
	return status.New(codeOf(code), "OpenAI response returns HTTP code %d: %s", code, bytes.TrimSpace(body))
}

func codeOf(code int) status.Code {
	for c := status.Internal; c <= status.Cancelled; c++ {
		if c.HTTP() == code {
			return c
		}
	}
	return status.Unknown
}

// event judges an event of a stream. Servers that fail after the head of the response have no
// other way to say so.
func event(name, data []byte) (end bool, err error) {
	data = bytes.TrimSpace(data)
	if string(name) == "error" || isError(data) {
		return false, status.New(status.Unknown, "the OpenAI stream reports an error: %s", data)
	}
	return string(data) == "[DONE]", nil
}

// isError reports whether an object begins as errors of OpenAI's API, of vLLM and of Triton
// do. All members are not read: this runs while load runs.
func isError(data []byte) bool {
	for _, start := range []string{`{"error":`, `{"object":"error"`, `{"object": "error"`} {
		if bytes.HasPrefix(data, []byte(start)) {
			return !bytes.HasPrefix(data, []byte(`{"error":null`)) && !bytes.HasPrefix(data, []byte(`{"error": null`))
		}
	}
	return false
}

// Protocol returns client.HTTP.
func (t *openAI) Protocol() client.Protocol { return client.HTTP }

// Describe returns one input and one output, each a JSON text.
func (t *openAI) Describe(context.Context, string, string, bool) (*perf.Description, error) {
	text := func(name string) []data.Tensor {
		return []data.Tensor{{Name: name, DataType: tensor.Bytes, Shape: tensor.Shape{1}, JSON: true}}
	}
	return &perf.Description{Inputs: text(openAIPayload), Outputs: text(openAIResponse)}, nil
}

// Prepare makes the payload the body of a request.
func (t *openAI) Prepare(req *kserve.Request) (*lane.Prepared, error) {
	body, err := element(req, openAIPayload)
	if err != nil {
		return nil, err
	}
	return t.Post.Prepare(t.endpoint, "application/json", body), nil
}

// PrepareSequence refuses: sessions are another thing than sequences.
func (t *openAI) PrepareSequence(*kserve.Request) (*lane.Prepared, error) {
	return nil, errSequence
}

// Decode returns the text of the response, or of an event with its field names.
func (t *openAI) Decode(x *lane.Exchange, resp *kserve.Response) error {
	setText(resp, openAIResponse, append([]byte{}, x.Body...))
	return nil
}
