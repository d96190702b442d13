package isolated_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/backend/isolated"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// form is a way to run a backend: in the process of the test, or in a child, with or without
// a pool that the child can map.
type form struct {
	name             string
	isolated, shared bool
}

var forms = []form{{"in process", false, false}, {"isolated", true, true}, {"isolated, private pool", true, false}}

// transcript runs requests one after the other on one instance of a backend and returns their
// responses, the counters, and what is left.
func (f form) transcript(t *testing.T, b backend.Backend, cfg *inferencepb.ModelConfig, requests []func(*tensor.Pool) *infer.Request) []string {
	t.Helper()
	pool := tensor.NewPool()
	if f.shared {
		pool = memfd(t)
	}
	if f.isolated {
		var err error
		isolation := isolated.New(isolated.Options{Program: []string{"/proc/self/exe", inChild}, Pool: pool})
		b, err = isolation.Wrap(cfg.GetBackend(), extension.Process{})
		require.NoError(t, err)
	}
	quiet := slog.New(slog.DiscardHandler)
	m, err := b.Load(t.Context(), backend.Spec{Name: "m", Version: 1, Config: cfg, Pool: pool, Log: quiet, CPUs: 1})
	if err != nil {
		return []string{"load: " + err.Error()}
	}
	counters := stats.NewModel("m", "1", 1)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: 1, Stats: counters})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: m, Placements: []backend.Placement{{Name: "m_0", Instances: 1}},
		Source: source, Slots: slots, Stats: counters, Log: quiet,
	})
	if err := g.Start(t.Context()); err != nil {
		return []string{"start: " + err.Error()}
	}
	var all []string
	for i, request := range requests {
		r, sink := request(pool), infertest.NewSink()
		sink.Format = describe
		r.Sink, r.ModelName, r.ModelVersion = sink, "m", "1"
		if err := g.Submit(r); err != nil {
			all = append(all, fmt.Sprintf("%d: refused: %v", i, err))
			r.Release()
			r.Release()
			require.Eventually(t, g.Ready, waitFor, tick)
			continue
		}
		<-sink.Done()
		r.Release()
		for _, text := range sink.Texts() {
			all = append(all, fmt.Sprintf("%d: %s", i, text))
		}
		require.Eventually(t, g.Ready, waitFor, tick) // a broken instance comes back
	}
	if err := g.Drain(context.Background()); err != nil {
		all = append(all, "drain: "+err.Error())
	}
	s := counters.Snapshot()
	all = append(all, fmt.Sprintf("success %d, fail %d, executions %d, inferences %d", s.GetInferenceStats().GetSuccess().GetCount(),
		s.GetInferenceStats().GetFail().GetCount(), s.GetExecutionCount(), s.GetInferenceCount()))
	require.Zero(t, pool.Outstanding())
	return all
}

// describe returns everything of a response.
func describe(resp *infer.Response) string {
	if resp.Err != nil {
		return "error: " + resp.Err.Error()
	}
	text := fmt.Sprintf("%s %s %q %v", resp.ModelName, resp.ModelVersion, resp.ID, resp.Parameters)
	var outputs []string
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		sum, mem := uint64(0), make([]byte, o.Data.Len())
		o.Data.CopyTo(mem)
		for k := 0; k < len(mem); k += 1 + len(mem)/10_000 {
			sum = sum*31 + uint64(mem[k]) + uint64(k)
		}
		outputs = append(outputs, fmt.Sprintf(" %s %s %v %d bytes %x", o.Name, o.DataType, o.Shape, len(mem), sum))
	}
	sort.Strings(outputs)
	return fmt.Sprint(text, outputs)
}

// numbers is a request with one input per argument; the first has the name.
func numbers(id string, inputs map[string][]int32, change ...func(*infer.Request)) func(*tensor.Pool) *infer.Request {
	return func(pool *tensor.Pool) *infer.Request {
		r := infer.NewRequest()
		r.ID, r.Pool = id, pool
		for _, name := range []string{"INPUT0", "IN", "DELAY", "WAIT"} {
			values, ok := inputs[name]
			if !ok {
				continue
			}
			in := r.AddInput()
			in.Name, in.DataType, in.Shape = name, tensor.Int32, append(in.Shape[:0], int64(len(values)))
			if len(values) == 0 {
				continue
			}
			b := pool.Get(4 * len(values))
			for i, v := range values {
				binary.NativeEndian.PutUint32(b.Bytes()[4*i:], uint32(v))
			}
			in.Data = tensor.NewData(b)
		}
		for _, c := range change {
			c(r)
		}
		return r
	}
}

func count(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// Backends do the same in a child as in the process of the server: every response, error and
// counter is equal, whatever the sizes of tensors and the faults of the backend.
func TestSameAsInProcess(t *testing.T) {
	t.Parallel()
	plain := func(t *testing.T, name, key, value string) *inferencepb.ModelConfig {
		x := newRig(t, name)
		if key != "" {
			x.config.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
		}
		return x.config
	}
	some := func(n int) (all []func(*tensor.Pool) *infer.Request) {
		for i := range n {
			all = append(all, numbers(fmt.Sprint("id", i), map[string][]int32{"INPUT0": count(3 + i)}))
		}
		return all
	}
	repeat := &inferencepb.ModelConfig{
		Name: "m", Backend: "repeat", ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: true},
		Input: []*inferencepb.ModelInput{
			{Name: "IN", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}},
			{Name: "DELAY", DataType: inferencepb.DataType_TYPE_UINT32, Dims: []int64{-1}},
			{Name: "WAIT", DataType: inferencepb.DataType_TYPE_UINT32, Dims: []int64{1}},
		},
		Output: []*inferencepb.ModelOutput{
			{Name: "OUT", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{1}},
			{Name: "IDX", DataType: inferencepb.DataType_TYPE_UINT32, Dims: []int64{1}},
		},
	}
	parameters := func(r *infer.Request) {
		r.Parameters = append(r.Parameters, kserve.Parameter{Name: "p", Kind: kserve.ParamDouble, Double: 0.5})
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUTPUT0"})
	}
	type testCase struct {
		backend  backend.Backend
		config   *inferencepb.ModelConfig
		requests []func(*tensor.Pool) *infer.Request
	}
	cases := map[string]testCase{
		"sizes": {builtin.Identity{}, plain(t, "identity", "", ""), []func(*tensor.Pool) *infer.Request{
			numbers("", map[string][]int32{"INPUT0": nil}), numbers("a", map[string][]int32{"INPUT0": count(1)}),
			numbers("b", map[string][]int32{"INPUT0": count(1024)}), numbers("c", map[string][]int32{"INPUT0": count(1025)}, parameters),
			numbers("d", map[string][]int32{"INPUT0": count(1 << 20)}), numbers("e", map[string][]int32{"INPUT0": count(17 << 20)}),
		}},
		"decoupled": {builtin.Repeat{}, repeat, []func(*tensor.Pool) *infer.Request{
			numbers("one", map[string][]int32{"IN": {7}, "DELAY": {0}, "WAIT": {0}}),
			numbers("none", map[string][]int32{"IN": {}, "DELAY": {}, "WAIT": {0}}),
			numbers("many", map[string][]int32{"IN": count(300), "DELAY": make([]int32, 300), "WAIT": {0}}),
			numbers("late", map[string][]int32{"IN": count(3), "DELAY": {5, 5, 5}, "WAIT": {0}}),
			numbers("wrong", map[string][]int32{"IN": {1}, "DELAY": {1, 2}, "WAIT": {0}}),
		}},
		"bad configuration": {builtin.Identity{}, &inferencepb.ModelConfig{Name: "m", Backend: "identity"}, nil},
	}
	for _, fault := range []string{"fail", "refuse", "panic", "broken", "late", "silent", "twice"} {
		cases[fault] = testCase{builtin.Fault{}, plain(t, "fault", fault, "2"), some(5)}
	}
	for _, fault := range []string{"load_error", "instance_error", "close_error"} {
		cases[fault] = testCase{builtin.Fault{}, plain(t, "fault", fault, "a reason"), some(1)}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := forms[0].transcript(t, c.backend, c.config, c.requests)
			for _, f := range forms[1:] {
				require.Equal(t, want, f.transcript(t, c.backend, c.config, c.requests), f.name)
			}
		})
	}
}
