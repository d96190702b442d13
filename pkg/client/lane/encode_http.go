package lane

import (
	"strconv"

	"triton/pkg/client/internal/wire"
	"triton/pkg/kserve"
	"triton/pkg/tritonjson"
)

func (c *httpClient) prepare(req *kserve.Request, at Regions, sequence bool) (*Prepared, error) {
	if req.Raw {
		return nil, errRaw
	}
	if req.EmptyFinal {
		return nil, wire.ErrEmptyFinal
	}
	body, tail, err := c.appendRequestJSON(nil, req, at, sequence)
	if err != nil {
		return nil, err
	}
	binary := 0
	for _, b := range tail {
		binary += len(b)
	}
	size := len(body)
	if sequence {
		size += sequenceWidth + len(sequenceFoot)
	}
	path := c.endpoint.Path + wire.ModelPath(req.ModelName, req.ModelVersion) + "/infer"
	head := make([]byte, 0, 256+len(path)+len(body))
	head = append(head, "POST "...)
	head = append(head, path...)
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, c.endpoint.Host...)
	head = append(head, "\r\nContent-Type: "...)
	if binary > 0 {
		head = append(head, "application/octet-stream\r\nInference-Header-Content-Length: "...)
		head = strconv.AppendInt(head, int64(size), 10)
	} else {
		head = append(head, "application/json"...)
	}
	head = append(head, "\r\nContent-Length: "...)
	head = strconv.AppendInt(head, int64(size+binary), 10)
	for _, name := range c.headerNames {
		head = append(head, "\r\n"+name+": "+c.headers[name]...)
	}
	head = append(head, "\r\n\r\n"...)
	head = append(head, body...)
	if sequence {
		return newPreparedSequence(head, []byte(sequenceFoot), tail), nil
	}
	p := newPrepared(head, tail)
	p.sequence = req.SequenceID != 0 || req.SequenceIDStr != ""
	return p, nil
}

// sequenceFoot is the JSON behind the parameters of a sequence.
const sequenceFoot = "}}"

// appendRequestJSON appends the JSON part of a request. The second result is the
// bytes of the binary tensors behind it. With sequence the parameters come last, and the JSON
// ends where those of the sequence begin.
func (c *httpClient) appendRequestJSON(b []byte, req *kserve.Request, at Regions, sequence bool) (_ []byte, tail [][]byte, err error) {
	b = append(b, '{')
	if req.ID != "" {
		b = append(b, `"id":`...)
		b = tritonjson.AppendValid(b, req.ID)
		b = append(b, ',')
	}
	parameters := appendParametersJSON(nil, req, !c.jsonOutputs)
	if !sequence && len(parameters) > 0 {
		b = append(b, `"parameters":{`...)
		b = append(b, parameters...)
		b = append(b, "},"...)
	}
	b = append(b, `"inputs":[`...)
	for i := range req.Inputs {
		t := &req.Inputs[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = tritonjson.AppendValid(b, t.Name)
		b = append(b, `,"datatype":"`...)
		b = append(b, t.DataType.String()...)
		b = append(b, `","shape":`...)
		b = t.Shape.Append(b)
		region := at.input(i)
		switch {
		case region.Region != "":
			b = appendRegionJSON(append(b, `,"parameters":{`...), region)
			b = append(b, "}}"...)
		case c.jsonInputs:
			if b, err = appendDataJSON(b, t); err != nil {
				return nil, nil, err
			}
			b = append(b, '}')
		default:
			b = append(b, `,"parameters":{"binary_data_size":`...)
			b = strconv.AppendInt(b, int64(t.Data.Len()), 10)
			b = append(b, "}}"...)
			for k := range t.Data.Segments() {
				tail = append(tail, t.Data.Segment(k).Bytes())
			}
		}
	}
	b = append(b, ']')
	b = c.appendOutputsJSON(b, req.Outputs, at)
	if !sequence {
		return append(b, '}'), tail, nil
	}
	b = append(b, `,"parameters":{`...)
	if len(parameters) > 0 {
		b = append(append(b, parameters...), ',')
	}
	return b, tail, nil
}

func (c *httpClient) appendOutputsJSON(b []byte, outputs []kserve.RequestedOutput, at Regions) []byte {
	for i, o := range outputs {
		if i == 0 {
			b = append(b, `,"outputs":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = tritonjson.AppendValid(b, o.Name)
		b = append(b, `,"parameters":{`...)
		if region := at.output(i); region.Region != "" {
			b = appendRegionJSON(b, region)
		} else {
			b = append(b, `"binary_data":`...)
			b = strconv.AppendBool(b, !c.jsonOutputs)
		}
		if o.Classification > 0 {
			b = append(b, `,"classification":`...)
			b = strconv.AppendUint(b, uint64(o.Classification), 10)
		}
		b = append(b, "}}"...)
	}
	if len(outputs) > 0 {
		b = append(b, ']')
	}
	return b
}

// appendParametersJSON appends the members of the object of parameters. binary is the form of
// the outputs if the request lists none.
func appendParametersJSON(b []byte, req *kserve.Request, binary bool) []byte {
	start := len(b)
	open := func(name string) {
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(tritonjson.AppendValid(b, name), ':')
	}
	if req.SequenceID != 0 || req.SequenceIDStr != "" {
		open("sequence_id")
		if req.SequenceIDStr != "" {
			b = tritonjson.AppendValid(b, req.SequenceIDStr)
		} else {
			b = strconv.AppendUint(b, req.SequenceID, 10)
		}
		open("sequence_start")
		b = strconv.AppendBool(b, req.SequenceStart)
		open("sequence_end")
		b = strconv.AppendBool(b, req.SequenceEnd)
	}
	if req.Priority > 0 {
		open("priority")
		b = strconv.AppendUint(b, req.Priority, 10)
	}
	if req.TimeoutMicros > 0 {
		open("timeout")
		b = strconv.AppendUint(b, req.TimeoutMicros, 10)
	}
	if len(req.Outputs) == 0 {
		open("binary_data_output")
		b = strconv.AppendBool(b, binary)
	}
	for _, p := range req.Parameters {
		open(p.Name)
		switch p.Kind {
		case kserve.ParamBool:
			b = strconv.AppendBool(b, p.Bool)
		case kserve.ParamInt:
			b = strconv.AppendInt(b, p.Int, 10)
		case kserve.ParamUint:
			b = strconv.AppendUint(b, p.Uint, 10)
		case kserve.ParamDouble:
			b = strconv.AppendFloat(b, p.Double, 'g', -1, 64)
		case kserve.ParamString:
			b = tritonjson.AppendValid(b, p.String)
		}
	}
	return b
}
