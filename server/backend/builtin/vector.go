package builtin

import (
	"encoding/binary"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// onlyCPU refuses an instance on another kind of device.
func onlyCPU(backendName string, at backend.Placement) error {
	if at.Kind != inferencepb.ModelInstanceGroup_KIND_CPU {
		return status.New(status.InvalidArg, "'%s' backend only supports CPU instances", backendName)
	}
	return nil
}

// neverAbandoned makes a pause last its full time: a backend that keeps sums must
// execute all steps it is given.
func neverAbandoned() bool { return false }

// requireNumericID refuses a request whose correlation ID is a string.
func requireNumericID(r *infer.Request) error {
	if r.SequenceIDStr != "" {
		return status.New(status.InvalidArg, "%scorrelation ID in request is not an unsigned int", r.Tag())
	}
	return nil
}

// requireSingleStep refuses a request with several steps of its sequence.
func requireSingleStep(batching bool, r *infer.Request) error {
	if batching && len(r.Inputs) > 0 && len(r.Inputs[0].Shape) > 0 && r.Inputs[0].Shape[0] != 1 {
		return status.New(status.Unsupported, "unable to execute more than one timestep at a time")
	}
	return nil
}

// bytesOf returns an input, made by the client or by the sequence batcher.
func bytesOf(r *infer.Request, name string) ([]byte, error) {
	t := r.Input(name)
	if t == nil {
		return nil, status.New(status.InvalidArg, "%sunknown request input name %s", r.Tag(), name)
	}
	if mem, ok := t.Data.Contiguous(); ok {
		return mem, nil
	}
	mem := make([]byte, t.Data.Len())
	t.Data.CopyTo(mem)
	return mem, nil
}

// number returns the element of an input of one INT32.
func number(r *infer.Request, name string) (int32, error) {
	mem, err := bytesOf(r, name)
	if err != nil {
		return 0, err
	}
	if len(mem) < 4 {
		return 0, status.New(status.InvalidArg, "%sinput '%s' has no element", r.Tag(), name)
	}
	return int32(binary.NativeEndian.Uint32(mem)), nil
}

// flag reports whether a control input of any type is not zero.
func flag(r *infer.Request, name string) (bool, error) {
	mem, err := bytesOf(r, name)
	return strings.Trim(string(mem), "\x00") != "", err
}

// sum returns the sum of INPUT.
func sum(r *infer.Request) (int32, error) {
	mem, err := bytesOf(r, "INPUT")
	total := int32(0)
	for ; len(mem) >= 4; mem = mem[4:] {
		total += int32(binary.NativeEndian.Uint32(mem))
	}
	return total, err
}

// filled returns a response whose OUTPUT has the shape of INPUT and v in every element.
func filled(r *infer.Request, v int32) (*infer.Response, error) {
	resp, in := infer.NewResponse(), r.Input("INPUT")
	err := add(r, resp, "OUTPUT", tensor.Int32, in.Shape, in.Data.Len()&^3, func(mem []byte) {
		for ; len(mem) >= 4; mem = mem[4:] {
			binary.NativeEndian.PutUint32(mem, uint32(v))
		}
	})
	if err != nil {
		resp.Release()
		return nil, err
	}
	return resp, nil
}

// answerEach answers every request of a batch that belongs to a sequence.
func answerEach(b *infer.Batch, answer func(row int, r *infer.Request) (*infer.Response, error)) {
	for row, r := range b.Requests {
		if r.Membership.Null {
			continue
		}
		resp, err := answer(row, r)
		if err != nil {
			r.Fail(err)
			continue
		}
		r.Respond(resp, true)
	}
	b.OutputStart = infer.Now()
}
