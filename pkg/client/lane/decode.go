package lane

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/mem"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

type jsonResponse struct {
	ModelName    string       `json:"model_name"`
	ModelVersion string       `json:"model_version"`
	ID           string       `json:"id"`
	Outputs      []jsonOutput `json:"outputs"`
}

// decode decodes a response. An output without data is in shared memory.
func (c *httpClient) decode(x *Exchange, resp *kserve.Response) error {
	if x.JSONLen < 0 || x.JSONLen > len(x.Body) {
		return fmt.Errorf("response of %d bytes declares that %d are JSON", len(x.Body), x.JSONLen)
	}
	var j jsonResponse
	if err := json.Unmarshal(x.Body[:x.JSONLen], &j); err != nil {
		return fmt.Errorf("response JSON: %w", err)
	}
	resp.ModelName, resp.ModelVersion, resp.ID = j.ModelName, j.ModelVersion, j.ID
	rest := x.Body[x.JSONLen:]
	for _, o := range j.Outputs {
		var data []byte
		switch n := o.Parameters.BinarySize; {
		case n == nil && o.Data == nil:
		case n == nil:
			var err error
			if data, err = o.decodeData(); err != nil {
				return fmt.Errorf("output %q: %w", o.Name, err)
			}
		case *n < 0 || *n > len(rest):
			return fmt.Errorf("output %q: %d bytes declared, %d are left", o.Name, *n, len(rest))
		default:
			data, rest = rest[:*n], rest[*n:]
		}
		if err := addOutput(resp, o.Name, o.DataType, o.Shape, data); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes a response; its tensors have memory of their own.
func (c *grpcClient) decode(x *Exchange, resp *kserve.Response) error {
	return c.codec.DecodeResponse(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(x.Body))}, resp)
}

func addOutput(resp *kserve.Response, name, dataType string, shape []int64, data []byte) error {
	dt, ok := tensor.ParseDataType(dataType)
	if !ok {
		return fmt.Errorf("output %q: unknown data type %q", name, dataType)
	}
	t := resp.AddOutput()
	t.Name, t.DataType = name, dt
	t.Shape = append(t.Shape[:0], shape...)
	if len(data) > 0 {
		t.Data = tensor.NewData(tensor.HeapBuffer(bytes.Clone(data)))
	}
	return nil
}
