package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// callers returns one caller for each concurrent request. done ends them; it may also be
// called after an error.
func (s *settings) callers() (all []caller, done func(), err error) {
	var undo []func()
	done = func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	tensor := numbers(s.size)
	for i := range s.concurrency {
		var m *memory
		if s.kind == "shm-http" || s.kind == "shm-grpc" {
			if m, err = openMemory(s.http, i, tensor); err != nil {
				return nil, done, err
			}
			undo = append(undo, m.close)
		}
		if s.kind == "stream" {
			end, err := s.dial()
			if err != nil {
				return nil, done, err
			}
			undo = append(undo, end.close)
			c, err := end.stream(s.message(tensor, nil), tensor, s.responses)
			if err != nil {
				return nil, done, err
			}
			all = append(all, c)
			continue
		}
		if s.kind == "grpc" || s.kind == "shm-grpc" {
			if i%s.share == 0 {
				end, err := s.dial()
				if err != nil {
					return nil, done, err
				}
				undo = append(undo, end.close)
				all = append(all, end.caller(s.message(tensor, m), tensor, m))
				continue
			}
			all = append(all, all[len(all)-1].(*grpcCaller).channel.caller(s.message(tensor, m), tensor, m))
			continue
		}
		body, text, err := s.body(tensor, m)
		if err != nil {
			return nil, done, err
		}
		c, err := s.connect(body, text)
		if err != nil {
			return nil, done, err
		}
		undo = append(undo, c.close)
		c.memory = m
		if s.kind == "binary" {
			c.want = tensor
		}
		all = append(all, c)
	}
	return all, done, nil
}

// numbers returns an FP32 tensor with values between 0 and 1, the same in every run.
func numbers(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, size/4*4)
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], math.Float32bits(r.Float32()))
	}
	return b
}

// body returns the body of an HTTP request and the length of its JSON text; 0: all of it.
func (s *settings) body(tensor []byte, m *memory) ([]byte, int, error) {
	form := `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,%d],%s}],"outputs":[{"name":"OUTPUT0"%s}]}`
	count := len(tensor) / 4
	switch s.kind {
	case "json":
		return fmt.Appendf(nil, form, count, `"data":`+text(tensor), ""), 0, nil
	case "binary":
		head := fmt.Appendf(nil, form, count, fmt.Sprintf(`"parameters":{"binary_data_size":%d}`, len(tensor)), `,"parameters":{"binary_data":true}`)
		return append(head, tensor...), len(head), nil
	case "shm-http":
		regionParameters := func(name string) string {
			return fmt.Sprintf(`"parameters":{"shared_memory_region":"%s","shared_memory_byte_size":%d}`, name, len(tensor))
		}
		return fmt.Appendf(nil, form, count, regionParameters(m.in), ","+regionParameters(m.out)), 0, nil
	}
	return nil, 0, fmt.Errorf("no kind %q", s.kind)
}

func text(tensor []byte) string {
	b := []byte{'['}
	for i := 0; i < len(tensor); i += 4 {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(tensor[i:]))), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// message returns a ModelInferRequest.
func (s *settings) message(tensor []byte, m *memory) []byte {
	in := &inferencepb.ModelInferRequest_InferInputTensor{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, int64(len(tensor) / 4)}}
	out := &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: "OUTPUT0"}
	r := &inferencepb.ModelInferRequest{
		ModelName: s.model,
		Inputs:    []*inferencepb.ModelInferRequest_InferInputTensor{in},
		Outputs:   []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{out},
	}
	if m == nil {
		r.RawInputContents = [][]byte{tensor}
	} else {
		in.Parameters, out.Parameters = regionParameters(m.in, len(tensor)), regionParameters(m.out, len(tensor))
	}
	b, err := proto.Marshal(r)
	if err != nil {
		panic(err) // all strings are valid
	}
	return b
}

func regionParameters(region string, size int) map[string]*inferencepb.InferParameter {
	return map[string]*inferencepb.InferParameter{
		"shared_memory_region":    {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: region}},
		"shared_memory_byte_size": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: int64(size)}},
	}
}
