package ensemble

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is the model of a step: real instances and a real queue around a backend
// that answers with its first input, by reference, and takes its time.
type fake struct {
	name      string
	cfg       *inferencepb.ModelConfig
	exec      time.Duration
	gap       time.Duration // a decoupled model answers once per element, this far apart
	err       error
	polls     bool // it polls Cancelled
	params    string
	instances int
	dynamic   bool
	quiet     bool // it notes nothing
	flaky     bool // it fails now and then
	occupied  bool // it runs something else when the request comes

	group   *instance.Group
	backend *backendtest.Model
	stats   *stats.Model
	mu      sync.Mutex
	saw     []string
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
	m.backend = &backendtest.Model{Run: m.execute, Answer: func(r *infer.Request) *infer.Response { return m.answer(r, -1) }}
	if !m.quiet {
		m.backend.Begin = time.Now()
	}
	m.stats = stats.NewModel(m.name, "1", 8)
	o := scheduler.Options{Policy: scheduler.NoBatching{}, Slots: m.instances, Stats: m.stats, Alarm: scheduler.NewAlarm()}
	if m.dynamic {
		o.Policy = scheduler.NewDynamicBatching(m.cfg)
	}
	source, slots := scheduler.NewQueue(o)
	m.group = instance.New(instance.Options{
		Name: m.name, Version: "1", Config: m.cfg, Model: m.backend, Placements: make([]backend.Placement, m.instances),
		Source: source, Slots: slots, Stats: m.stats, Log: log,
	})
	if err := m.group.Start(context.Background()); err != nil {
		panic(err)
	}
	if m.occupied {
		other := infer.NewUnpooled()
		other.Sink = newSink()
		if err := m.group.Submit(other); err != nil {
			panic(err)
		}
		other.Release()
	}
}

func (m *fake) execute(_ context.Context, b *infer.Batch) error {
	if !m.quiet {
		m.note(b)
	}
	time.Sleep(m.exec)
	if m.err != nil {
		return m.err
	}
	for _, r := range b.Requests {
		switch {
		case m.flaky && rand.IntN(20) == 0:
			r.Fail(status.New(status.Internal, "flaky"))
		case m.polls && r.Cancelled():
			r.Fail(status.New(status.Cancelled, "seen"))
		case m.cfg.Decoupled():
			m.repeat(r)
		}
	}
	return nil
}

func (m *fake) note(b *infer.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// answer returns the first input, or one element of it, as every requested output. A negative
// element fails.
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

// sight is the part of a request that a backend sees.
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

// begun returns the ms at which the executions began.
func (m *fake) begun() []int {
	var all []int
	for _, b := range m.backend.Batches() {
		all = append(all, int(b.At.Milliseconds()))
	}
	return all
}

func (m *fake) Ready() bool                                  { return m.group.Ready() }
func (m *fake) CheckReady() error                            { return m.group.CheckReady() }
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
