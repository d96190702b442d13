package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/repository"
	"triton/server/servertest"
)

// fault returns a config.pbtxt of the backend with faults: every n-th batch of an
// instance has one.
func fault(scheduling string, faults ...string) string {
	c := "backend: \"fault\"\nmax_batch_size: 8\n" + scheduling
	for _, name := range []string{"input { name: \"INPUT0\"", "output { name: \"OUTPUT0\""} {
		c += name + " data_type: TYPE_INT32 dims: [ -1 ] }\n"
	}
	for i := 0; i < len(faults); i += 2 {
		c += fmt.Sprintf("parameters { key: %q value { string_value: %q } }\n", faults[i], faults[i+1])
	}
	return c
}

// stressed is the models of the stress test, by name: every scheduler, with
// backends that fail.
var stressed = map[string]string{
	"direct":   fault("instance_group { count: 2 kind: KIND_CPU }", "fail", "7", "refuse", "11", "silent", "13", "twice", "5"),
	"batching": fault("dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 300 }", "fail", "17", "refuse", "11", "execute_delay_ms", "1"),
	"queues": fault(`dynamic_batching {
		priority_levels: 3 default_priority_level: 2 max_queue_delay_microseconds: 500
		default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 3000 allow_timeout_override: true max_queue_size: 8 }
		priority_queue_policy { key: 3 value { timeout_action: DELAY default_timeout_microseconds: 700 } }
	}`, "fail", "17", "execute_delay_ms", "1"),
	"ordered": fault("dynamic_batching { preserve_ordering: true } instance_group { count: 3 kind: KIND_CPU }", "refuse", "11", "silent", "13"),
	"cached": fault("dynamic_batching { } response_cache { enable: true }\n"+
		`parameters { key: "response_cache_single_flight" value { string_value: "true" } }`, "fail", "5", "execute_delay_ms", "1"),
	"rate limit":           fault(`dynamic_batching { } instance_group { count: 2 kind: KIND_CPU rate_limiter { resources { name: "core" count: 1 } } }`, "fail", "9"),
	"rate limit, priority": fault(`instance_group { count: 2 kind: KIND_CPU rate_limiter { priority: 2 resources { name: "core" count: 1 } } }`, "execute_delay_ms", "1"),
	"direct sequences":     fault(`sequence_batching { max_sequence_idle_microseconds: 20000 } instance_group { count: 2 kind: KIND_CPU }`, "fail", "19"),
	"oldest sequences": fault(`sequence_batching { max_sequence_idle_microseconds: 20000
		oldest { max_candidate_sequences: 3 preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 300 } }`, "fail", "19", "refuse", "23"),
	"controlled sequences": fault(`sequence_batching { max_sequence_idle_microseconds: 20000
		control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
		control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } } }`, "fail", "19", "execute_delay_ms", "1"),
	"gathered": strings.ReplaceAll(fault("dynamic_batching { max_queue_delay_microseconds: 300 }"), "\"fault\"", "\"gathered\""),
	"ensemble": `platform: "ensemble"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  max_inflight_requests: 3
  step { model_name: "batching" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "between" } }
  step { model_name: "ordered" model_version: -1 input_map { key: "INPUT0" value: "between" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
}
`,
	"decoupled": fault("model_transaction_policy { decoupled: true } dynamic_batching { }", "fail", "7", "refuse", "11", "twice", "5"),
	"dying":     fault("dynamic_batching { } instance_group { count: 3 kind: KIND_CPU }", "panic", "40"),
}

// TestStress calls every scheduler from many callers that cancel or time out, while backends
// fail, refuse, forget, answer twice and panic, and while models are unloaded and loaded again.
// Every request has exactly one final response, every result is right, and at the end all memory
// is released, no request waits and no goroutine runs.
func TestStress(t *testing.T) {
	newStress(t, 1500*time.Millisecond, func(*server.Options) {}).run(t)
}

// newStress starts a server whose callers stop after d, or when every model has given a
// right answer, whichever is later.
func newStress(t *testing.T, d time.Duration, change func(*server.Options)) *stress {
	var opts []servertest.Option
	for name, config := range stressed {
		opts = append(opts, servertest.Model(name, config))
	}
	s := servertest.Start(t, append(opts, servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
		o.RateLimiter.Enabled = true
		o.Cache.Name, o.Cache.Settings = "local", map[string]string{"size": "65536"}
		o.Backends["gathered"] = gathered{}
		change(o)
	}))...)
	return &stress{server: s, end: time.Now().Add(d)}
}

func (x *stress) run(t *testing.T) {
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() { x.caller(t, rand.New(rand.NewPCG(uint64(i), 7))) })
	}
	for name := range stressed {
		all.Go(func() { x.reload(t, name) })
	}
	all.Wait()
	require.Nil(t, x.wrong.Load())
	for name := range stressed { // every one has right answers
		require.Positive(t, x.answered(name).Load(), name)
	}
	t.Logf("answered %d, failed %d, cancelled %d, refused %d", total(&x.right), x.failed.Load(), x.cancelled.Load(), x.refused.Load())
}

type stress struct {
	scarce                     bool // models may find no memory when they are loaded
	server                     *servertest.Server
	end                        time.Time
	right                      sync.Map // *atomic.Int64 by model
	failed, cancelled, refused atomic.Int64
	wrong                      atomic.Value // the first text
}

// goesOn reports whether the callers go on, for a minute more at most.
func (x *stress) goesOn() bool {
	late := time.Since(x.end)
	if late < 0 || late > time.Minute {
		return late < 0
	}
	for name := range stressed {
		if x.answered(name).Load() == 0 {
			return true
		}
	}
	return false
}

func (x *stress) answered(model string) *atomic.Int64 {
	n, _ := x.right.LoadOrStore(model, &atomic.Int64{})
	return n.(*atomic.Int64)
}

func total(m *sync.Map) (n int64) {
	m.Range(func(_, v any) bool { n += v.(*atomic.Int64).Load(); return true })
	return n
}

// reload takes a model away and brings it back, again and again.
func (x *stress) reload(t *testing.T, name string) {
	models := x.server.Service()
	for x.goesOn() {
		time.Sleep(50 * time.Millisecond) // of load
		if err := models.Unload(t.Context(), name, false); err != nil {
			x.fail("unloading %s: %v", name, err)
		}
		err := models.Load(t.Context(), name, infer.LoadOptions{})
		for x.scarce && err != nil && refused(err.Error()) {
			err = models.Load(t.Context(), name, infer.LoadOptions{})
		}
		if err != nil {
			x.fail("loading %s: %v", name, err)
		}
	}
}

func (x *stress) fail(format string, args ...any) {
	x.wrong.CompareAndSwap(nil, fmt.Sprintf(format, args...))
}

func (x *stress) caller(t *testing.T, rng *rand.Rand) {
	var names []string
	for name := range stressed {
		names = append(names, name)
	}
	for n := 0; x.goesOn() && x.wrong.Load() == nil; n++ {
		name := names[rng.IntN(len(names))]
		m, err := x.server.Service().Model(name, "")
		if err != nil {
			x.refused.Add(1) // unloaded just now
			time.Sleep(time.Millisecond)
			continue
		}
		if rng.IntN(2) == 0 {
			x.call(t, m, rng)
		} else {
			x.submit(m, rng)
		}
		m.Release()
	}
}

// ask returns a request of random rows, priority and timeout; every row of the output is value.
func ask(rng *rand.Rand, model string) (*infer.Request, uint32) {
	r := infer.NewRequest()
	r.ID, r.Priority = fmt.Sprint(rng.Uint32()), uint64(rng.IntN(4))
	if rng.IntN(4) == 0 {
		r.TimeoutMicros = uint64(1 + rng.IntN(2000))
	}
	rows := int64(1 + rng.IntN(3))
	if strings.Contains(model, "sequences") {
		rows, r.SequenceID = 1, uint64(1+rng.IntN(6))
		r.SequenceStart, r.SequenceEnd = rng.IntN(2) == 0, rng.IntN(3) == 0
	}
	want := rng.Uint32N(1 << 12)
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape, rows, 1)
	var data []byte
	for range rows {
		data = binary.LittleEndian.AppendUint32(data, want)
	}
	in.Data = tensor.NewData(tensor.HeapBuffer(data))
	return r, want
}

// call waits for the answer, for as long as its patience lasts.
func (x *stress) call(t *testing.T, m infer.Model, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(t.Context())
	if rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(1500))*time.Microsecond)
	}
	defer cancel()
	r, want := ask(rng, m.Name())
	id := r.ID
	resp, err := m.Infer(ctx, r)
	x.check(m.Name(), id, want, resp, err)
	if resp != nil {
		resp.Release()
	}
	r.Release()
}

// submit has the answer sent to a sink.
func (x *stress) submit(m infer.Model, rng *rand.Rand) {
	r, want := ask(rng, m.Name())
	k, id := infertest.NewSink(), r.ID
	k.Format = func(resp *infer.Response) string {
		x.check(m.Name(), id, want, resp, resp.Err)
		return "response"
	}
	r.Sink = k
	err := m.Submit(r)
	if err != nil {
		x.check(m.Name(), id, want, nil, err)
	} else {
		if rng.IntN(3) == 0 {
			r.Cancel()
		}
		<-k.Done()
		if n := k.Ends(); n != 1 {
			x.fail("%s: request %s ended %d times", m.Name(), id, n)
		}
	}
	r.Release()
}

// check checks one response.
func (x *stress) check(model, id string, want uint32, resp *infer.Response, err error) {
	if err == nil {
		x.compare(model, id, want, resp)
		return
	}
	switch status.CodeOf(err) {
	case status.Cancelled:
		x.cancelled.Add(1)
	case status.Unavailable, status.NotFound:
		x.refused.Add(1)
	case status.Internal, status.InvalidArg:
		x.failed.Add(1)
	default:
		x.fail("%s: %v", model, err)
	}
}

func (x *stress) compare(model, id string, want uint32, resp *infer.Response) {
	x.answered(model).Add(1)
	out := resp.Output("OUTPUT0")
	if out == nil || resp.ID != id {
		x.fail("%s: request %s got an answer for %s", model, id, resp.ID)
		return
	}
	data := make([]byte, out.Data.Len())
	out.Data.CopyTo(data)
	for ; len(data) >= 4; data = data[4:] {
		if got := binary.LittleEndian.Uint32(data); got != want {
			x.fail("%s: request %s got %d, want %d", model, id, got, want)
		}
	}
}
