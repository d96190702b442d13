package repository

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/repository/state"
	"triton/server/stats"
)

// masked has an input of any length and a mask for it.
const masked = `backend: "identity"
max_batch_size: 4
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "INPUT1" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ -1 ] }
dynamic_batching { max_queue_delay_microseconds: 100 }
`

// with adds parameters, given as "key: value".
func with(config string, pairs ...string) string {
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, ": ")
		config += fmt.Sprintf("parameters { key: %q value { string_value: %q } }\n", key, value)
	}
	return config
}

// numbers is a request with an input of that many numbers.
func numbers(pool *tensor.Pool, n int) *infer.Request {
	r := infer.NewRequest()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape[:0], 1, int64(n))
	b := pool.Get(4 * n)
	clear(b.Bytes())
	in.Data = tensor.NewData(b)
	return r
}

func TestBeyondTriton(t *testing.T) {
	t.Parallel()
	var pool *tensor.Pool
	r, _, err := open(t, func(o *Options) { pool = o.Pool }, tree(t, map[string]string{
		"m/config.pbtxt": with(masked, "length_buckets: 4, 8", "length_bucket_inputs: INPUT0", "length_bucket_mask: INPUT1",
			"length_bucket_outputs: OUTPUT0", "max_queue_delay_target_p99_microseconds: 5000", "deadline_admission: true"),
		"m/1/": "",
	}))
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	defer m.Release()
	for _, n := range []int{3, 4, 8} {
		q := numbers(pool, n)
		q.TimeoutMicros = 1_000_000
		resp, err := m.Infer(t.Context(), q)
		require.NoError(t, err)
		bucket := int64(4 * ((n + 3) / 4))
		require.Equal(t, tensor.Shape{1, int64(n)}, resp.Output("OUTPUT0").Shape, "as long as it was sent")
		require.Equal(t, 4*n, resp.Output("OUTPUT0").Data.Len())
		mask := resp.Output("OUTPUT1")
		require.Equal(t, tensor.Shape{1, bucket}, mask.Shape)
		mem, _ := mask.Data.Contiguous()
		for i := range bucket {
			require.Equal(t, i < int64(n), mem[4*i] == 1)
		}
		resp.Release()
		q.Release()
	}
	q := numbers(pool, 9)
	_, err = m.Infer(context.Background(), q)
	require.EqualError(t, err, "[request id: <id_unknown>] length 9 is more than the largest length bucket of model 'm', which is 8")
	q.Release()

	metrics := map[string]float64{}
	registry := prometheus.NewRegistry()
	registry.MustRegister(stats.NewCollector(func() []stats.Served { return []stats.Served{{Model: m.(*state.Newest).Stats()}} }))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		metrics[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
	}
	require.EqualValues(t, 100, metrics["triton_queue_delay_us"])
	require.Contains(t, metrics, "triton_request_refused_count")
}

// A parameter that cannot be followed fails the load.
func TestBeyondTritonMistakes(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]string{
		"parameter 'length_buckets' of model 'm': 4 does not come after 8":            with(masked, "length_buckets: 8, 4", "length_bucket_inputs: INPUT0"),
		"parameter 'deadline_admission' of model 'm': 'on' is neither true nor false": with(masked, "deadline_admission: on"),
		"parameter 'max_queue_delay_target_p99_microseconds' of model 'm': only the dynamic batcher has a queue delay": with(identity,
			"max_queue_delay_target_p99_microseconds: 5000"),
	} {
		r, _, err := open(t, nil, tree(t, map[string]string{"m/config.pbtxt": config, "m/1/": ""}))
		require.Error(t, err)
		require.Contains(t, r.Index(false).Models[0].Reason, want)
	}
}

// An ensemble with a parameter for models with a backend is not loaded.
func TestBeyondTritonOfAnEnsemble(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, nil, tree(t, map[string]string{
		"m/config.pbtxt": masked, "m/1/": "",
		"e/config.pbtxt": with(`platform: "ensemble" max_batch_size: 4
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1
  input_map { key: "INPUT0" value: "IN" } input_map { key: "INPUT1" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }
`, "length_buckets: 4, 8", "length_bucket_inputs: IN"),
		"e/1/": "",
	}))
	require.Error(t, err)
	for _, m := range r.Index(false).Models {
		want := map[string]string{"m": "", "e": "Invalid argument: parameter 'length_buckets' of model 'e': an ensemble pads nothing itself"}[m.Name]
		require.Equal(t, want, m.Reason)
	}
}

// TestBeyondTritonStress mixes lengths, deadlines and cancelled calls.
func TestBeyondTritonStress(t *testing.T) {
	t.Parallel()
	var pool *tensor.Pool
	r, _, err := open(t, func(o *Options) { pool = o.Pool }, tree(t, map[string]string{
		"m/config.pbtxt": with(masked, "length_buckets: 4, 8", "length_bucket_inputs: INPUT0", "length_bucket_mask: INPUT1",
			"length_bucket_outputs: OUTPUT0", "max_queue_delay_target_p99_microseconds: 200", "deadline_admission: true") +
			"instance_group { count: 2 kind: KIND_CPU }",
		"m/1/": "",
	}))
	require.NoError(t, err)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	defer m.Release()
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2000))*time.Microsecond)
				n := 1 + random.IntN(9)
				q := numbers(pool, n)
				q.TimeoutMicros = uint64(random.IntN(1000))
				resp, err := m.Infer(ctx, q)
				if err == nil {
					if got := resp.Output("OUTPUT0").Shape[1]; got != int64(n) {
						t.Errorf("length %d for %d", got, n)
					}
					resp.Release()
				} else if code := status.CodeOf(err); code != status.Unavailable && code != status.Cancelled && (n < 9 || code != status.InvalidArg) {
					t.Errorf("length %d: %v: %v", n, code, err)
				}
				q.Release()
				cancel()
			}
		})
	}
	all.Wait()
}
