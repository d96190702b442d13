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
	"triton/server/backend/builtin"
	"triton/server/infer"
)

// brittle is an engine whose instances panic as long as it is told to.
type brittle struct {
	builtin.Identity
	broken, refuse *atomic.Bool
	loads          *atomic.Int32
}

func newBrittle() brittle {
	return brittle{broken: &atomic.Bool{}, refuse: &atomic.Bool{}, loads: &atomic.Int32{}}
}

type brittleModel struct {
	backend.Model
	engine brittle
	dead   *atomic.Bool // an instance of it panicked: it makes no others
}

type brittleInstance struct {
	backend.Instance
	of brittleModel
}

func (b brittle) Load(ctx context.Context, s backend.Spec) (backend.Model, error) {
	if b.refuse.Load() {
		return nil, errors.New("no luck")
	}
	b.loads.Add(1)
	m, err := b.Identity.Load(ctx, s)
	return brittleModel{m, b, &atomic.Bool{}}, err
}

func (m brittleModel) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	if m.dead.Load() {
		return nil, errors.New("this model is broken")
	}
	i, err := m.Model.NewInstance(ctx, at)
	return brittleInstance{i, m}, err
}

func (i brittleInstance) Execute(ctx context.Context, b *infer.Batch) error {
	if i.of.engine.broken.Load() {
		i.of.dead.Store(true)
		panic("broken")
	}
	return i.Instance.Execute(ctx, b)
}

// breakDown makes all instances of model m panic.
func breakDown(t *testing.T, r *Repository, engine brittle) {
	t.Helper()
	engine.broken.Store(true)
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
	}, 10*time.Second, time.Millisecond)
	engine.broken.Store(false)
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

// TestLoadOfABrokenModel: a load of a model that has lost its instances makes it
// anew, though none of its files was changed; one whose instances work is kept.
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
			engine := newBrittle()
			r, _, err := open(t, func(o *Options) {
				o.Control, o.Backends["brittle"] = test.control, engine
			}, tree(t, map[string]string{"m/config.pbtxt": config, "m/1/": ""}))
			require.NoError(t, err)
			if test.control == ControlExplicit {
				require.NoError(t, r.Load(t.Context(), "m", test.first))
			}
			breakDown(t, r, engine)

			engine.refuse.Store(true)
			err = test.heal(r)
			require.Equal(t, test.control == ControlExplicit, err != nil, "a poll only logs it")
			require.Regexp(t, "^m:1 READY 0 of [12] instances work: 'm_0(_0)?' is (broken|restarting)", states(r), "the old one stays when the new one fails")

			engine.refuse.Store(false)
			require.NoError(t, test.heal(r))
			works(t, r, "m")
			require.Equal(t, "m:1 READY", states(r))
			require.EqualValues(t, 2, engine.loads.Load())
			m, err := r.Model("m", "")
			require.NoError(t, err)
			require.Equal(t, test.first.Config != nil, m.Config().GetParameters()["kept"] != nil, "its configuration stays")
			m.Release()

			require.NoError(t, test.heal(r))
			require.EqualValues(t, 2, engine.loads.Load(), "one that works is kept")
			settle(t, r)
		})
	}
}

// TestHealingOfAPart: the load of an ensemble heals the models of its steps too.
func TestHealingOfAPart(t *testing.T) {
	t.Parallel()
	engine := newBrittle()
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends["brittle"] = ControlExplicit, engine
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
	breakDown(t, r, engine)
	ready, err := r.ModelReady("e", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.NoError(t, r.Load(t.Context(), "e", infer.LoadOptions{}))
	works(t, r, "e")
	works(t, r, "m")
	require.EqualValues(t, 2, engine.loads.Load())
}

// TestWarmUpOfARestartedInstance: an instance that takes the place of a broken one
// runs the samples too.
func TestWarmUpOfARestartedInstance(t *testing.T) {
	t.Parallel()
	engine := sampled{brittle: newBrittle(), samples: make(chan []byte, 10)}
	r, _, err := open(t, func(o *Options) { o.Backends["sampled"] = engine }, tree(t, map[string]string{
		"m/config.pbtxt": strings.Replace(identity, "identity", "sampled", 1) +
			`model_warmup { name: "s" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_INT32 dims: [ 4 ] input_data_file: "sample" } } }`,
		"m/1/": "", "m/warmup/sample": "0123456789abcdef",
	}))
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", engine.sample())
	engine.broken.Store(true)
	m, err := r.Model("m", "")
	require.NoError(t, err)
	defer m.Release()
	_, err = inferOnce(t, m)
	require.Error(t, err)
	require.Equal(t, strings.Repeat("\x00", 16), engine.sample(), "the request that breaks it")
	engine.broken.Store(false)
	require.Equal(t, "0123456789abcdef", engine.sample())
	require.Eventually(t, func() bool {
		ready, err := r.ModelReady("m", "")
		return err == nil && ready
	}, 10*time.Second, time.Millisecond)
}

// sampled is an engine whose instances show their inputs before they break.
type sampled struct {
	brittle
	samples chan []byte
}

func (e sampled) sample() string {
	select {
	case text := <-e.samples:
		return string(text)
	case <-time.After(10 * time.Second):
		return "nothing was run"
	}
}

type sampledModel struct {
	backend.Model
	engine sampled
}

type sampledInstance struct {
	backend.Instance
	engine sampled
}

func (e sampled) Load(ctx context.Context, s backend.Spec) (backend.Model, error) {
	m, err := e.Identity.Load(ctx, s)
	return sampledModel{m, e}, err
}

func (m sampledModel) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	i, err := m.Model.NewInstance(ctx, at)
	return sampledInstance{i, m.engine}, err
}

func (i sampledInstance) Execute(ctx context.Context, b *infer.Batch) error {
	for _, r := range b.Requests {
		text, _ := r.Inputs[0].Data.Contiguous()
		i.engine.samples <- append([]byte(nil), text...)
	}
	if i.engine.broken.Load() {
		panic("broken")
	}
	return i.Instance.Execute(ctx, b)
}
