package builtin_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type dims = []int64

func in(name string, d inferencepb.DataType, shape, reshape dims) *inferencepb.ModelInput {
	v := &inferencepb.ModelInput{Name: name, DataType: d, Dims: shape}
	if reshape != nil {
		v.Reshape = &inferencepb.ModelTensorReshape{Shape: reshape}
	}
	return v
}

func out(name string, d inferencepb.DataType, shape, reshape dims) *inferencepb.ModelOutput {
	v := &inferencepb.ModelOutput{Name: name, DataType: d, Dims: shape}
	if reshape != nil {
		v.Reshape = &inferencepb.ModelTensorReshape{Shape: reshape}
	}
	return v
}

const (
	int32s = inferencepb.DataType_TYPE_INT32
	fp32s  = inferencepb.DataType_TYPE_FP32
)

func config(params map[string]string) *inferencepb.ModelConfig {
	cfg := &inferencepb.ModelConfig{
		MaxBatchSize: 8, Parameters: map[string]*inferencepb.ModelParameter{},
		Input:  []*inferencepb.ModelInput{in("INPUT0", int32s, dims{-1}, nil), in("INPUT1", int32s, dims{2, -1, 3, -1}, dims{-1, -1})},
		Output: []*inferencepb.ModelOutput{out("OUTPUT0", int32s, dims{-1}, nil), out("OUTPUT1", int32s, dims{-1, -1, 6}, dims{-1, -1})},
	}
	for name, value := range params {
		cfg.Parameters[name] = &inferencepb.ModelParameter{StringValue: value}
	}
	return cfg
}

func load(t *testing.T, kind backend.Backend, cfg *inferencepb.ModelConfig) backend.Instance {
	t.Helper()
	m, err := kind.Load(t.Context(), backend.Spec{Config: cfg, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	i, err := m.NewInstance(t.Context(), backend.Placement{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()); require.NoError(t, m.Close()) })
	return i
}

func request(pool *tensor.Pool, name string, shape ...int64) *infer.Request {
	r := infer.NewUnpooled()
	r.Batch, r.Pool = int(shape[0]), pool
	t := r.AddInput()
	t.Name, t.DataType, t.Shape = name, tensor.Int32, shape
	n, _ := t.Shape.ByteSize(tensor.Int32)
	t.Data = tensor.NewData(pool.Get(int(n)))
	r.Unary()
	return r
}

func run(t *testing.T, i backend.Instance, requests ...*infer.Request) error {
	t.Helper()
	var b infer.Batch
	for _, r := range requests {
		b.Add(r)
	}
	return i.Execute(t.Context(), &b)
}

func TestIdentityAnswersByReference(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	i := load(t, builtin.Identity{}, config(nil))
	r := request(pool, "INPUT0", 1, 5)
	bytes, _ := r.Inputs[0].Data.Contiguous()
	bytes[7] = 42
	require.NoError(t, run(t, i, r))
	resp, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Len(t, resp.Outputs, 1)
	o := resp.Output("OUTPUT0")
	require.Equal(t, tensor.Shape{1, 5}, o.Shape)
	require.Equal(t, tensor.Int32, o.DataType)
	got, _ := o.Data.Contiguous()
	require.Same(t, &bytes[0], &got[0])
	require.EqualValues(t, 1, pool.Outstanding())
	require.Len(t, resp.Parameters, 4)

	r.Release()
	r.Release()
	require.EqualValues(t, 42, got[7], "the answer keeps the memory")
	resp.Release()
	require.Zero(t, pool.Outstanding())
}

func TestIdentityAnswersZerosForAnAbsentInput(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	cfg := config(nil)
	for i, in := range cfg.GetInput() {
		in.Optional = i > 0
	}
	cfg.Input = append(cfg.Input, in("INPUT2", inferencepb.DataType_TYPE_STRING, dims{2}, nil))
	cfg.Output = append(cfg.Output, out("OUTPUT2", inferencepb.DataType_TYPE_STRING, dims{2}, nil))
	cfg.Input[2].Optional = true
	m, err := builtin.Identity{}.Load(t.Context(), backend.Spec{Config: cfg, Pool: pool})
	require.NoError(t, err)
	i, err := m.NewInstance(t.Context(), backend.Placement{})
	require.NoError(t, err)
	dirty := pool.Get(1000)
	for k := range dirty.Bytes() {
		dirty.Bytes()[k] = 1
	}
	dirty.Release()
	r := request(pool, "INPUT0", 3, 5)
	require.NoError(t, run(t, i, r))
	resp, err := r.Wait(t.Context())
	require.NoError(t, err)
	for name, want := range map[string]struct {
		shape tensor.Shape
		bytes int
	}{
		"OUTPUT1": {tensor.Shape{3, 1, 1, 6}, 72},
		"OUTPUT2": {tensor.Shape{3, 2}, 24},
	} {
		o := resp.Output(name)
		require.Equal(t, want.shape, o.Shape)
		got, _ := o.Data.Contiguous()
		require.Equal(t, make([]byte, want.bytes), got)
	}
	resp.Release()
	r.Release()
	r.Release()
	require.Zero(t, pool.Outstanding())
}

func TestIdentityReshapes(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	i := load(t, builtin.Identity{}, config(nil))
	r := request(pool, "INPUT1", 2, 2, 7, 3, 5)
	require.NoError(t, run(t, i, r))
	resp, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2, 7, 5, 6}, resp.Output("OUTPUT1").Shape)
}

func TestIdentityGivesWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	i := load(t, builtin.Identity{}, config(nil))
	r := request(tensor.NewPool(), "INPUT0", 1, 5)
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUTPUT1"})
	require.NoError(t, run(t, i, r))
	resp, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Empty(t, resp.Outputs)
}

func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, err := builtin.Identity{}.Load(t.Context(), backend.Spec{Config: config(map[string]string{
			"execute_delay_ms": "10", "instance_wise_delay_multiplier": "3", "creation_delay_sec": "2",
		})})
		require.NoError(t, err)
		begin := time.Now()
		lap := func() time.Duration { d := time.Since(begin); begin = time.Now(); return d }
		for _, want := range []time.Duration{10, 30, 60} {
			i, err := m.NewInstance(t.Context(), backend.Placement{})
			require.NoError(t, err)
			require.NoError(t, run(t, i, request(tensor.NewPool(), "INPUT0", 1, 1)))
			require.Equal(t, want*time.Millisecond, lap())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		i, err := m.NewInstance(ctx, backend.Placement{})
		require.NoError(t, err)
		require.ErrorIs(t, i.Execute(ctx, &infer.Batch{}), context.Canceled)
		require.Zero(t, lap())
		_, err = builtin.Identity{}.Load(t.Context(), backend.Spec{Config: config(map[string]string{"creation_delay_sec": "2"})})
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, lap())
	})
}

func TestConfigurationsThatDoNotLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   backend.Backend
		change func(*inferencepb.ModelConfig)
		want   string
	}{
		"pairs":        {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Output = c.Output[:1] }, "model configuration must have equal input/output pairs"},
		"input name":   {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Input[0].Name = "A" }, "expected input name to follow INPUT<index> pattern, got 'A'"},
		"output name":  {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Output[0].Name = "A" }, "expected output name to follow OUTPUT<index> pattern, got 'A'"},
		"indices":      {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Output[0].Name = "OUTPUT7" }, "expected input and output indices to match"},
		"data type":    {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Output[0].DataType = fp32s }, "expected input and output datatype to match, got TYPE_INT32 and TYPE_FP32"},
		"shape":        {builtin.Identity{}, func(c *inferencepb.ModelConfig) { c.Output[0].Dims = dims{3} }, "expected input and output shape to match, got [-1] and [3]"},
		"delay":        {builtin.Identity{}, parameter("execute_delay_ms", "soon"), "parameter 'execute_delay_ms' must be a number that is not negative, got 'soon'"},
		"fault number": {builtin.Fault{}, parameter("panic", "-1"), "parameter 'panic' must be a number that is not negative, got '-1'"},
		"load error":   {builtin.Fault{}, parameter("load_error", "100% broken"), "100% broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(nil)
			c.change(cfg)
			_, err := c.kind.Load(t.Context(), backend.Spec{Config: cfg})
			require.EqualError(t, err, c.want)
		})
	}
}

func parameter(name, value string) func(*inferencepb.ModelConfig) {
	return func(c *inferencepb.ModelConfig) {
		c.Parameters[name] = &inferencepb.ModelParameter{StringValue: value}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	i := load(t, builtin.Fault{}, config(map[string]string{"fail": "2", "refuse": "3", "silent": "5", "twice": "7", "panic": "11"}))
	for n := 1; n <= 11; n++ {
		a, b := request(pool, "INPUT0", 1, 1), request(pool, "INPUT0", 1, 1)
		switch {
		case n == 11:
			require.Panics(t, func() { _ = run(t, i, a, b) })
		case n%2 == 0:
			require.EqualError(t, run(t, i, a, b), "fault: a failed batch was requested")
		default:
			require.NoError(t, run(t, i, a, b))
			require.Equal(t, n%3 == 0, a.Failure() != nil, n)
			require.Equal(t, n%7 == 0, a.RespondedAfterFinal(), n)
			require.Equal(t, n%5 != 0, b.State() == infer.Answered, n)
		}
		for _, r := range []*infer.Request{a, b} {
			r.Release()
			r.Release()
		}
	}
	require.Zero(t, pool.Outstanding())
}

func TestFaultsOfLifeAndDeath(t *testing.T) {
	t.Parallel()
	m, err := builtin.Fault{}.Load(t.Context(), backend.Spec{Config: config(map[string]string{"instance_error": "no instance", "close_error": "stuck"})})
	require.NoError(t, err)
	_, err = m.NewInstance(t.Context(), backend.Placement{})
	require.EqualError(t, err, "no instance")
	require.EqualError(t, m.Close(), "stuck")
}
