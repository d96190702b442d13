// Package service provides the targets for servers without the KServe protocol: OpenAI's API, TensorFlow Serving,
// TorchServe, and any method of gRPC.
package service

import (
	"errors"
	"fmt"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// errSequence is the error of a request of a sequence.
var errSequence = errors.New("only Triton has sequences of requests")

// element returns the only element of an input of strings.
func element(req *kserve.Request, input string) ([]byte, error) {
	all, err := elements(req, input)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("input %s has %d elements, a request needs one", input, len(all))
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// elements returns the elements of an input of strings.
func elements(req *kserve.Request, input string) ([][]byte, error) {
	t := req.Input(input)
	if t == nil {
		return nil, fmt.Errorf("the request has no input %s", input)
	}
	data, ok := t.Data.Contiguous()
	if !ok {
		return nil, fmt.Errorf("input %s is in several pieces", input)
	}
	var all [][]byte
	for element, err := range tensor.Elements(data) {
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", input, err)
		}
		all = append(all, element)
	}
	return all, nil
}

// setText adds an output of one string to a response; nil is an output without data.
func setText(resp *kserve.Response, output string, text []byte) {
	t := resp.AddOutput()
	t.Name, t.DataType, t.Shape = output, tensor.Bytes, tensor.Shape{1}
	if text != nil {
		t.Data = tensor.NewData(tensor.HeapBuffer(tensor.AppendElement(nil, text)))
	}
}
