package builtin

import (
	"context"
	"encoding/binary"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// DistributedAddSub is the backend "distributed_addsub": OUTPUT0 is the sum of the
// INT32 vectors INPUT0 and INPUT1, OUTPUT1 their difference. Instances on the CPU take
// the requests and add; the instance on a GPU, which NVIDIA calls passive, subtracts
// for them, in Go too.
type DistributedAddSub struct{}

var (
	_ backend.Backend  = DistributedAddSub{}
	_ backend.Model    = (*addSubModel)(nil)
	_ backend.Instance = (*addSubInstance)(nil)
)

// Load checks the configuration.
func (DistributedAddSub) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("distributed_addsub", spec.Config); err != nil {
		return nil, err
	}
	return &addSubModel{spec: spec}, nil
}

type addSubModel struct {
	spec backend.Spec
	mu   sync.Mutex
	sub  *addSubInstance // the passive instance
}

func (m *addSubModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	passive := at.Group.GetPassive()
	switch at.Kind {
	case inferencepb.ModelInstanceGroup_KIND_CPU:
		if passive {
			return nil, status.New(status.InvalidArg, "CPU instance should not be passive")
		}
	case inferencepb.ModelInstanceGroup_KIND_GPU:
		if !passive {
			return nil, status.New(status.InvalidArg, "GPU instance should be passive")
		}
	default:
		return nil, status.New(status.InvalidArg, "instance kind must be CPU or GPU")
	}
	i := &addSubInstance{model: m}
	if passive {
		m.mu.Lock()
		m.sub = i
		m.mu.Unlock()
	}
	return i, nil
}

func (*addSubModel) Close() error { return nil }

// passive returns the instance that subtracts.
func (m *addSubModel) passive() (*addSubInstance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sub == nil {
		return nil, status.New(status.Internal, "Sub operation must be done by GPU instance")
	}
	return m.sub, nil
}

type addSubInstance struct{ model *addSubModel }

func (i *addSubInstance) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	answerEach(b, i.answer)
	return nil
}

func (i *addSubInstance) answer(_ int, r *infer.Request) (*infer.Response, error) {
	x, err := bytesOf(r, "INPUT0")
	if err != nil {
		return nil, err
	}
	y, err := bytesOf(r, "INPUT1")
	if err != nil {
		return nil, err
	}
	if len(x) != len(y) {
		return nil, status.New(status.InvalidArg, "%sinputs 'INPUT0' and 'INPUT1' differ in size", r.Tag())
	}
	shape := r.Input("INPUT0").Shape
	resp := infer.NewResponse()
	err = add(r, resp, "OUTPUT0", tensor.Int32, shape, len(x)&^3, func(mem []byte) {
		combine(mem, x, y, func(a, b uint32) uint32 { return a + b })
	})
	if err == nil && r.Wants("OUTPUT1") {
		err = i.subtract(r, resp, shape, x, y)
	}
	if err != nil {
		resp.Release()
		return nil, err
	}
	return resp, nil
}

// subtract adds the output that the passive instance makes.
func (i *addSubInstance) subtract(r *infer.Request, resp *infer.Response, shape tensor.Shape, x, y []byte) error {
	if _, err := i.model.passive(); err != nil {
		return err
	}
	return add(r, resp, "OUTPUT1", tensor.Int32, shape, len(x)&^3, func(mem []byte) {
		combine(mem, x, y, func(a, b uint32) uint32 { return a - b })
	})
}

// combine writes f of each pair of numbers.
func combine(mem, x, y []byte, f func(a, b uint32) uint32) {
	for at := 0; at+4 <= len(mem); at += 4 {
		binary.NativeEndian.PutUint32(mem[at:], f(binary.NativeEndian.Uint32(x[at:]), binary.NativeEndian.Uint32(y[at:])))
	}
}

func (*addSubInstance) Close() error { return nil }
