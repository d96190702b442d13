package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"triton/pkg/client/internal/wire"
	"triton/pkg/kserve"
)

func (t *httpTransport) infer(ctx context.Context, req *Request) (*Response, error) {
	if req.EmptyFinal {
		return nil, wire.ErrEmptyFinal
	}
	text, tail, err := encodeHTTP(req)
	if err != nil {
		return nil, err
	}
	c := httpCall{
		method: http.MethodPost, path: wire.ModelPath(req.Model, req.Version) + "/infer",
		header: map[string]string{"Content-Type": "application/json"}, body: append([][]byte{text}, tail...),
	}
	if len(tail) > 0 {
		c.header = map[string]string{"Content-Type": "application/octet-stream", headerLength: strconv.Itoa(len(text))}
	}
	resp, err := t.do(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readBody(resp)
	if err != nil {
		return nil, httpFailure(ctx, err)
	}
	n := len(body)
	if h := resp.Header.Get(headerLength); h != "" {
		if n, err = strconv.Atoi(h); err != nil || n < 0 || n > len(body) {
			return nil, fmt.Errorf("response of %d bytes: %s is %q", len(body), headerLength, h)
		}
	}
	return decodeHTTP(body[:n], body[n:])
}

// headerLength is the header with the size of the JSON part of a body.
const headerLength = "Inference-Header-Content-Length"

// maxPreallocated bounds the memory that is allocated before its bytes have arrived.
const maxPreallocated = 64 << 20

func readBody(resp *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, maxPreallocated)) + bytes.MinRead)
	}
	_, err := io.Copy(&b, resp.Body)
	return b.Bytes(), err
}

// encodeHTTP returns the JSON part of a request and the tensors behind it.
func encodeHTTP(req *Request) (text []byte, tail [][]byte, err error) {
	parameters, err := httpParameters(req)
	if err != nil {
		return nil, nil, err
	}
	inputs := []object{}
	for _, in := range req.Inputs {
		p := httpRegion(in.Region)
		if in.Region.Name == "" {
			p["binary_data_size"] = len(in.Data)
			tail = append(tail, in.Data)
		}
		shape := in.Shape
		if shape == nil {
			shape = []int64{}
		}
		inputs = append(inputs, object{"name": in.Name, "datatype": in.Datatype, "shape": shape, "parameters": p})
	}
	message := object{"parameters": parameters, "inputs": inputs}
	if req.ID != "" {
		message["id"] = req.ID
	}
	var outputs []object
	for _, out := range req.Outputs {
		p := httpRegion(out.Region)
		if out.Region.Name == "" {
			p["binary_data"] = true
		}
		if out.Classes > 0 {
			p["classification"] = out.Classes
		}
		outputs = append(outputs, object{"name": out.Name, "parameters": p})
	}
	if len(outputs) > 0 {
		message["outputs"] = outputs
	}
	if text, err = json.Marshal(message); err != nil {
		return nil, nil, fmt.Errorf("request: %w", err)
	}
	return text, tail, nil
}

func httpParameters(req *Request) (object, error) {
	o := object{"binary_data_output": true}
	for name, value := range req.Parameters {
		p, err := kserve.NewParameter(name, value)
		if err != nil {
			return nil, err
		}
		o[name] = p.Value()
	}
	if s := req.Sequence; !s.none() {
		o["sequence_id"] = s.ID
		if s.Text != "" {
			o["sequence_id"] = s.Text
		}
		o["sequence_start"], o["sequence_end"] = s.Start, s.End
	}
	if req.Priority != 0 {
		o["priority"] = req.Priority
	}
	if req.Timeout != 0 {
		o["timeout"] = req.Timeout.Microseconds()
	}
	return o, nil
}

func httpRegion(r Region) object {
	o := object{}
	if r.Name != "" {
		o["shared_memory_region"], o["shared_memory_byte_size"] = r.Name, r.Size
		if r.Offset != 0 {
			o["shared_memory_offset"] = r.Offset
		}
	}
	return o
}

type jsonResponse struct {
	ModelName    string         `json:"model_name"`
	ModelVersion string         `json:"model_version"`
	ID           string         `json:"id"`
	Parameters   map[string]any `json:"parameters"`
	Outputs      []struct {
		Name       string          `json:"name"`
		DataType   string          `json:"datatype"`
		Shape      []int64         `json:"shape"`
		Data       json.RawMessage `json:"data"`
		Parameters struct {
			BinarySize *int `json:"binary_data_size"`
		} `json:"parameters"`
	} `json:"outputs"`
}

// decodeHTTP decodes a response whose outputs are binary or in shared memory.
func decodeHTTP(text, tail []byte) (*Response, error) {
	var j jsonResponse
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&j); err != nil {
		return nil, fmt.Errorf("response JSON: %w", err)
	}
	r := &Response{Model: j.ModelName, Version: j.ModelVersion, ID: j.ID, Parameters: map[string]any{}}
	for name, value := range j.Parameters {
		r.Parameters[name] = parameterValue(value)
	}
	for _, o := range j.Outputs {
		t := Tensor{Name: o.Name, Datatype: o.DataType, Shape: o.Shape}
		switch n := o.Parameters.BinarySize; {
		case n != nil && (*n < 0 || *n > len(tail)):
			return nil, fmt.Errorf("output %q: %d bytes declared, %d are left", o.Name, *n, len(tail))
		case n != nil:
			t.Data, tail = tail[:*n:*n], tail[*n:]
		case o.Data != nil:
			return nil, fmt.Errorf("output %q: the server did not send it as binary", o.Name)
		}
		r.Outputs = append(r.Outputs, t)
	}
	return r, nil
}

// parameterValue converts a JSON value to a type of Response.Parameters.
func parameterValue(value any) any {
	number, ok := value.(json.Number)
	if !ok {
		return value
	}
	if n, err := number.Int64(); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(number.String(), 10, 64); err == nil {
		return n
	}
	f, err := number.Float64()
	if err != nil {
		return number.String()
	}
	return f
}
