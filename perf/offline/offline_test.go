package offline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/client"
	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// echo answers each row with its input X, a text of any length.
type echo struct {
	maxBatch int
	config   func(*client.ModelConfig)
	// before, if set, is called for each request and may fail it.
	before func(ctx context.Context, texts []string) error
	after  func(resp *client.Response)
	ready  bool

	mu       sync.Mutex
	sizes    []int // of the requests that were answered
	inFlight int
	highest  int
}

func (e *echo) ModelReady(context.Context, string, string) (bool, error) { return e.ready, nil }

func (e *echo) ModelMetadata(_ context.Context, model, _ string) (*client.ModelMetadata, error) {
	if model != "echo" {
		return nil, errors.New("unknown model")
	}
	shape := []int64{-1, -1}
	if e.maxBatch == 0 {
		shape = shape[1:]
	}
	return &client.ModelMetadata{Name: model, Inputs: []*client.TensorMetadata{{Name: "X", Datatype: "BYTES", Shape: shape}}}, nil
}

func (e *echo) ModelConfig(context.Context, string, string) (*client.ModelConfig, error) {
	c := &client.ModelConfig{MaxBatchSize: int32(e.maxBatch)}
	if e.config != nil {
		e.config(c)
	}
	return c, nil
}

func (e *echo) Infer(ctx context.Context, req *client.Request) (*client.Response, error) {
	e.mu.Lock()
	e.inFlight++
	e.highest = max(e.highest, e.inFlight)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.inFlight--
		e.mu.Unlock()
	}()
	texts, err := client.Strings(&req.Inputs[0])
	if err != nil {
		return nil, err
	}
	if e.before != nil {
		if err := e.before(ctx, texts); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	e.sizes = append(e.sizes, len(texts))
	e.mu.Unlock()
	out := req.Inputs[0]
	out.Name = "Y"
	resp := &client.Response{Outputs: []client.Tensor{out}}
	if e.after != nil {
		e.after(resp)
	}
	return resp, nil
}

// fixture is a folder with n rows; every third has two elements.
type fixture struct {
	dir  string
	want []string
}

func newFixture(t *testing.T, n int) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir()}
	var in strings.Builder
	for i := range n {
		text := fmt.Sprintf(`["r%d"]`, i)
		if i%3 == 0 {
			text = fmt.Sprintf(`["r%d","second"]`, i)
		}
		fmt.Fprintf(&in, "{\"X\":%s}\n", text)
		f.want = append(f.want, fmt.Sprintf(`{"Y":%s}`, text))
	}
	require.NoError(t, os.WriteFile(f.path("in.jsonl"), []byte(in.String()), 0o600))
	return f
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) options() Options {
	return Options{Model: "echo", Inputs: []RowFile{{Path: f.path("in.jsonl")}}, Output: f.path("out.jsonl"), Retries: 3}
}

// lines returns the lines of a file.
func (f *fixture) lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(f.path(name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func run(ctx context.Context, c Client, o Options) (*Result, error) {
	r, err := New(ctx, c, o)
	if err != nil {
		return nil, err
	}
	res, err := r.Run(ctx)
	return res, errors.Join(err, r.Close())
}

// jitter answers after a random time, so that responses come in any order.
func jitter(context.Context, []string) error {
	time.Sleep(rand.N(20 * time.Millisecond))
	return nil
}

// TestOrder: every row is answered once, in order, in full batches of equal shapes.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{0, 1, 8} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, 3000)
			e := &echo{maxBatch: batch, before: jitter}
			res, err := run(t.Context(), e, f.options())
			require.NoError(t, err)
			require.Equal(t, f.want, f.lines(t, "out.jsonl"))
			require.Equal(t, int64(3000), res.Rows)
			require.Zero(t, res.Failed+res.Retries)
			require.Greater(t, e.highest, firstConcurrency, "more requests at a time are faster here")
			if batch == 8 {
				full := 0
				for _, n := range e.sizes {
					if n == 8 || n == 16 { // elements: rows have one or two
						full++
					}
				}
				require.GreaterOrEqual(t, full, len(e.sizes)-2, "only the last batch of each shape is not full")
			}
			for _, name := range []string{"out.jsonl.part", "out.jsonl.job"} {
				require.NoFileExists(t, f.path(name))
			}
		})
	}
}

// TestRowErrors: a row that the model refuses is the only one that fails, wherever it is in its
// batch.
func TestRowErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 100)
	refused := map[string]bool{"r10": true, "r11": true, "r57": true}
	e := &echo{maxBatch: 16, before: func(_ context.Context, texts []string) error {
		for _, text := range texts {
			if refused[text] {
				return status.New(status.InvalidArg, "I do not like %s", text)
			}
		}
		return nil
	}}
	res, err := run(t.Context(), e, f.options())
	require.NoError(t, err)
	require.Equal(t, int64(3), res.Failed)
	for _, i := range []int{10, 11, 57} {
		f.want[i] = fmt.Sprintf(`{"error":"I do not like r%d"}`, i)
	}
	require.Equal(t, f.want, f.lines(t, "out.jsonl"))
}

func TestUnusableResponses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*client.Tensor){
		"its shape is [1,1], for":   func(o *client.Tensor) { o.Shape = []int64{1, 1} },
		"BYTES tensor is cut off":   func(o *client.Tensor) { o.Data = o.Data[:len(o.Data)-1] },
		"bytes are too many":        func(o *client.Tensor) { o.Data = append(o.Data, 0) },
		"unknown data type \\\"X\\": func(o *client.Tensor) { o.Datatype = "X" },
		"negative dimension":        func(o *client.Tensor) { o.Shape[1] = -1 },
		"bytes are too few":         func(o *client.Tensor) { o.Datatype, o.Shape = "FP64", []int64{o.Shape[0], 1000} },
	} {
		f := newFixture(t, 4)
		e := &echo{maxBatch: 16, after: func(r *client.Response) { change(&r.Outputs[0]) }}
		res, err := run(t.Context(), e, f.options())
		require.NoError(t, err)
		require.Equal(t, int64(4), res.Failed)
		for _, line := range f.lines(t, "out.jsonl") {
			require.Contains(t, line, `{"error":"the response cannot be used: output \"Y\": `)
			require.Contains(t, line, want)
		}
	}
}

// TestRetries: transient failures do not show in the output.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"unavailable": status.New(status.Unavailable, "Exceeds maximum queue size"),
		"reset":       fmt.Errorf("HTTP client failed: %w", syscall.ECONNRESET),
		"reloading":   status.New(status.NotFound, "Request for unknown model: 'echo' is not found"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 500)
				n := 0
				var mu sync.Mutex
				e := &echo{maxBatch: 8, before: func(context.Context, []string) error {
					mu.Lock()
					defer mu.Unlock()
					if n++; n%3 == 1 {
						return failure
					}
					return nil
				}}
				o := f.options()
				o.Retries = 20
				res, err := run(t.Context(), e, o)
				require.NoError(t, err)
				require.Zero(t, res.Failed)
				require.Positive(t, res.Retries)
				require.Equal(t, f.want, f.lines(t, "out.jsonl"))
			})
		})
	}
}

// TestServerGone: the run ends when the server is gone, and the next run goes on.
func TestServerGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1000)
		// It is gone for the rows from a place on, not from some request on: the first row may be sent last.
		broken := true
		e := &echo{maxBatch: 8, before: func(_ context.Context, texts []string) error {
			for _, text := range texts {
				if row, err := strconv.Atoi(strings.TrimPrefix(text, "r")); err == nil && row >= 400 && broken {
					return status.New(status.Unavailable, "no connection")
				}
			}
			return nil
		}}
		res, err := run(t.Context(), e, f.options())
		require.EqualError(t, err, "the model is not ready after 3 retries: no connection")
		require.Equal(t, f.want[:res.Rows], f.lines(t, "out.jsonl.part"))
		require.Positive(t, res.Rows)
		require.NoFileExists(t, f.path("out.jsonl"))

		broken = false
		again, err := run(t.Context(), e, f.options())
		require.NoError(t, err)
		require.Equal(t, res.Rows, again.Resumed)
		require.Equal(t, f.want, f.lines(t, "out.jsonl"))
	})
}

// TestPoisonedRow: a row that fails each time for a transient reason, while the server is ready,
// is recorded.
func TestPoisonedRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 40)
		e := &echo{maxBatch: 8, ready: true, before: func(_ context.Context, texts []string) error {
			for _, text := range texts {
				if text == "r20" {
					return status.New(status.Unavailable, "the model crashed")
				}
			}
			return nil
		}}
		res, err := run(t.Context(), e, f.options())
		require.NoError(t, err)
		require.Equal(t, int64(1), res.Failed)
		f.want[20] = `{"error":"the model crashed"}`
		require.Equal(t, f.want, f.lines(t, "out.jsonl"))
	})
}

// TestInterrupt: the requests in flight are finished, and the next run does the rest, whatever
// the torn end of the file is.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{"", `{"Y":["r`, strings.Repeat("x", 3<<20)} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, 2000)
			e := &echo{maxBatch: 4, before: jitter}
			o := f.options()
			interrupt := make(chan struct{})
			o.Interrupt = interrupt
			time.AfterFunc(300*time.Millisecond, func() { close(interrupt) })
			res, err := run(t.Context(), e, o)
			require.NoError(t, err)
			require.True(t, res.Interrupted)
			require.Positive(t, res.Rows)
			require.Less(t, res.Rows, int64(2000))
			part, err := os.OpenFile(f.path("out.jsonl.part"), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = part.WriteString(torn)
			require.NoError(t, errors.Join(err, part.Close()))

			again, err := run(t.Context(), e, f.options())
			require.NoError(t, err)
			require.Equal(t, res.Rows, again.Resumed)
			require.Equal(t, f.want, f.lines(t, "out.jsonl"))
		})
	}
}

// TestInterruptWhileServerIsGone: a retry does not hold up the end.
func TestInterruptWhileServerIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 10)
		e := &echo{maxBatch: 4, before: func(context.Context, []string) error { return status.New(status.Unavailable, "gone") }}
		o := f.options()
		o.Retries = 1000
		interrupt := make(chan struct{})
		o.Interrupt = interrupt
		time.AfterFunc(time.Hour, func() { close(interrupt) })
		begin := time.Now()
		res, err := run(t.Context(), e, o)
		require.NoError(t, err)
		require.True(t, res.Interrupted)
		require.Equal(t, time.Hour, time.Since(begin))
	})
}

// TestCancel: an ended context ends requests that hang.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 10)
		e := &echo{maxBatch: 4, before: func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := run(ctx, e, f.options())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// TestMemory: a slow first row does not let the rows behind it fill the memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 5000)
		var mu sync.Mutex
		waiting := 0
		e := &echo{maxBatch: 1, before: func(_ context.Context, texts []string) error {
			if texts[0] == "r0" {
				time.Sleep(time.Minute)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			waiting++
			return nil
		}}
		o := f.options()
		o.Concurrency, o.MemoryBytes = 4, 100*1024
		time.AfterFunc(30*time.Second, func() {
			mu.Lock()
			defer mu.Unlock()
			require.Less(t, waiting, 250, "a row takes at least 512 bytes")
		})
		_, err := run(t.Context(), e, o)
		require.NoError(t, err)
		require.Equal(t, f.want, f.lines(t, "out.jsonl"))
	})
}

// TestEarlierRuns: a run goes on only with the same rows, and only one at a time.
func TestEarlierRuns(t *testing.T) {
	t.Parallel()
	f, e, ctx := newFixture(t, 10), &echo{maxBatch: 4}, t.Context()
	first, err := New(ctx, e, f.options())
	require.NoError(t, err)
	_, err = New(ctx, e, f.options())
	require.ErrorContains(t, err, "out.jsonl.part is locked: another run writes it")
	require.NoError(t, first.Close())

	require.NoError(t, os.WriteFile(f.path("in.jsonl"), []byte(`{"X":["other"]}`), 0o600))
	_, err = New(ctx, e, f.options())
	require.ErrorContains(t, err, "belongs to a run with another model or other rows")
	o := f.options()
	o.Restart = true
	_, err = run(ctx, e, o)
	require.NoError(t, err)
	require.Equal(t, []string{`{"Y":["other"]}`}, f.lines(t, "out.jsonl"))

	_, err = run(ctx, e, f.options())
	require.ErrorContains(t, err, "out.jsonl exists: remove it, choose another file, or replace it with --restart")
	_, err = run(ctx, e, o)
	require.NoError(t, err)
}

// TestClaim: a file that another run has renamed since it was opened is that run's output.
func TestClaim(t *testing.T) {
	t.Parallel()
	o := &output{path: filepath.Join(t.TempDir(), "out.jsonl")}
	var err error
	o.file, err = os.OpenFile(o.part(), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer o.file.Close()
	require.NoError(t, os.Rename(o.part(), o.path))
	require.EqualError(t, o.claim(), o.path+": another run has just finished it")
	require.NoError(t, os.WriteFile(o.part(), nil, 0o600))
	require.EqualError(t, o.claim(), o.path+": another run has just finished it")
	require.NoError(t, os.Rename(o.path, o.part()))
	require.NoError(t, o.claim())
}

func TestSetupErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1)
	for want, c := range map[string]struct {
		e      *echo
		change func(*Options)
	}{
		"read the metadata of model x: unknown model":                 {&echo{}, func(o *Options) { o.Model = "x" }},
		"batch size 2: model echo does not support batching":          {&echo{}, func(o *Options) { o.BatchSize = 2 }},
		"batch size 9 is larger than max_batch_size 8 of model echo":  {&echo{maxBatch: 8}, func(o *Options) { o.BatchSize = 9 }},
		"no such file or directory":                                   {&echo{}, func(o *Options) { o.Inputs[0].Path = f.path("no.jsonl") }},
		"cannot write the output: open /no/such/folder/out.json.part": {&echo{}, func(o *Options) { o.Output = "/no/such/folder/out.json" }},
		"it is a folder": {&echo{}, func(o *Options) { o.Output = f.dir }},
		"model echo is decoupled": {&echo{config: func(c *client.ModelConfig) {
			c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
		}}, func(*Options) {}},
		"model echo keeps a state for each sequence": {&echo{config: func(c *client.ModelConfig) {
			c.SchedulingChoice = &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{}}
		}}, func(*Options) {}},
	} {
		o := f.options()
		c.change(&o)
		_, err := run(t.Context(), c.e, o)
		require.ErrorContains(t, err, want)
	}
}

// TestTuner: the number of requests at a time goes up to where the throughput of a simulated
// server no longer grows.
func TestTuner(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2, 3, 8, 30, 1000} {
		u := newTuner(0)
		at := time.Duration(0)
		for range 100000 {
			// Requests take 10 ms on each of the servers.
			at += 10 * time.Millisecond / time.Duration(min(u.now, servers))
			u.answered(1, at)
		}
		require.True(t, u.settled)
		require.GreaterOrEqual(t, u.now, min(servers, maxConcurrency), servers)
		require.LessOrEqual(t, u.now, max(2*servers, firstConcurrency), servers)
	}
	u := newTuner(7)
	require.Equal(t, 7, u.answered(1, time.Hour))
	require.Equal(t, []int{3, 1, 1}, []int{u.refused(), u.refused(), u.refused()})
}
