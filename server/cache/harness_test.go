package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/cache"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cached model: a backend that answers an input with itself, after
// some time.
type world struct {
	*cache.Runner
	pool  *tensor.Pool
	local *cache.Local
	stats *stats.Model
	log   bytes.Buffer

	model *backendtest.Model
	exec  time.Duration
	begin time.Time
	mu    sync.Mutex
	fails map[byte][]error // by value, one for each execution
}

type setup struct {
	size      int64
	instances int
	exec      time.Duration
	single    bool
	ordered   bool
}

// newWorld makes a world that ends with the test, whole.
func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	w := &world{pool: tensor.NewPool(), stats: stats.NewModel("m", "1", 0), exec: s.exec, begin: time.Now(), fails: map[byte][]error{}}
	w.local = cache.NewLocal(s.size, w.pool)
	w.model = &backendtest.Model{Begin: w.begin, Run: w.execute}
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: s.instances, Stats: w.stats})
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: &inferencepb.ModelConfig{}, Model: w.model, Placements: make([]backend.Placement, s.instances),
		Source: source, Slots: slots, Stats: w.stats, Log: log,
	})
	require.NoError(t, g.Start(t.Context()))
	w.Runner = cache.New(g, cache.Options{Cache: w.local, Scope: "m", SingleFlight: s.single, Ordered: s.ordered, Pool: w.pool, Stats: w.stats, Log: log})
	t.Cleanup(func() {
		require.NoError(t, w.Drain(context.Background()))
		require.NoError(t, w.local.Close())
		require.Zero(t, w.pool.Outstanding())
		require.Zero(t, w.stats.Pending.Load())
	})
	return w
}

// execute answers a request with its input, by a copy.
func (w *world) execute(_ context.Context, b *infer.Batch) error {
	r := b.Requests[0]
	in := &r.Inputs[0]
	text := make([]byte, in.Data.Len())
	in.Data.CopyTo(text)
	w.mu.Lock()
	var err error
	if all := w.fails[text[0]]; len(all) > 0 {
		err, w.fails[text[0]] = all[0], all[1:]
	}
	w.mu.Unlock()
	time.Sleep(w.exec)
	if err == nil && b.Abandoned() {
		err = errors.New("no caller waits")
	}
	if err != nil {
		return err
	}
	out := w.pool.Get(len(text))
	copy(out.Bytes(), text)
	resp := infer.NewResponse()
	resp.Add("OUT", in.DataType, in.Shape, tensor.NewData(out))
	r.Respond(resp, true)
	return nil
}

// ran returns when executions began, in ms since the beginning.
func (w *world) ran() []int64 {
	var all []int64
	for _, b := range w.model.Batches() {
		all = append(all, b.At.Milliseconds())
	}
	return all
}

// ask makes a request for a text.
func ask(text string) *infer.Request {
	r := infer.NewUnpooled()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Uint8, append(in.Shape[:0], int64(len(text)))
	in.Data = tensor.NewData(tensor.HeapBuffer([]byte(text)))
	return r
}

// result returns the text of a response, or of its error.
func result(resp *infer.Response, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	defer resp.Release()
	data, _ := resp.Outputs[0].Data.Contiguous()
	return string(data)
}

// infer sends a request and returns its result.
func (w *world) infer(ctx context.Context, text string) string {
	r := ask(text)
	defer r.Release()
	return result(w.Infer(ctx, r))
}

// counts are those of the statistics that the cache has to do with.
type counts struct{ executions, success, failed, computed, hits, misses uint64 }

func (w *world) counts() counts {
	c := w.stats.Counters()
	return counts{c.Executions, c.Success.Count, c.Fail.Count, c.ComputeInfer.Count, c.CacheHit.Count, c.CacheMiss.Count}
}
