package lane

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rest"
	"triton/pkg/tensor"
)

// appendDataJSON appends the elements of an input as the member "data".
func appendDataJSON(b []byte, t *kserve.Tensor) ([]byte, error) {
	if err := checkJSON(t); err != nil {
		return nil, fmt.Errorf("input %q: %w", t.Name, err)
	}
	b, err := rest.AppendElements(append(b, `,"data":[`...), t)
	if err != nil {
		return nil, err
	}
	return append(b, ']'), nil
}

// checkJSON returns why JSON cannot have the elements of a tensor.
func checkJSON(t *kserve.Tensor) error {
	data := make([]byte, t.Data.Len())
	t.Data.CopyTo(data)
	switch t.DataType {
	case tensor.FP16, tensor.BF16:
		return fmt.Errorf("JSON has no %s numbers", t.DataType)
	case tensor.FP32, tensor.FP64:
		if !finite(data, t.DataType.Size()) {
			return fmt.Errorf("JSON has no numbers that are infinite or NaN")
		}
	case tensor.Bytes:
		for s, err := range tensor.Elements(data) {
			if err == nil && !utf8.Valid(s) {
				return fmt.Errorf("JSON has no strings that are not UTF-8, such as %.20q", s)
			}
		}
	}
	return nil
}

// finite reports whether all floats are finite: not all bits of their exponents are set.
func finite(data []byte, size int) bool {
	exponent := uint16(math.Float32bits(float32(math.Inf(1))) >> 16)
	if size == 8 {
		exponent = uint16(math.Float64bits(math.Inf(1)) >> 48)
	}
	for high := range slices.Chunk(data, size) {
		if v := uint16(high[len(high)-1])<<8 | uint16(high[max(len(high)-2, 0)]); v&exponent == exponent {
			return false
		}
	}
	return true
}

// jsonOutput is an output of a response.
type jsonOutput struct {
	Name       string          `json:"name"`
	DataType   string          `json:"datatype"`
	Shape      []int64         `json:"shape"`
	Data       json.RawMessage `json:"data,omitempty"`
	Parameters struct {
		BinarySize *int `json:"binary_data_size,omitempty"`
	} `json:"parameters"`
}

// decodeData decodes the elements of an output that is in the JSON. As an input of a request it
// has the same form.
func (o *jsonOutput) decodeData() ([]byte, error) {
	text, err := json.Marshal(map[string][]jsonOutput{"inputs": {*o}})
	if err != nil {
		return nil, err
	}
	var req kserve.Request
	defer req.Reset()
	d := rest.Decoder{Pool: tensor.NewPool(), MaxInput: math.MaxInt64}
	if err := d.DecodeRequest(&req, tensor.HeapBuffer(text), len(text)); err != nil {
		return nil, err
	}
	data := make([]byte, req.Inputs[0].Data.Len())
	req.Inputs[0].Data.CopyTo(data)
	return data, nil
}
