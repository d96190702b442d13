package rest

import (
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// Labels returns the class names of an output; nil if it has none.
type Labels interface{ Labels(output string) []string }

// Encoder writes inference responses. It keeps scratch between calls and must
// not be used by two goroutines at once.
type Encoder struct {
	// Batched reports whether the model's outputs have a batch dimension.
	Batched bool
	Labels  Labels

	tail    []tensor.Segment
	classes kserve.Classes
	members []generatedMember
}

// EncodeResponse appends the JSON text of resp to dst, with the outputs in the
// form that req requests, and returns it with the segments that follow the text
// and their total size. The segments are valid until resp is reset or the
// encoder is called again.
func (e *Encoder) EncodeResponse(dst []byte, resp *kserve.Response, req *kserve.Request) (text []byte, tail []tensor.Segment, size int, err error) {
	e.tail = e.tail[:0]
	dst = append(dst, '{')
	if resp.ID != "" {
		dst = append(dst, `"id":`...)
		dst = tritonjson.AppendString(dst, resp.ID)
		dst = append(dst, ',')
	}
	dst = append(dst, `"model_name":`...)
	dst = tritonjson.AppendString(dst, resp.ModelName)
	dst = append(dst, `,"model_version":`...)
	dst = tritonjson.AppendString(dst, resp.ModelVersion)
	if len(resp.Parameters) > 0 {
		dst = append(dst, `,"parameters":`...)
		dst = appendParameters(dst, resp.Parameters)
	}
	dst = append(dst, `,"outputs":[`...)
	for i := range resp.Outputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		n := 0
		if dst, n, err = e.output(dst, &resp.Outputs[i], req); err != nil {
			return nil, nil, 0, err
		}
		size += n
	}
	return append(dst, `]}`...), e.tail, size, nil
}

// Release drops the references to the last response.
func (e *Encoder) Release() {
	clear(e.tail)
	e.tail = e.tail[:0]
	e.Labels = nil
}

// output appends one element of outputs. n is the number of its bytes that follow
// the text.
func (e *Encoder) output(dst []byte, t *kserve.Tensor, req *kserve.Request) (_ []byte, n int, err error) {
	isBinary, topK, placed := req.BinaryOutput, uint32(0), false
	if len(req.Outputs) > 0 {
		isBinary = false
		for i := range req.Outputs {
			if o := &req.Outputs[i]; o.Name == t.Name {
				isBinary, topK, placed = o.Binary, o.Classification, o.Placed
				break
			}
		}
	}
	if topK > 0 {
		var labels []string
		if e.Labels != nil {
			labels = e.Labels.Labels(t.Name)
		}
		if t, err = e.classes.Of(t, int(topK), e.Batched, labels); err != nil {
			return nil, 0, err
		}
	}
	dst = append(dst, `{"name":`...)
	dst = tritonjson.AppendString(dst, t.Name)
	dst = append(dst, `,"datatype":"`...)
	dst = append(dst, t.DataType.String()...)
	dst = append(dst, `","shape":`...)
	dst = t.Shape.Append(dst)
	if placed {
		return append(dst, '}'), 0, nil
	}
	if isBinary {
		dst = append(dst, `,"parameters":{"binary_data_size":`...)
		n = t.Data.Len()
		dst = strconv.AppendInt(dst, int64(n), 10)
		for i := range t.Data.Segments() {
			e.tail = append(e.tail, t.Data.Segment(i))
		}
		return append(dst, "}}"...), n, nil
	}
	if dst, err = appendData(dst, t); err != nil {
		return nil, 0, err
	}
	return append(dst, '}'), 0, nil
}

func appendParameters(dst []byte, ps []kserve.Parameter) []byte {
	dst = append(dst, '{')
	for i := range ps {
		p := &ps[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = tritonjson.AppendString(dst, p.Name)
		dst = appendParameter(append(dst, ':'), p)
	}
	return append(dst, '}')
}

func appendParameter(dst []byte, p *kserve.Parameter) []byte {
	switch p.Kind {
	case kserve.ParamBool:
		return strconv.AppendBool(dst, p.Bool)
	case kserve.ParamInt:
		return strconv.AppendInt(dst, p.Int, 10)
	case kserve.ParamUint:
		return strconv.AppendUint(dst, p.Uint, 10)
	case kserve.ParamDouble:
		return tritonjson.AppendFloat(dst, p.Double)
	case kserve.ParamString:
		return tritonjson.AppendString(dst, p.String)
	}
	return append(dst, "null"...)
}

// appendData writes ,"data":[...] with all elements in row order.
func appendData(dst []byte, t *kserve.Tensor) ([]byte, error) {
	dst, err := AppendElements(append(dst, `,"data":[`...), t)
	if err != nil {
		return nil, err
	}
	return append(dst, ']'), nil
}

// AppendElements appends the elements of a tensor in row order, separated by commas, as the
// data of a JSON response.
func AppendElements(dst []byte, t *kserve.Tensor) ([]byte, error) {
	switch t.DataType {
	case tensor.FP16, tensor.BF16:
		return nil, status.New(status.InvalidArg, "sending %s data via JSON is not supported. Please use the binary data format for output", t.DataType)
	}
	data, whole := t.Data.Contiguous()
	if !whole {
		data = make([]byte, t.Data.Len())
		t.Data.CopyTo(data)
	}
	count, err := t.Shape.Elements()
	if err != nil {
		return nil, status.New(status.Internal, "output '%s' has shape %s: %w", t.Name, t.Shape, err)
	}
	if t.DataType == tensor.Bytes {
		return appendStrings(dst, t, data, count)
	}
	return appendNumbers(dst, t, data, count)
}
