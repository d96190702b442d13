package builtin

import (
	"context"
	"encoding/binary"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// ImplicitState is the backend "implicit_state", which tests implicit state from a
// backend's side. TEST_CASE selects what a request does:
//
//	0  updates a state that does not exist
//	1  answers INPUT + INPUT_STATE as OUTPUT and does not update the state
//	2  expects INPUT_STATE at the address of OUTPUT_STATE of the last request
//	3  expects INPUT_STATE on a GPU, which this server does not offer
//
// The controls are START, END and READY. An instance serves one sequence at a time.
type ImplicitState struct{}

var (
	_ backend.Backend  = ImplicitState{}
	_ backend.Model    = (*implicitModel)(nil)
	_ backend.Instance = (*implicitInstance)(nil)
)

// Load checks the configuration.
func (ImplicitState) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("implicit_state", spec.Config); err != nil {
		return nil, err
	}
	return &implicitModel{spec: spec, single: singleBuffer(spec.Config)}, nil
}

// singleBuffer reports whether input and output of the state share memory.
func singleBuffer(cfg *inferencepb.ModelConfig) bool {
	for _, s := range cfg.GetSequenceBatching().GetState() {
		if s.GetOutputName() == "OUTPUT_STATE" {
			return s.GetUseSameBufferForInputOutput()
		}
	}
	return false
}

type implicitModel struct {
	spec   backend.Spec
	single bool
}

func (m *implicitModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return &implicitInstance{implicitModel: m}, nil
}

func (*implicitModel) Close() error { return nil }

type implicitInstance struct {
	*implicitModel
	last uintptr // where OUTPUT_STATE of the last request was; 0: no request yet
}

func (i *implicitInstance) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	answerEach(b, i.answer)
	return nil
}

func (i *implicitInstance) answer(_ int, r *infer.Request) (*infer.Response, error) {
	if err := requireSingleStep(i.spec.Config.GetMaxBatchSize() > 0, r); err != nil {
		return nil, err
	}
	start, err := flag(r, "START")
	if err != nil {
		return nil, err
	}
	if start {
		i.last = 0
	}
	v, err := number(r, "INPUT")
	if err != nil {
		return nil, err
	}
	test, err := number(r, "TEST_CASE")
	if err != nil {
		return nil, err
	}
	if test == 0 {
		return nil, backend.UpdateState(r, "undefined_state", tensor.Int32, nil, tensor.Data{})
	}
	return i.runTest(r, test, v)
}

// runTest runs the tests that need the state.
func (i *implicitInstance) runTest(r *infer.Request, test, v int32) (*infer.Response, error) {
	state, err := bytesOf(r, "INPUT_STATE")
	switch {
	case err != nil:
		return nil, err
	case test == 3:
		return nil, status.New(status.Unsupported, "growable memory should always provide memory in GPU")
	case test == 2:
		return i.sameAddress(state)
	case test != 1:
		return infer.NewResponse(), nil
	case len(state) < 4:
		return nil, status.New(status.InvalidArg, "%sinput 'INPUT_STATE' has no element", r.Tag())
	}
	resp := infer.NewResponse()
	if err := addNumber(r, resp, "OUTPUT", tensor.Int32, tensor.Shape{1}, uint32(v)+binary.NativeEndian.Uint32(state)); err != nil {
		resp.Release()
		return nil, err
	}
	return resp, nil
}

// sameAddress compares the address of the state with that at the last request.
func (i *implicitInstance) sameAddress(state []byte) (*infer.Response, error) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(state)))
	if i.last != 0 && i.last != at {
		return nil, status.New(status.Unsupported, "Input and output state are using different buffers.")
	}
	i.last = at
	if !i.single {
		i.last++ // memory of its own
	}
	return infer.NewResponse(), nil
}

func (*implicitInstance) Close() error { return nil }
