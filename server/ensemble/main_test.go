package ensemble

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is the model of a step: real instances and a real queue around an engine
// that answers with its first input, by reference, and takes its time.
type fake struct {
	name      string
	cfg       *inferencepb.ModelConfig
	exec      time.Duration
	gap       time.Duration // a decoupled model answers once per element, this far apart
	err       error
	polls     bool // it looks whether anybody waits
	params    string
	instances int
	dynamic   bool
	quiet     bool // it notes nothing
	flaky     bool // it fails now and then
	occupied  bool // it runs something else when the request comes

	group *instance.Group
	stats *stats.Model
	start time.Time
	mu    sync.Mutex
	ran   []int // ms, when each execution began
	saw   []string
}

func model(name, config string) *fake {
	c, err := modelconfig.Parse(name, []byte("name: \""+name+"\" backend: \"fake\" "+config))
	if err != nil {
		panic(err)
	}
	c.Normalize()
	return &fake{name: name, cfg: c.ModelConfig, instances: 1, dynamic: c.GetDynamicBatching() != nil}
}

// one is a model from IN to OUT.
func one(name string, ms int) *fake {
	m := model(name, `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }`)
	m.exec = time.Duration(ms) * time.Millisecond
	return m
}

// two is a model from IN and IN2 to OUT.
func two(name string, ms int) *fake {
	m := one(name, ms)
	m.cfg.Input = append(m.cfg.Input, &inferencepb.ModelInput{Name: "IN2", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}})
	return m
}

// repeat is a decoupled model that answers once per element.
func repeat(name string, gap int) *fake {
	m := one(name, 0)
	m.gap = time.Duration(gap) * time.Millisecond
	m.cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	return m
}

func (m *fake) open(log *slog.Logger) {
	m.start = time.Now()
	m.stats = stats.NewModel(m.name, "1", 8)
	o := scheduler.Options{Policy: scheduler.Direct{}, Seats: m.instances, Stats: m.stats, Alarm: scheduler.NewClock()}
	if m.dynamic {
		o.Policy = dynamic.New(m.cfg)
	}
	source, seats := scheduler.NewQueue(o)
	m.group = instance.New(instance.Options{
		Name: m.name, Version: "1", Config: m.cfg, Model: m, Placements: make([]backend.Placement, m.instances),
		Source: source, Seats: seats, Stats: m.stats, Log: log,
	})
	if err := m.group.Start(context.Background()); err != nil {
		panic(err)
	}
	if m.occupied {
		other := infer.NewUnpooled()
		other.Sink = newTape()
		if err := m.group.Submit(other); err != nil {
			panic(err)
		}
		other.Release()
	}
}

func (m *fake) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return m, nil
}
func (m *fake) Close() error { return nil }

func (m *fake) Execute(_ context.Context, b *infer.Batch) error {
	if !m.quiet {
		m.note(b)
	}
	b.InputEnd = infer.Now()
	if m.exec > 0 {
		time.Sleep(m.exec)
	}
	b.OutputStart = infer.Now()
	if m.err != nil {
		return m.err
	}
	for _, r := range b.Requests {
		switch {
		case m.flaky && rand.IntN(20) == 0:
			r.Fail(status.New(status.Internal, "flaky"))
		case m.polls && r.Cancelled():
			r.Fail(status.New(status.Cancelled, "seen"))
		case m.cfg.GetModelTransactionPolicy().GetDecoupled():
			m.repeat(r)
		default:
			r.Respond(m.answer(r, -1), true)
		}
	}
	return nil
}

func (m *fake) note(b *infer.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran = append(m.ran, int(time.Since(m.start).Milliseconds()))
	for _, r := range b.Requests {
		m.saw = append(m.saw, sight(r))
	}
}

func (m *fake) repeat(r *infer.Request) {
	n := 0
	if in := r.Input("IN"); in != nil {
		n = in.Data.Len() / 4
	}
	for i := range n {
		time.Sleep(m.gap)
		r.Respond(m.answer(r, i), false)
	}
	r.Respond(nil, true)
}

// answer has the first input, or one element of it, as every output that is
// asked for. A negative element fails.
func (m *fake) answer(r *infer.Request, element int) *infer.Response {
	resp := infer.NewResponse()
	for _, out := range m.cfg.Output {
		if len(r.Inputs) == 0 || !r.Wants(out.Name) || strings.HasPrefix(out.Name, "ABSENT") {
			continue
		}
		in := &r.Inputs[0]
		if element < 0 {
			resp.Add(out.Name, in.DataType, in.Shape, in.Data.Clone())
			continue
		}
		s := in.Data.Segment(0)
		resp.Add(out.Name, in.DataType, tensor.Shape{1}, tensor.SliceData(s.Buffer, s.Off+4*element, 4))
	}
	for _, p := range strings.Fields(m.params) {
		resp.Parameters = append(resp.Parameters, parameter(p))
	}
	return resp
}

// sight is what an engine sees of a request.
func sight(r *infer.Request) string {
	var names []string
	for i := range r.Inputs {
		names = append(names, r.Inputs[i].Name+r.Inputs[i].Shape.String())
	}
	for i := range r.Outputs {
		names = append(names, r.Outputs[i].Name)
	}
	return fmt.Sprintf("%s %s seq=%d%s start=%t end=%t prio=%d timeout=%d params=%d", r.ID, strings.Join(names, ","),
		r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd, r.Priority, r.TimeoutMicros, len(r.Parameters))
}

func (m *fake) begun() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ran)
}

func (m *fake) Name() string                                 { return m.name }
func (m *fake) Version() string                              { return "1" }
func (m *fake) Config() *inferencepb.ModelConfig             { return m.cfg }
func (m *fake) Metadata() *inferencepb.ModelMetadataResponse { return nil }
func (m *fake) Labels(string) []string                       { return nil }
func (m *fake) Release()                                     {}
func (m *fake) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	m.admit(r)
	return m.group.Infer(ctx, r)
}

func (m *fake) Submit(r *infer.Request) error {
	m.admit(r)
	err := m.group.Submit(r)
	if err != nil {
		r.Release()
	}
	return err
}

func (m *fake) admit(r *infer.Request) {
	r.ModelName, r.ModelVersion = m.name, "1"
	if m.cfg.GetMaxBatchSize() > 0 && len(r.Inputs) > 0 {
		r.Batch = int(r.Inputs[0].Shape[0])
	}
}

// rig is an ensemble over fakes.
type rig struct {
	*Ensemble
	models map[string]*fake
	stats  *stats.Model
	pool   *tensor.Pool
	lost   error // of Find
}

// build makes an ensemble of a configuration without its steps' models. Close
// it in the same bubble.
func build(t testing.TB, config string, models ...*fake) *rig {
	c, err := modelconfig.Parse("e", []byte("name: \"e\" platform: \"ensemble\" "+config))
	require.NoError(t, err)
	c.Normalize()
	require.Empty(t, c.Validate())
	r := &rig{models: map[string]*fake{}, stats: stats.NewModel("e", "1", 8), pool: tensor.NewPool()}
	log := slog.New(slog.DiscardHandler)
	for _, m := range models {
		r.models[m.name] = m
		m.open(log)
	}
	var parts []*inferencepb.ModelConfig
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		parts = append(parts, r.models[s.GetModelName()].cfg)
	}
	require.Empty(t, c.ValidateParts(func(i int) *inferencepb.ModelConfig { return parts[i] }))
	if modelconfig.Decoupled(parts) {
		c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	}
	steps := c.GetEnsembleScheduling().GetStep()
	r.Ensemble = New(Options{
		Config: c.ModelConfig, Parts: parts, Stats: r.stats, Log: log,
		Find: func(i int) (infer.Model, error) { return r.models[steps[i].GetModelName()], r.lost },
	})
	return r
}

// close drains everything and sees that no memory is left.
func (r *rig) close(t testing.TB) {
	require.NoError(t, r.Drain(context.Background()))
	for _, m := range r.models {
		require.NoError(t, m.group.Drain(context.Background()))
	}
	require.Zero(t, r.pool.Outstanding())
}

// request has the inputs, given as "IN=1,2".
func (r *rig) request(batch int, inputs ...string) *infer.Request {
	q := infer.NewUnpooled()
	q.ModelName, q.ModelVersion, q.Batch, q.Pool = "e", "1", batch, r.pool
	for _, text := range inputs {
		name, values, _ := strings.Cut(text, "=")
		var all []int32
		for v := range strings.SplitSeq(values, ",") {
			var n int32
			if _, err := fmt.Sscan(v, &n); err == nil {
				all = append(all, n)
			}
		}
		in := q.AddInput()
		in.Name, in.DataType = name, tensor.Int32
		in.Shape = append(in.Shape, int64(len(all)))
		if batch > 0 {
			in.Shape = tensor.Shape{int64(batch), int64(len(all) / batch)}
		}
		b := r.pool.Get(max(4*len(all), 1))
		for i, v := range all {
			b.Bytes()[4*i] = byte(v)
		}
		in.Data = tensor.SliceData(b, 0, 4*len(all))
		b.Release()
	}
	return q
}

// parameter reads "name:i5", "name:sX" or "name:btrue".
func parameter(text string) kserve.Parameter {
	name, value, _ := strings.Cut(text, ":")
	p := kserve.Parameter{Name: name}
	switch value[0] {
	case 'i':
		p.Kind = kserve.ParamInt
		_, _ = fmt.Sscan(value[1:], &p.Int)
	case 's':
		p.Kind, p.String = kserve.ParamString, value[1:]
	default:
		p.Kind, p.Bool = kserve.ParamBool, value == "btrue"
	}
	return p
}

// tape is a sink that notes what comes and when.
type tape struct {
	start time.Time
	mu    sync.Mutex
	got   []string
	done  chan struct{}
}

func newTape() *tape { return &tape{start: time.Now(), done: make(chan struct{})} }

func (s *tape) Send(resp *infer.Response, final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%d:", time.Since(s.start).Milliseconds())
	if resp != nil {
		text += " " + shown(resp)
		resp.Release()
	}
	if final {
		text += " final"
	}
	s.got = append(s.got, text)
	if final {
		close(s.done)
	}
}

func shown(resp *infer.Response) string {
	if resp.Err != nil {
		return status.CodeOf(resp.Err).String() + ": " + resp.Err.Error()
	}
	var parts []string
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		bytes, _ := o.Data.Contiguous()
		var values []string
		for j := 0; j+4 <= len(bytes); j += 4 {
			values = append(values, fmt.Sprint(int8(bytes[j])))
		}
		parts = append(parts, o.Name+o.Shape.String()+"="+strings.Join(values, ","))
	}
	return strings.Join(parts, " ")
}

func requested(output string) kserve.RequestedOutput { return kserve.RequestedOutput{Name: output} }

func failed(err error) *infer.Response {
	resp := infer.NewResponse()
	resp.Err = err
	return resp
}
