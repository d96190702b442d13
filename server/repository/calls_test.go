package repository

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/store"
)

// relay is a backend that answers with the response of another model, which the parameters
// "model" and "version" name. The parameter "way" selects the call.
type relay struct {
	began chan struct{} // gets one before each call
	let   chan struct{} // each call waits for one; nil: none does
}

func (e relay) Load(_ context.Context, s backend.Spec) (backend.Model, error) {
	models := s.Submitter()
	return &backendtest.Model{Run: func(ctx context.Context, b *infer.Batch) error {
		for _, r := range b.Requests {
			if e.let != nil {
				e.began <- struct{}{}
				<-e.let
			}
			resp, err := relayed(ctx, models, s.Config.GetParameters(), r)
			if err != nil {
				resp = infer.NewResponse()
				resp.Err = err
			}
			r.Respond(resp, true)
		}
		return nil
	}}, nil
}

func relayed(ctx context.Context, models infer.Submitter, p map[string]*inferencepb.ModelParameter, r *infer.Request) (*infer.Response, error) {
	c := r.Child()
	defer c.Release()
	for i := range r.Inputs {
		in := c.AddInput()
		in.Name, in.DataType, in.Shape = r.Inputs[i].Name, r.Inputs[i].DataType, append(in.Shape, r.Inputs[i].Shape...)
		in.Data = r.Inputs[i].Data.Clone()
	}
	target, version := p["model"].GetStringValue(), p["version"].GetStringValue()
	if p["way"].GetStringValue() == "" {
		return call(ctx, models, target, version, c, r)
	}
	c.Unary()
	if err := post(models, target, version, c); err != nil {
		return nil, err
	}
	return c.Wait(ctx)
}

// call runs a request on a model, until its parent is cancelled.
func call(ctx context.Context, s infer.Submitter, model, version string, r, parent *infer.Request) (*infer.Response, error) {
	m, err := s.Acquire(model, version)
	if err != nil {
		r.Release()
		return nil, err
	}
	defer m.Release()
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		for !parent.Cancelled() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	})
	return m.Infer(ctx, r)
}

// post submits a request to a model and holds the model until the request has its final response.
func post(s infer.Submitter, model, version string, r *infer.Request) error {
	m, err := s.Acquire(model, version)
	if err != nil {
		r.Release()
		return err
	}
	r.Sink = &releasing{r.Sink, m}
	return m.Submit(r)
}

// releasing is a sink that releases a model after the final response.
type releasing struct {
	infer.Sink
	model infer.Model
}

func (h *releasing) Send(resp *infer.Response, final bool) {
	if final {
		defer h.model.Release()
	}
	h.Sink.Send(resp, final)
}

// relayTo returns the configuration of a model that relays.
func relayTo(name, version, way string) string {
	return with(strings.Replace(identity, "identity", "relay", 1), "model: "+name, "version: "+version, "way: "+way)
}

func relays(e relay) func(o *Options) {
	return func(o *Options) {
		explicit(o)
		o.Startup, o.Backends["relay"] = []string{"*"}, e
	}
}

func TestEnginesCallModels(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, relays(relay{}), tree(t, map[string]string{
		"to/config.pbtxt": allVersions, "to/1/": "", "to/2/": "",
		"newest/config.pbtxt": relayTo("to", "", ""), "newest/1/": "",
		"named/config.pbtxt": relayTo("to", "1", ""), "named/1/": "",
		"posted/config.pbtxt": relayTo("to", "1", "post"), "posted/1/": "",
		"twice/config.pbtxt": relayTo("named", "", ""), "twice/1/": "",
		"lost/config.pbtxt": relayTo("nowhere", "", ""), "lost/1/": "",
		"lostpost/config.pbtxt": relayTo("to", "9", "post"), "lostpost/1/": "",
	}))
	require.NoError(t, err)
	count := func(version string) uint64 {
		s, err := r.Statistics("to", version)
		require.NoError(t, err)
		return s.ModelStats[0].InferenceCount
	}
	for _, name := range []string{"newest", "named", "posted", "twice"} {
		works(t, r, name)
	}
	require.EqualValues(t, 3, count("1"))
	require.EqualValues(t, 1, count("2"))
	for name, want := range map[string]string{
		"lost":     "Request for unknown model: 'nowhere' is not found",
		"lostpost": "Request for unknown model: 'to' version 9 is not found",
	} {
		m, err := r.Model(name, "")
		require.NoError(t, err)
		_, err = inferOnce(t, m)
		require.EqualError(t, err, want)
		m.Release()
	}
}

// TestModelsCallTheirOwnSpace: of several models of a name, a model finds the one in its
// model's own space, or else the only one.
func TestModelsCallTheirOwnSpace(t *testing.T) {
	t.Parallel()
	first := tree(t, map[string]string{
		"to/config.pbtxt": identity, "to/1/": "", "mine/config.pbtxt": relayTo("to", "", ""), "mine/1/": "",
		"far/config.pbtxt": relayTo("other", "", ""), "far/1/": "",
	})
	second := tree(t, map[string]string{"to/config.pbtxt": identity, "to/1/": "", "other/config.pbtxt": identity, "other/1/": ""})
	r, _, err := open(t, func(o *Options) {
		relays(relay{})(o)
		o.Namespacing = true
	}, first, second)
	require.NoError(t, err)
	works(t, r, "mine")
	works(t, r, "far")
	for id, n := range map[store.ID]uint64{{Namespace: first, Name: "to"}: 1, {Namespace: second, Name: "to"}: 0, {Namespace: second, Name: "other"}: 1} {
		require.Equal(t, n, r.actual.Snapshot().Model(id).Newest().Stats().Counters().Success.Count, id.String())
	}
}

// TestCallsInFlight: a request that was accepted may call other models that are reloaded or
// unloaded meanwhile, unless they are taken out of service before the call.
func TestCallsInFlight(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"", "post"} {
		for name, test := range map[string]struct {
			end  func(r *Repository) error
			want string
		}{
			"drain":                {func(r *Repository) error { return r.Drain(context.Background()) }, ""},
			"unload of the caller": {func(r *Repository) error { return r.Unload(context.Background(), "from", true) }, ""},
			"unload of the callee": {func(r *Repository) error { return r.Unload(context.Background(), "to", true) }, "'to' has no available versions"},
		} {
			t.Run(fmt.Sprintf("%s %s", name, way), func(t *testing.T) {
				t.Parallel()
				e := relay{began: make(chan struct{}, 1), let: make(chan struct{})}
				r, _, err := open(t, relays(e), tree(t, map[string]string{
					"to/config.pbtxt": identity, "to/1/": "", "from/1/": "",
					"from/config.pbtxt":  relayTo("to", "", way) + "instance_group { count: 2 kind: KIND_CPU }",
					"front/config.pbtxt": strings.NewReplacer(`"IN"`, `"INPUT0"`, `"OUT"`, `"OUTPUT0"`, "-1 ]", "4 ]").Replace(chain("from")), "front/1/": "",
				}))
				require.NoError(t, err)
				answer := make(chan error, 2)
				for _, name := range []string{"from", "front"} {
					m, err := r.Model(name, "")
					require.NoError(t, err)
					go func() {
						defer m.Release()
						resp, err := inferOnce(t, m)
						if err == nil {
							resp.Release()
						}
						answer <- err
					}()
				}
				<-e.began // both requests were accepted
				<-e.began
				ended := make(chan error, 1)
				go func() { ended <- test.end(r) }()
				require.Eventually(t, func() bool {
					for _, v := range r.openVersions() {
						if v.Stopped() {
							return true
						}
					}
					for _, name := range []string{"from", "to"} {
						if ready, err := r.ModelReady(name, ""); err == nil && !ready {
							return true
						}
					}
					return false
				}, time.Minute, time.Millisecond)
				close(e.let)
				for range 2 {
					if err := <-answer; test.want == "" {
						require.NoError(t, err)
					} else {
						require.ErrorContains(t, err, test.want)
					}
				}
				require.NoError(t, <-ended)
			})
		}
	}
}

// TestAModelThatCallsItself: a call that waits for its own instance ends with the caller's
// deadline, and the instance continues to serve.
func TestAModelThatCallsItself(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, relays(relay{}), tree(t, map[string]string{
		"self/config.pbtxt": relayTo("self", "", ""), "self/1/": "",
	}))
	require.NoError(t, err)
	m, err := r.Model("self", "")
	require.NoError(t, err)
	defer m.Release()
	t.Run("waited for", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		q := plain()
		_, err := m.Infer(ctx, q)
		require.Equal(t, status.Cancelled, status.CodeOf(err), "%v", err)
		q.Release()
	})
	t.Run("submitted", func(t *testing.T) {
		q := plain()
		got := make(infertest.Errors, 1)
		q.Sink = got
		require.NoError(t, m.Submit(q))
		require.Eventually(t, func() bool { return q.State() == infer.Executing }, time.Minute, time.Millisecond)
		q.Cancel()
		require.Equal(t, status.Cancelled, status.CodeOf(<-got))
		q.Release()
	})
}

// plain is a request of an identity model.
func plain() *infer.Request {
	q := infer.NewRequest()
	in := q.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape, 4)
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 16)))
	return q
}

// TestCallsUnderStress calls through models while they are loaded and unloaded. Every
// request gets one final response, and nothing leaks.
func TestCallsUnderStress(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, relays(relay{}), tree(t, map[string]string{
		"to/config.pbtxt": identity, "to/1/": "", "from/config.pbtxt": relayTo("to", "", ""), "from/1/": "",
		"posts/config.pbtxt": relayTo("from", "", "post"), "posts/1/": "",
	}))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var answered atomic.Int64
	done := make(chan struct{}, 3)
	for _, name := range []string{"from", "posts", "posts"} {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				m, err := r.Model(name, "")
				if err != nil {
					continue
				}
				resp, err := inferOnce(t, m)
				if err == nil {
					answered.Add(1)
					resp.Release()
				} else if code := status.CodeOf(err); code != status.NotFound && code != status.Unavailable {
					t.Errorf("infer: %v", err)
				}
				m.Release()
			}
		}()
	}
	for i := range 50 {
		name := []string{"to", "from"}[i%2]
		if err := r.Unload(t.Context(), name, false); err != nil {
			t.Errorf("unload: %v", err)
		}
		if err := r.Load(t.Context(), name, infer.LoadOptions{}); err != nil {
			t.Errorf("load: %v", err)
		}
		before := answered.Load()
		require.Eventually(t, func() bool { return answered.Load() > before }, time.Minute, time.Millisecond)
	}
	stop()
	for range 3 {
		<-done
	}
}
