package builtin_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
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
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

const uint32s = inferencepb.DataType_TYPE_UINT32

func repeatConfig(decoupled bool) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		Name: "m", ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: decoupled},
		Input: []*inferencepb.ModelInput{
			in("IN", int32s, dims{-1}, nil), in("DELAY", uint32s, dims{-1}, nil), in("WAIT", uint32s, dims{1}, nil),
		},
		Output: []*inferencepb.ModelOutput{out("OUT", int32s, dims{1}, nil), out("IDX", uint32s, dims{1}, nil)},
	}
}

func TestRepeatChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(c *inferencepb.ModelConfig){
		"repeat backend only supports models with max_batch_size == 0": func(c *inferencepb.ModelConfig) { c.MaxBatchSize = 1 },
		"expected 3 inputs, got 2":                                     func(c *inferencepb.ModelConfig) { c.Input = c.Input[:2] },
		"expected 2 outputs, got 1":                                    func(c *inferencepb.ModelConfig) { c.Output = c.Output[:1] },
		"expected second input tensor name to be DELAY, got X":         func(c *inferencepb.ModelConfig) { c.Input[1].Name = "X" },
		"expected second output tensor name to be IDX, got X":          func(c *inferencepb.ModelConfig) { c.Output[1].Name = "X" },
		"expected IN shape to have one dimension, got [2,2]":           func(c *inferencepb.ModelConfig) { c.Input[0].Dims = dims{2, 2} },
		"expected IN and DELAY shape to match, got [-1] and [2]":       func(c *inferencepb.ModelConfig) { c.Input[1].Dims = dims{2} },
		"expected WAIT shape to be [1], got [2]":                       func(c *inferencepb.ModelConfig) { c.Input[2].Dims = dims{2} },
		"expected OUT datatype to be INT32, got TYPE_UINT32":           func(c *inferencepb.ModelConfig) { c.Output[0].DataType = uint32s },
		"expected IN datatype to be INT32, got TYPE_UINT32":            func(c *inferencepb.ModelConfig) { c.Input[0].DataType = uint32s },
	} {
		cfg := repeatConfig(true)
		change(cfg)
		_, err := builtin.Repeat{}.Load(t.Context(), backend.Spec{Config: cfg})
		require.EqualError(t, err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

// newStream returns a sink that shows the outputs of a response in order, "[7 0]".
func newStream() *infertest.Sink {
	s := infertest.NewSink()
	s.Format = func(resp *infer.Response) string {
		var outputs []int32
		for i := range resp.Outputs {
			mem, _ := resp.Outputs[i].Data.Contiguous()
			outputs = append(outputs, int32(binary.NativeEndian.Uint32(mem)))
		}
		switch {
		case resp.Err == nil:
			return fmt.Sprint(outputs)
		case outputs == nil:
			return resp.Err.Error()
		}
		return fmt.Sprint(outputs, " ", resp.Err)
	}
	return s
}

// responses returns what a sink got, less an end without data.
func responses(s *infertest.Sink) []string {
	var all []string
	for _, text := range s.Timeline() {
		if text = strings.TrimSuffix(text, "final"); !strings.HasSuffix(text, ": ") {
			all = append(all, strings.TrimSpace(text))
		}
	}
	return all
}

// server returns a group over a backend.
func server(t *testing.T, kind backend.Backend, cfg *inferencepb.ModelConfig) (*instance.Group, *stats.Model, *tensor.Pool) {
	t.Helper()
	pool := tensor.NewPool()
	m, err := kind.Load(t.Context(), backend.Spec{Config: cfg, Pool: pool, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	counters := stats.NewModel("m", "1", 1)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: 1, Stats: counters})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: m, Placements: make([]backend.Placement, 1),
		Source: source, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, g.Drain(context.Background()))
		require.Zero(t, pool.Outstanding())
	})
	return g, counters, pool
}

// input appends a tensor of numbers.
func input(r *infer.Request, pool *tensor.Pool, name string, shape tensor.Shape, values ...int32) {
	t := r.AddInput()
	t.Name, t.Shape = name, append(t.Shape, shape...)
	r.Pool = pool
	buf := pool.Get(4 * len(values))
	for i, v := range values {
		binary.NativeEndian.PutUint32(buf.Bytes()[4*i:], uint32(v))
	}
	t.Data = tensor.NewData(buf)
}

func repeatRequest(pool *tensor.Pool, wait int32, values, delays []int32) (*infer.Request, *infertest.Sink) {
	r, s := infer.NewUnpooled(), newStream()
	r.ModelName, r.Sink = "m", s
	input(r, pool, "IN", tensor.Shape{int64(len(values))}, values...)
	input(r, pool, "DELAY", tensor.Shape{int64(len(delays))}, delays...)
	input(r, pool, "WAIT", tensor.Shape{1}, wait)
	return r, s
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		values, delays []int32
		want           []string
	}{
		{"none", nil, nil, nil},
		{"one", []int32{7}, []int32{30}, []string{"30: [7 0]"}},
		{"many", []int32{4, -2, 8}, []int32{100, 0, 25}, []string{"100: [4 0]", "100: [-2 1]", "125: [8 2]"}},
		{"shapes differ", []int32{1}, []int32{1, 2}, []string{"0: expected IN and DELAY shape to match, got [1] and [2]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _, pool := server(t, builtin.Repeat{}, repeatConfig(true))
				r, s := repeatRequest(pool, 0, c.values, c.delays)
				require.NoError(t, g.Submit(r))
				<-s.Done()
				r.Release()
				require.Equal(t, c.want, responses(s))
			})
		})
	}
}

// With a WAIT below the sum of the delays one instance answers several requests
// at the same time; with one above, it is not free though all is answered.
func TestRepeatFreesItsInstanceAfterWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters, pool := server(t, builtin.Repeat{}, repeatConfig(true))
		a, first := repeatRequest(pool, 10, []int32{1, 2}, []int32{20, 20})
		b, second := repeatRequest(pool, 100, []int32{3}, []int32{15})
		c, third := repeatRequest(pool, 0, []int32{4}, []int32{0})
		for _, r := range []*infer.Request{a, b, c} {
			require.NoError(t, g.Submit(r))
			synctest.Wait()
			r.Release()
		}
		<-third.Done()
		require.Equal(t, []string{"20: [1 0]", "40: [2 1]"}, responses(first))
		require.Equal(t, []string{"25: [3 0]"}, responses(second))
		require.Equal(t, []string{"110: [4 0]"}, responses(third))
		synctest.Wait()
		n := counters.Counters()
		require.EqualValues(t, 3, n.Success.Count)
		require.EqualValues(t, 3, n.Executions)
		require.EqualValues(t, 110e6, n.ComputeInfer.Ns)
	})
}

func TestRepeatStopsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, pool := server(t, builtin.Repeat{}, repeatConfig(true))
		r, s := repeatRequest(pool, 1e6, []int32{1, 2}, []int32{100, 1e6})
		require.NoError(t, g.Submit(r))
		time.Sleep(195 * time.Millisecond)
		r.Cancel()
		<-s.Done()
		r.Release()
		require.Equal(t, []string{"100: [1 0]", "196: cancelled"}, responses(s))
		require.NoError(t, g.Drain(t.Context()))
		require.Equal(t, 196*time.Millisecond, time.Since(s.Begin), "the instance is free too")
	})
}

// A configuration without the policy works with one response for each request.
func TestRepeatWithoutThePolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, pool := server(t, builtin.Repeat{}, repeatConfig(false))
		for want, values := range map[string][]int32{
			"": {7}, "expected a single response, got 0": nil, "expected a single response, got 3": {1, 2, 3},
		} {
			r, _ := repeatRequest(pool, 0, values, make([]int32, len(values)))
			resp, err := g.Infer(t.Context(), r)
			r.Release()
			if want != "" {
				require.EqualError(t, err, want)
				continue
			}
			require.NoError(t, err)
			require.Len(t, resp.Outputs, 2)
			resp.Release()
		}
	})
}
