//go:build cgo && (linux || darwin)

package onnx

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/onnxmodel"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

func wanted(name string) kserve.RequestedOutput { return kserve.RequestedOutput{Name: name} }

func TestStringFaults(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, identity(onnxmodel.String, 2), 0))
	one := tensor.AppendElementString(nil, "one")
	for _, c := range []struct {
		data []byte
		want string
	}{
		{one, "expected 2 strings for inference input 'x', got 1"},
		{[]byte(strings.Repeat(string(one), 3)), "unexpected number of string elements 3 for inference input 'x', expecting 2"},
		{append(one[:7:7], 200, 0, 0, 0, 'x'), "incomplete string data for inference input 'x', expecting string of length 200 but only 1 bytes available"},
		{append(one[:7:7], 255, 255, 255, 255, 'x'), "incomplete string data for inference input 'x', expecting string of length 4294967295 but only 1 bytes available"},
		{append(one[:7:7], 1, 0), "incomplete string length indicator for inference input 'x' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer."},
	} {
		_, err := w.infer(w.inst, w.request(0, input{"x", tensor.Bytes, tensor.Shape{2}, c.data}))
		require.EqualError(t, err, c.want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

// The shape alone must not make ONNX Runtime allocate.
func TestHugeStringShape(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, identity(onnxmodel.String, -1), 0))
	_, err := w.infer(w.inst, w.request(0, input{"x", tensor.Bytes, tensor.Shape{1 << 50}, tensor.AppendElementString(nil, "one")}))
	require.EqualError(t, err, "expected 1125899906842624 strings for inference input 'x', got 1")
}

// An input of no bytes can promise an output of any size: the request fails, the
// instance does not.
func TestHugeOutputShape(t *testing.T) {
	t.Parallel()
	x := onnxmodel.Tensor("x", onnxmodel.Float, "n", "k")
	f := &onnxmodel.File{
		Inputs: []onnxmodel.Value{x}, Outputs: []onnxmodel.Value{onnxmodel.Tensor("y", onnxmodel.Float, "n", 1)},
		Weights: []onnxmodel.Weight{onnxmodel.Ints("axes", []int64{1}, 1)},
		Nodes:   []onnxmodel.Node{{Op: "ReduceSum", Inputs: []string{"x", "axes"}, Outputs: []string{"y"}}},
	}
	w := load(t, specOf(t, f, 0))
	for _, n := range []int64{1 << 60, 1 << 45, 1 << 44} {
		_, err := w.infer(w.inst, w.request(0, input{"x", tensor.FP32, tensor.Shape{n, 0}, nil}))
		require.ErrorContains(t, err, "onnx runtime error", "%d", n)
	}
	resp, err := w.infer(w.inst, w.request(0, input{"x", tensor.FP32, tensor.Shape{2, 0}, nil}))
	require.NoError(t, err)
	require.Equal(t, make([]byte, 8), bytesOf(t, resp[0], "y"))
	resp[0].Release()
}

func TestRunFault(t *testing.T) {
	t.Parallel()
	f := identity(onnxmodel.Int64, "n")
	f.Weights = append(f.Weights, onnxmodel.Ints("two", []int64{1}, 2))
	f.Nodes[0] = onnxmodel.Node{Op: "Gather", Inputs: []string{"two", "x"}, Outputs: []string{"y"}}
	w := load(t, specOf(t, f, 0))
	for range 2 {
		_, err := w.infer(w.inst, w.request(0, input{"x", tensor.Int64, tensor.Shape{1}, []byte{9, 0, 0, 0, 0, 0, 0, 0}}))
		require.ErrorContains(t, err, "onnx runtime error 2: Non-zero status code returned while running Gather node")
		require.Equal(t, status.Internal, status.CodeOf(err))
	}
	require.True(t, w.model.(*model).derive.Load(), "the fault is not one of the shape")
}

func TestBatchTooLarge(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 2))
	_, err := w.infer(w.inst, simpleRequest(w, 3, 0))
	require.EqualError(t, err, "batch size 3 for 'm_0_0', max allowed is 2")
	require.Equal(t, status.Internal, status.CodeOf(err))
}

func TestWrongSize(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 2))
	r := simpleRequest(w, 1, 0)
	r.Inputs[1].Shape[0] = 2
	r.Inputs[0].Shape[0] = 2
	r.Batch = 2
	_, err := w.infer(w.inst, r)
	require.EqualError(t, err, "unexpected total byte size 64 for input 'INPUT0', expecting 128")
}

// loadError returns what loading and one instance say.
func loadError(t *testing.T, spec backend.Spec, kind inferencepb.ModelInstanceGroup_Kind) error {
	t.Helper()
	m, err := engineUnderTest(t).Load(context.Background(), spec)
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, m.Close()) }()
	i, err := m.NewInstance(context.Background(), backend.Placement{Name: "m_0_0", Kind: kind, Instances: 1})
	if err == nil {
		require.NoError(t, i.Close())
	}
	return err
}

func TestLoadFaults(t *testing.T) {
	t.Parallel()
	const cpu = inferencepb.ModelInstanceGroup_KIND_CPU
	spec := specOf(t, simple(), 8)
	path := filepath.Join(spec.Dir, "model.onnx")

	spec.File = "other.onnx"
	err := loadError(t, spec, cpu)
	require.EqualError(t, err, "failed to stat file "+filepath.Join(spec.Dir, "other.onnx"))
	require.Equal(t, status.Internal, status.CodeOf(err))
	spec.File = ""

	spec.Config.Input[0].DataType = inferencepb.DataType_TYPE_FP32
	require.EqualError(t, loadError(t, spec, cpu),
		"unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'INPUT0', model provides TYPE_INT32")
	spec.Config.Input[0].DataType = inferencepb.DataType_TYPE_INT32

	spec.Config.Input[0].AllowRaggedBatch = true
	require.EqualError(t, loadError(t, spec, cpu),
		"unable to load model 'm', configuration expects model provides input with shape [-1]  for ragged input 'INPUT0', model provides [-1,16]")
	spec.Config.Input[0].AllowRaggedBatch = false

	require.NoError(t, os.WriteFile(path, []byte("this is no protobuf"), 0o600))
	require.ErrorContains(t, loadError(t, spec, cpu), "onnx runtime error 7: ")
}

func TestNoGPU(t *testing.T) {
	t.Parallel()
	b := engineUnderTest(t)
	if b.HasGPU() {
		t.Skip("the library has a GPU provider")
	}
	err := loadError(t, specOf(t, simple(), 8), inferencepb.ModelInstanceGroup_KIND_GPU)
	require.ErrorContains(t, err, "has no CUDAExecutionProvider")
	require.ErrorContains(t, err, "instance_group [ { kind: KIND_CPU } ]")
	require.Equal(t, status.Unsupported, status.CodeOf(err))
}

func TestDirectoryModel(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 8)
	dir := filepath.Join(spec.Dir, "graph")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Rename(filepath.Join(spec.Dir, "model.onnx"), filepath.Join(dir, "model.onnx")))
	spec.File = "graph"
	load(t, spec)
}

func TestSessionParameters(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 8)
	spec.Config.Parameters = map[string]*inferencepb.ModelParameter{}
	for key, value := range map[string]string{
		"execution_mode": "1", "inter_op_thread_count": "2", "intra_op_thread_count": "2", "enable_mem_arena": "off",
		"enable_mem_pattern": "0", "session.use_device_allocator_for_initializers": "1",
	} {
		spec.Config.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
	}
	w := load(t, spec)
	out, err := w.infer(w.inst, simpleRequest(w, 2, 4))
	require.NoError(t, err)
	require.Equal(t, ramp(2, 9, 4), bytesOf(t, out[0], "OUTPUT0"))
	out[0].Release()
}

func TestArenaShrinkage(t *testing.T) {
	t.Parallel()
	spec := specOf(t, simple(), 8)
	spec.Config.Parameters = map[string]*inferencepb.ModelParameter{
		"memory.enable_memory_arena_shrinkage": {StringValue: "cpu:0"},
	}
	w := load(t, spec)
	out, err := w.infer(w.inst, simpleRequest(w, 2, 4))
	require.NoError(t, err)
	out[0].Release()

	spec.Config.Parameters["memory.enable_memory_arena_shrinkage"].StringValue = "nowhere:0"
	w = load(t, spec)
	_, err = w.infer(w.inst, simpleRequest(w, 2, 4))
	require.ErrorContains(t, err, "onnx runtime error 2: ")
}

func TestConcurrentInstances(t *testing.T) {
	t.Parallel()
	w := load(t, specOf(t, simple(), 8))
	var all sync.WaitGroup
	for g := range 64 {
		i := w.instance()
		all.Go(func() {
			for k := range 20 {
				from := int32(g*1000 + k)
				out, err := w.infer(i, simpleRequest(w, 1+k%4, from), simpleRequest(w, 2, from))
				if err != nil {
					t.Error(err)
					return
				}
				if string(bytesOf(t, out[0], "OUTPUT0")) != string(ramp(1+k%4, from+5, 4)) {
					t.Error("wrong result")
				}
				out[0].Release()
				out[1].Release()
			}
		})
	}
	all.Wait()
}

// An output that ONNX Runtime allocated is valid after the model is closed.
func TestOutputOutlivesModel(t *testing.T) {
	t.Parallel()
	spec := specOf(t, identity(onnxmodel.Int32, -1), 0)
	m, err := engineUnderTest(t).Load(t.Context(), spec)
	require.NoError(t, err)
	i, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU})
	require.NoError(t, err)
	w := &world{TB: t, spec: spec}
	data := bytes.Repeat(int32s(1, 2, 3, 4), 100_000)
	out, err := w.infer(i.(*instance), w.request(0, input{"x", tensor.Int32, tensor.Shape{400_000}, data}))
	require.NoError(t, err)
	require.NoError(t, i.Close())
	require.NoError(t, m.Close())
	require.True(t, bytes.Equal(data, bytesOf(t, out[0], "y")))
	out[0].Release()
}

// The account has the weights and the arena. It is a measurement of the
// process's heap, so the test is not parallel.
func TestMemoryOfModel(t *testing.T) {
	f := identity(onnxmodel.Float, "n", 1000)
	weight := make([]float32, 1000*1000)
	f.Weights = append(f.Weights, onnxmodel.Floats("w", []int64{1000, 1000}, weight...))
	f.Nodes[0] = onnxmodel.Node{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}
	w := load(t, specOf(t, f, 8))
	memory := w.model.(backend.MemoryReporter).Memory()
	require.Len(t, memory, 1)
	require.Equal(t, "CPU", memory[0].Kind)
	require.GreaterOrEqual(t, memory[0].Bytes, uint64(4_000_000))
	require.Less(t, memory[0].Bytes, uint64(20_000_000))
}
