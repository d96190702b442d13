package repository

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
)

// brittle is a backend whose instances panic as long as broken is true. A model one of
// whose instances has panicked makes no others.
type brittle struct {
	broken, refuse atomic.Bool
	loads          atomic.Int32
	healing        bool        // a model makes other instances
	samples        chan string // gets the first input of each request; nil: none does
}

func (b *brittle) Load(_ context.Context, s backend.Spec) (backend.Model, error) {
	if b.refuse.Load() {
		return nil, errors.New("no luck")
	}
	b.loads.Add(1)
	m := &backendtest.Model{Spec: s}
	var dead atomic.Bool
	m.Make = func(int, backend.Placement) error {
		if dead.Load() {
			return errors.New("this model is broken")
		}
		return nil
	}
	m.BatchFault = func(batch *infer.Batch) backendtest.BatchFault {
		if b.samples != nil {
			text, _ := batch.Requests[0].Inputs[0].Data.Contiguous()
			b.samples <- string(text)
		}
		if !b.broken.Load() {
			return 0
		}
		dead.Store(!b.healing)
		return backendtest.Panic
	}
	return m, nil
}

// breakDown makes all instances of model m panic.
func breakDown(t *testing.T, r *Repository, faulty *brittle) {
	t.Helper()
	faulty.broken.Store(true)
	require.Eventually(t, func() bool {
		m, err := r.Model("m", "")
		require.NoError(t, err)
		defer m.Release()
		resp, err := inferOnce(t, m)
		require.Error(t, err)
		require.Nil(t, resp)
		ready, err := r.ModelReady("m", "")
		require.NoError(t, err)
		return !ready
	}, time.Minute, time.Millisecond)
	faulty.broken.Store(false)
}

func works(t *testing.T, r *Repository, name string) {
	t.Helper()
	m, err := r.Model(name, "")
	require.NoError(t, err)
	defer m.Release()
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	resp.Release()
	ready, err := r.ModelReady(name, "")
	require.NoError(t, err)
	require.True(t, ready)
}

// TestLoadOfABrokenModel: the load of a model that has lost its instances loads it again although
// its files were not changed; a model whose instances work is kept.
func TestLoadOfABrokenModel(t *testing.T) {
	t.Parallel()
	config := strings.Replace(identity, "identity", "brittle", 1)
	override := `{"backend":"brittle","max_batch_size":0,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],` +
		`"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],"parameters":{"kept":{"string_value":"yes"}}}`
	again := func(r *Repository) error { return r.Load(context.Background(), "m", infer.LoadOptions{}) }
	for name, test := range map[string]struct {
		control Control
		first   infer.LoadOptions
		heal    func(r *Repository) error
	}{
		"load":                  {ControlExplicit, infer.LoadOptions{}, again},
		"load with an override": {ControlExplicit, infer.LoadOptions{Config: &override}, again},
		"load with the same override": {ControlExplicit, infer.LoadOptions{Config: &override}, func(r *Repository) error {
			return r.Load(context.Background(), "m", infer.LoadOptions{Config: &override})
		}},
		"load of other instances": {ControlExplicit, infer.LoadOptions{Config: &override}, func(r *Repository) error {
			other := strings.Replace(override, `"max`, `"instance_group":[{"count":2}],"max`, 1)
			return r.Load(context.Background(), "m", infer.LoadOptions{Config: &other})
		}},
		"poll": {ControlPoll, infer.LoadOptions{}, func(r *Repository) error { return r.Poll(context.Background()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faulty := &brittle{}
			r, _, err := open(t, func(o *Options) {
				o.Control, o.Backends["brittle"] = test.control, faulty
			}, tree(t, map[string]string{"m/config.pbtxt": config, "m/1/": ""}))
			require.NoError(t, err)
			if test.control == ControlExplicit {
				require.NoError(t, r.Load(t.Context(), "m", test.first))
			}
			breakDown(t, r, faulty)

			faulty.refuse.Store(true)
			err = test.heal(r)
			require.Equal(t, test.control == ControlExplicit, err != nil, "a poll only logs it")
			require.Regexp(t, "^m:1 READY 0 of [12] instances work: 'm_0(_0)?' is (broken|restarting)", states(r), "the old one stays when the new one fails")

			faulty.refuse.Store(false)
			require.NoError(t, test.heal(r))
			works(t, r, "m")
			require.Equal(t, "m:1 READY", states(r))
			require.EqualValues(t, 2, faulty.loads.Load())
			m, err := r.Model("m", "")
			require.NoError(t, err)
			require.Equal(t, test.first.Config != nil, m.Config().GetParameters()["kept"] != nil, "its configuration stays")
			m.Release()

			require.NoError(t, test.heal(r))
			require.EqualValues(t, 2, faulty.loads.Load(), "one that works is kept")
			waitClosed(t, r)
		})
	}
}

// TestHealingOfAPart: the load of an ensemble heals the models of its steps too.
func TestHealingOfAPart(t *testing.T) {
	t.Parallel()
	faulty := &brittle{}
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends["brittle"] = ControlExplicit, faulty
	}, tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "brittle", 1), "m/1/": "",
		"e/config.pbtxt": `platform: "ensemble"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1
  input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } }`,
		"e/1/": "",
	}))
	require.NoError(t, err)
	require.NoError(t, r.Load(t.Context(), "e", infer.LoadOptions{}))
	works(t, r, "e")
	breakDown(t, r, faulty)
	ready, err := r.ModelReady("e", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.NoError(t, r.Load(t.Context(), "e", infer.LoadOptions{}))
	works(t, r, "e")
	works(t, r, "m")
	require.EqualValues(t, 2, faulty.loads.Load())
}

// TestWarmUpOfARestartedInstance: an instance that takes the place of a broken one
// runs the samples too.
func TestWarmUpOfARestartedInstance(t *testing.T) {
	t.Parallel()
	faulty := &brittle{healing: true, samples: make(chan string, 10)}
	r, _, err := open(t, func(o *Options) { o.Backends["sampled"] = faulty }, tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "sampled", 1) +
			`model_warmup { name: "s" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_INT32 dims: [ 4 ] input_data_file: "sample" } } }`,
		"m/1/": "", "m/warmup/sample": "0123456789abcdef",
	}))
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", faulty.sample())
	faulty.broken.Store(true)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	defer m.Release()
	_, err = inferOnce(t, m)
	require.Error(t, err)
	require.Equal(t, strings.Repeat("\x00", 16), faulty.sample(), "the request that breaks it")
	faulty.broken.Store(false)
	require.Equal(t, "0123456789abcdef", faulty.sample())
	require.Eventually(t, func() bool {
		ready, err := r.ModelReady("m", "")
		return err == nil && ready
	}, time.Minute, time.Millisecond)
}

// sample returns the first input of the next request.
func (b *brittle) sample() string {
	select {
	case text := <-b.samples:
		return text
	case <-time.After(time.Minute):
		return "nothing was run"
	}
}
