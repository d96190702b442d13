package python

import (
	"bytes"
	"encoding/json"
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

// answer reads a result and answers the batch, or returns the error for all of it.
func (in *instance) answer(b *infer.Batch, r *child.Reader) error {
	if r.Uint8() != 0 {
		text := r.String()
		in.release(r)
		if r.Err() != nil {
			return in.confused(r.Err())
		}
		err := status.New(status.Internal, "Failed to process the request(s) for model '%s', message: %s", in.child.name, text)
		in.model.spec.Log.Error(err.Msg)
		return err
	}
	in.need = 0
	responses := make([]*infer.Response, 0, len(b.Requests))
	n := r.Uint32()
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		responses = append(responses, in.response(r))
	}
	in.release(r)
	if r.Err() != nil || len(responses) != len(b.Requests) {
		for _, resp := range responses {
			resp.Release()
		}
		return in.confused(child.ErrFrame)
	}
	for i, req := range b.Requests {
		if req.Membership.Null {
			responses[i].Release()
			continue
		}
		req.Respond(responses[i], true)
	}
	return nil
}

// response reads one response. What is wrong with it fails the request alone.
func (in *instance) response(r *child.Reader) *infer.Response {
	resp := infer.NewResponse()
	if r.Uint8() != 0 {
		code := status.Code(r.Uint8())
		resp.Err = status.New(code, "%s", r.String())
		return resp
	}
	if text := r.Next(uint64(r.Uint32())); len(text) > 0 {
		var err error
		if resp.Parameters, err = parseParameters(resp.Parameters, text); err != nil {
			resp.Err = status.New(status.Internal, "the parameters of a response: %w", err)
		}
	}
	n := r.Uint32()
	for i := uint32(0); i < n && r.Err() == nil; i++ {
		if err := in.output(resp, r); err != nil && resp.Err == nil {
			resp.Err = err
		}
	}
	return resp
}

// output reads one output, whose memory is a part of the grant.
func (in *instance) output(resp *infer.Response, r *child.Reader) error {
	name, kind := r.String(), tensor.DataType(r.Uint8())
	shape := make(tensor.Shape, r.Uint8())
	for i := range shape {
		shape[i] = int64(r.Uint64())
	}
	off, n := r.Uint64(), r.Uint64()
	if r.Err() != nil {
		return r.Err()
	}
	in.need = max(in.need, int(min(off+n+align-1, 1<<62)&^(align-1)))
	if kind != tensor.Bytes {
		if want, err := shape.ByteSize(kind); err != nil || uint64(want) != n {
			return status.New(status.Internal, "output '%s' of shape %s has %d bytes", name, shape, n)
		}
	}
	if n == 0 {
		resp.Add(name, kind, shape, tensor.Data{})
		return nil
	}
	if in.grant == nil || off > uint64(in.grant.Len()) || n > uint64(in.grant.Len())-off {
		return status.New(status.Internal, "output '%s' lies outside of the memory for outputs", name)
	}
	resp.Add(name, kind, shape, tensor.SliceData(in.grant, int(off), int(n)))
	return nil
}

// appendParameters appends parameters as JSON.
func appendParameters(b []byte, all []kserve.Parameter) []byte {
	if len(all) == 0 {
		return b
	}
	for i := range all {
		p := &all[i]
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = appendText(b, p.Name)
		b = append(b, ':')
		switch p.Kind {
		case kserve.ParamBool:
			b = strconv.AppendBool(b, p.Bool)
		case kserve.ParamInt:
			b = strconv.AppendInt(b, p.Int, 10)
		case kserve.ParamUint:
			b = strconv.AppendUint(b, p.Uint, 10)
		case kserve.ParamDouble:
			text, err := json.Marshal(p.Double)
			if err != nil { // not a number: JSON has none
				text = []byte("null")
			}
			b = append(b, text...)
		default:
			b = appendText(b, p.String)
		}
	}
	return append(b, '}')
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string has always a form
	return append(b, text...)
}

// parseParameters reads the parameters of a response: numbers, texts and truth values.
func parseParameters(to []kserve.Parameter, text []byte) ([]kserve.Parameter, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return to, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return to, err
		}
		value, err := d.Token()
		if err != nil {
			return to, err
		}
		p := kserve.Parameter{}
		p.Name, _ = key.(string)
		switch v := value.(type) {
		case bool:
			p.Kind, p.Bool = kserve.ParamBool, v
		case string:
			p.Kind, p.String = kserve.ParamString, v
		case json.Number:
			p.Kind = kserve.ParamInt
			if p.Int, err = v.Int64(); err != nil {
				return to, err
			}
		default:
			return to, status.New(status.Internal, "parameter '%s' is no bool, int or str", p.Name)
		}
		to = append(to, p)
	}
	return to, nil
}
