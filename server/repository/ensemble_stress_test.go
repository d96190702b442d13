package repository

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// chain is an ensemble of steps over models from IN to OUT.
func chain(models ...string) string {
	var b strings.Builder
	b.WriteString(`platform: "ensemble"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
`)
	from := "IN"
	for i, m := range models {
		to := "t" + strings.Repeat("t", i)
		if i == len(models)-1 {
			to = "OUT"
		}
		b.WriteString(`step { model_name: "` + m + `" model_version: -1 input_map { key: "IN" value: "` + from + `" } output_map { key: "OUT" value: "` + to + "\" } }\n")
		from = to
	}
	return b.String() + "}\n"
}

const link = `backend: "python"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
`

func links(t *testing.T) string {
	return tree(t, map[string]string{
		"a/config.pbtxt": link, "a/1/f": "", "b/config.pbtxt": link, "b/1/f": "", "c/config.pbtxt": link, "c/1/f": "",
		"ab/config.pbtxt": chain("a", "b"), "ab/1/": "", "bc/config.pbtxt": chain("b", "c"), "bc/1/": "",
		"abab/config.pbtxt": chain("ab", "a", "b"), "abab/1/": "",
	})
}

// TestEnsemblesUnderLoad loads and unloads ensembles and their models from
// several goroutines while requests run. A request gets its answer or an error that a
// model is not there; nothing leaks.
func TestEnsemblesUnderLoad(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, func(o *Options) { o.Control, o.Backends = ControlExplicit, backend.Set{"python": snake} }, links(t))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	loop := func(step func(i int)) {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				step(i)
			}
		})
	}
	names := []string{"ab", "bc", "abab", "a", "b", "c"}
	var answered atomic.Int64
	for range 2 {
		loop(func(i int) {
			err := ask(t, r, names[i%3])
			switch {
			case err == nil:
				answered.Add(1)
			case status.CodeOf(err) != status.NotFound && status.CodeOf(err) != status.Unavailable:
				t.Errorf("infer: %v", err)
			}
		})
	}
	for n := range 3 {
		loop(func(i int) {
			name := names[(i*(n+1)+n)%len(names)]
			if i%3 == n {
				if err := r.Unload(t.Context(), name, i%2 == 0); err != nil {
					t.Errorf("unload: %v", err)
				}
			} else if err := r.Load(t.Context(), name, infer.LoadOptions{}); err != nil {
				t.Errorf("load: %v", err)
			}
		})
	}
	time.Sleep(time.Second)
	require.Eventually(t, func() bool { return answered.Load() > 0 }, time.Minute, time.Millisecond)
	stop()
	wg.Wait()
	require.NoError(t, r.Load(t.Context(), "abab", infer.LoadOptions{}))
	require.NoError(t, ask(t, r, "abab"))
}

// A request of an ensemble that has begun finishes, also when its models are unloaded or
// the server drains meanwhile.
func TestEnsemblesInFlight(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *Repository) error{
		"unload":      func(r *Repository) error { return r.Unload(context.Background(), "ab", true) },
		"unload of b": func(r *Repository) error { return r.Unload(context.Background(), "b", false) },
		"drain":       func(r *Repository) error { return r.Drain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := &gate{began: make(chan struct{}, 8), let: make(chan struct{})}
			r, _, err := open(t, func(o *Options) {
				o.Control, o.Startup, o.Backends = ControlExplicit, []string{"ab"}, backend.Set{"python": gate}
			}, links(t))
			require.NoError(t, err)
			answer := make(chan error)
			go func() { answer <- ask(t, r, "ab") }()
			<-gate.began // a runs
			ended := make(chan error)
			go func() { ended <- end(r) }()
			require.Eventually(t, func() bool {
				ready, err := r.ModelReady("ab", "")
				return err != nil || !ready
			}, time.Minute, time.Millisecond)
			close(gate.let)
			require.NoError(t, <-answer)
			require.NoError(t, <-ended)
		})
	}
}

// gate is a backend whose executions wait for let.
type gate struct{ began, let chan struct{} }

func (g *gate) Load(_ context.Context, s backend.Spec) (backend.Model, error) {
	return &backendtest.Model{Spec: s, Run: func(context.Context, *infer.Batch) error {
		g.began <- struct{}{}
		<-g.let
		return nil
	}}, nil
}

// A poll takes an ensemble out of service with a model that no longer fits it, and loads it
// again with one that does.
func TestEnsemblesFollowAPoll(t *testing.T) {
	t.Parallel()
	dir := links(t)
	r, out, err := open(t, func(o *Options) { o.Control, o.Backends = ControlPoll, backend.Set{"python": snake} }, dir)
	require.NoError(t, err)
	require.NoError(t, ask(t, r, "abab"))
	write(t, dir, "a/config.pbtxt", strings.Replace(link, "INT32", "FP32", 2))
	require.NoError(t, r.Poll(t.Context()))
	require.Error(t, ask(t, r, "ab"))
	require.Error(t, ask(t, r, "abab"))
	require.NoError(t, ask(t, r, "bc"))
	require.False(t, r.Ready() && ask(t, r, "ab") == nil)
	require.Contains(t, out.messages(), "Invalid argument: in ensemble ab, ensemble tensor IN: inconsistent data type: TYPE_INT32 is inferred from model ab while TYPE_FP32 is inferred from model a")
	require.Contains(t, out.messages(), "ab/config.pbtxt:5:")
	write(t, dir, "a/config.pbtxt", link)
	require.NoError(t, r.Poll(t.Context()))
	require.NoError(t, ask(t, r, "abab"))
}

// The counters of an ensemble go on when a model of it is loaded again.
func TestEnsembleCountersGoOn(t *testing.T) {
	t.Parallel()
	dir := links(t)
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Startup, o.Backends = ControlExplicit, []string{"ab"}, backend.Set{"python": snake}
	}, dir)
	require.NoError(t, err)
	require.NoError(t, ask(t, r, "ab"))
	write(t, dir, "a/1/f", "new")
	require.NoError(t, r.Load(t.Context(), "a", infer.LoadOptions{}))
	require.NoError(t, ask(t, r, "ab"))
	for name, n := range map[string]uint64{"ab": 2, "b": 2, "a": 1} {
		s, err := r.Statistics(name, "")
		require.NoError(t, err)
		require.Equal(t, n, s.ModelStats[0].InferenceCount, name)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644))
}

// An ensemble is not ready when a model of it has lost all its instances.
func TestEnsembleOfABrokenModel(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/config.pbtxt": strings.ReplaceAll(link, "python", "panics"), "a/1/": "", "b/config.pbtxt": link, "b/1/": "", "ab/config.pbtxt": chain("b", "a"), "ab/1/": "",
	})
	r, _, err := open(t, func(o *Options) { o.Backends = backend.Set{"python": snake, "panics": panics} }, dir)
	require.NoError(t, err)
	ready, err := r.ModelReady("ab", "")
	require.True(t, err == nil && ready)
	require.EqualError(t, ask(t, r, "ab"), "in ensemble 'ab', instance 'a_0' of model 'a' broke down during execution")
	require.ErrorContains(t, ask(t, r, "ab"), "in ensemble 'ab', [request id: <id_unknown>] model 'a' has no working instance left")
	ready, err = r.ModelReady("ab", "")
	require.True(t, err == nil && !ready)
	ready, err = r.ModelReady("b", "")
	require.True(t, err == nil && ready)
}

// panics is a backend whose only instance panics.
var panics = backendtest.Func(func(context.Context, backend.Spec) (backend.Model, error) {
	return &backendtest.Model{Make: backendtest.AtMost(1), BatchFault: backendtest.Panic.Always}, nil
})
