package client

import (
	"errors"
	"math"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

func (c *grpcClient) Prepare(req *kserve.Request) (*Prepared, error) {
	if req.Raw {
		return nil, errors.New("a raw request cannot be prepared: name its input")
	}
	p := &Prepared{}
	add := func(b []byte) {
		p.segments = append(p.segments, b)
		p.size += len(b)
	}
	head := appendRequestProto(nil, req)
	for i := range req.Inputs {
		d := &req.Inputs[i].Data
		head = protowire.AppendTag(head, 7, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(d.Len()))
		add(head)
		head = nil
		for k := range d.Segments() {
			add(d.Segment(k).Bytes())
		}
	}
	add(head)
	p.flatten()
	for _, s := range p.segments {
		p.message = append(p.message, mem.SliceBuffer(s))
	}
	return p, nil
}

// appendRequestProto writes ModelInferRequest up to its raw contents.
func appendRequestProto(b []byte, req *kserve.Request) []byte {
	b = appendStringField(b, 1, req.ModelName)
	b = appendStringField(b, 2, req.ModelVersion)
	b = appendStringField(b, 3, req.ID)
	if req.Priority > 0 {
		b = appendParameter(b, "priority", protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), req.Priority))
	}
	if req.TimeoutMicros > 0 {
		b = appendParameter(b, "timeout", protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), req.TimeoutMicros))
	}
	if req.EmptyFinal {
		b = appendParameter(b, "triton_enable_empty_final_response", []byte{0x08, 0x01})
	}
	for _, p := range req.Parameters {
		b = appendParameter(b, p.Name, parameterValue(p))
	}
	for i := range req.Inputs {
		t := &req.Inputs[i]
		var in []byte
		in = appendStringField(in, 1, t.Name)
		in = appendStringField(in, 2, t.DataType.String())
		var dims []byte
		for _, d := range t.Shape {
			dims = protowire.AppendVarint(dims, uint64(d))
		}
		if len(dims) > 0 {
			in = protowire.AppendBytes(protowire.AppendTag(in, 3, protowire.BytesType), dims)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), in)
	}
	for _, o := range req.Outputs {
		out := appendStringField(nil, 1, o.Name)
		if o.Classification > 0 {
			v := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), uint64(o.Classification))
			out = appendMapEntry(out, 2, "classification", v)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 6, protowire.BytesType), out)
	}
	return b
}

func parameterValue(p kserve.Parameter) []byte {
	switch p.Kind {
	case kserve.ParamBool:
		return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), protowire.EncodeBool(p.Bool))
	case kserve.ParamInt:
		return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), uint64(p.Int))
	case kserve.ParamString:
		return protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), p.String)
	case kserve.ParamDouble:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), math.Float64bits(p.Double))
	case kserve.ParamUint:
		return protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), p.Uint)
	}
	return nil
}

func appendParameter(b []byte, name string, value []byte) []byte {
	return appendMapEntry(b, 4, name, value)
}

func appendMapEntry(b []byte, field protowire.Number, key string, value []byte) []byte {
	e := appendStringField(nil, 1, key)
	e = protowire.AppendBytes(protowire.AppendTag(e, 2, protowire.BytesType), value)
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), e)
}

func appendStringField(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}
