package builtin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

func squareConfig(params map[string]string) *inferencepb.ModelConfig {
	cfg := &inferencepb.ModelConfig{
		Name: "m", ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: true},
		Input:      []*inferencepb.ModelInput{in("IN", int32s, dims{1}, nil)},
		Output:     []*inferencepb.ModelOutput{out("OUT", int32s, dims{1}, nil)},
		Parameters: map[string]*inferencepb.ModelParameter{},
	}
	for name, value := range params {
		cfg.Parameters[name] = &inferencepb.ModelParameter{StringValue: value}
	}
	return cfg
}

func squareRequest(pool *tensor.Pool, shape tensor.Shape, in ...int32) (*infer.Request, *infertest.Sink) {
	r, s := infer.NewUnpooled(), newStream()
	r.ModelName, r.Sink = "m", s
	input(r, pool, "IN", shape, in...)
	return r, s
}

func TestSquareChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(c *inferencepb.ModelConfig){
		"expected 1 input, got 0":                           func(c *inferencepb.ModelConfig) { c.Input = nil },
		"expected 1 output, got 0":                          func(c *inferencepb.ModelConfig) { c.Output = nil },
		"expected first input tensor name to be IN, got X":  func(c *inferencepb.ModelConfig) { c.Input[0].Name = "X" },
		"expected OUT shape to be [1], got [2]":             func(c *inferencepb.ModelConfig) { c.Output[0].Dims = dims{2} },
		"expected IN datatype to be INT32, got TYPE_UINT32": func(c *inferencepb.ModelConfig) { c.Input[0].DataType = uint32s },
	} {
		cfg := squareConfig(nil)
		change(cfg)
		_, err := builtin.Square{}.Load(t.Context(), backend.Spec{Config: cfg})
		require.EqualError(t, err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

func TestSquare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		shape tensor.Shape
		in    []int32
		want  []string
	}{
		{"none", tensor.Shape{1}, []int32{0}, nil},
		{"negative", tensor.Shape{1}, []int32{-1}, nil},
		{"three", tensor.Shape{1, 1}, []int32{3}, []string{"0: [3]", "0: [3]", "0: [3]"}},
		{"two rows", tensor.Shape{2, 1}, []int32{1, 2}, []string{"0: unexpected shape for IN input"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _, pool := server(t, builtin.Square{}, squareConfig(nil))
				r, s := squareRequest(pool, c.shape, c.in...)
				require.NoError(t, g.Submit(r))
				<-s.Done()
				r.Release()
				require.Equal(t, c.want, responses(s))
			})
		})
	}
}

// The table of responses by index, as NVIDIA's test of it fills it: successes
// first, then failures, then empty ones.
func TestSquareStatistics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters, pool := server(t, builtin.Square{}, squareConfig(map[string]string{
			"CUSTOM_INFER_DELAY_NS": "400000000", "CUSTOM_OUTPUT_DELAY_NS": "200000000", "CUSTOM_CANCEL_DELAY_NS": "300000000",
			"CUSTOM_FAIL_COUNT": "1", "CUSTOM_EMPTY_COUNT": "1", "CUSTOM_OTHER": "x",
		}))
		r, s := squareRequest(pool, tensor.Shape{1}, 3)
		require.NoError(t, g.Submit(r))
		<-s.Done()
		r.Release()
		require.Equal(t, []string{"600: [3]", "1200: [3] simulated failure"}, responses(s))
		require.Equal(t, 1600*time.Millisecond, time.Since(s.Begin))

		left, s := squareRequest(pool, tensor.Shape{1}, 3)
		require.NoError(t, g.Submit(left))
		time.Sleep(695 * time.Millisecond)
		left.Cancel()
		<-s.Done()
		left.Release()
		require.Equal(t, []string{"600: [3]", "996: cancelled"}, responses(s), "it looks every 2 ms")

		d := func(n, ms uint64) *inferencepb.StatisticDuration {
			return &inferencepb.StatisticDuration{Count: n, Ns: ms * 1e6}
		}
		none := d(0, 0)
		require.Equal(t, map[string]*inferencepb.InferResponseStatistics{
			"0": {ComputeInfer: d(2, 800), ComputeOutput: d(2, 400), Success: d(2, 1200), Fail: none, EmptyResponse: none, Cancel: none},
			"1": {ComputeInfer: d(1, 400), ComputeOutput: d(1, 200), Success: none, Fail: d(1, 600), EmptyResponse: none, Cancel: d(1, 396)},
			"2": {ComputeInfer: d(1, 400), ComputeOutput: none, Success: none, Fail: none, EmptyResponse: d(1, 400), Cancel: none},
		}, counters.Snapshot().ResponseStats)
		require.EqualValues(t, 2, counters.Counters().Success.Count)
	})
}

// A row of no sequence is gone when the call is over.
func TestSquareLeavesNullRequestsAlone(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	m, err := builtin.Square{}.Load(t.Context(), spec(squareConfig(nil), pool))
	require.NoError(t, err)
	i, err := m.NewInstance(t.Context(), backend.Placement{})
	require.NoError(t, err)
	r, _ := squareRequest(pool, tensor.Shape{1, 1}, 0)
	r.Membership.Null = true
	var b infer.Batch
	b.Add(r)
	require.NoError(t, i.Execute(t.Context(), &b))
	require.NoError(t, i.Close())
	require.NotEqual(t, infer.Answered, r.State())
	r.Release()
	r.Release()
	require.Zero(t, pool.Outstanding())
}
