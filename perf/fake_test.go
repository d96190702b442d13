package perf_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server without a network: every request takes latency on the clock of
// the test.
type fake struct {
	protocol client.Protocol
	latency  func(n uint64) time.Duration
	fail     func(n uint64) error
	dialTime time.Duration
	configs  map[string]*client.ModelConfig
	// grew are the models whose counters follow the requests, and how fast.
	grew       map[string]uint64
	extensions []string
	silent     bool                   // describes nothing, until the context ends
	statistics func() error           // fails Statistics; may be nil
	traces     []client.TraceSettings // that were set
	setTraces  func(n int) error      // fails change n of the settings; may be nil
	started    atomic.Uint64
	requests   atomic.Uint64 // completed
}

func config(name string) *client.ModelConfig {
	return &client.ModelConfig{
		Name: name, MaxBatchSize: 8,
		Input:  []*inferencepb.ModelInput{{Name: "INPUT0"}},
		Output: []*inferencepb.ModelOutput{{Name: "OUTPUT0"}},
	}
}

func cached(c *client.ModelConfig) *client.ModelConfig {
	c.ResponseCache = &inferencepb.ModelResponseCache{Enable: true}
	return c
}

func sequence(name string) *client.ModelConfig {
	c := config(name)
	c.SchedulingChoice = &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{}}
	return c
}

func ensemble(name string, composing ...string) *client.ModelConfig {
	c := config(name)
	c.Platform = "ensemble"
	e := &inferencepb.ModelEnsembling{}
	for _, m := range composing {
		e.Step = append(e.Step, &inferencepb.ModelEnsembling_Step{ModelName: m, ModelVersion: -1})
	}
	c.SchedulingChoice = &inferencepb.ModelConfig_EnsembleScheduling{EnsembleScheduling: e}
	return c
}

func newFake(latency time.Duration, configs ...*client.ModelConfig) *fake {
	f := &fake{
		latency:    func(uint64) time.Duration { return latency },
		configs:    map[string]*client.ModelConfig{},
		grew:       map[string]uint64{},
		extensions: []string{"statistics"},
	}
	if len(configs) == 0 {
		configs = append(configs, config("simple"))
	}
	for _, c := range configs {
		f.configs[c.GetName()] = c
		f.grew[c.GetName()] = 1
	}
	return f
}

func (f *fake) dial(context.Context) (perf.Target, error) { return f, nil }

func (f *fake) Protocol() client.Protocol { return f.protocol }

func (f *fake) find(name string) (*client.ModelConfig, error) {
	if c := f.configs[name]; c != nil {
		return c, nil
	}
	return nil, status.New(status.InvalidArg, "Request for unknown model: '%s' is not found", name)
}

func (f *fake) ServerMetadata(context.Context) (*client.ServerMetadata, error) {
	return &client.ServerMetadata{Extensions: f.extensions}, nil
}

func (f *fake) ModelMetadata(ctx context.Context, name, _ string) (*client.ModelMetadata, error) {
	if f.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := f.find(name); err != nil {
		return nil, err
	}
	t := func(n string) []*client.TensorMetadata {
		return []*client.TensorMetadata{{Name: n, Datatype: "INT32", Shape: []int64{-1, 16}}}
	}
	return &client.ModelMetadata{Name: name, Versions: []string{"1"}, Inputs: t("INPUT0"), Outputs: t("OUTPUT0")}, nil
}

func (f *fake) ModelConfig(_ context.Context, name, _ string) (*client.ModelConfig, error) {
	return f.find(name)
}

func (f *fake) Statistics(_ context.Context, name, _ string) ([]*client.ModelStatistics, error) {
	if f.statistics != nil {
		if err := f.statistics(); err != nil {
			return nil, err
		}
	}
	var all []*client.ModelStatistics
	for m, factor := range f.grew {
		if name != "" && m != name {
			continue
		}
		n := f.requests.Load() * factor
		each := func(us uint64) *inferencepb.StatisticDuration {
			return &inferencepb.StatisticDuration{Count: n, Ns: n * us * 1000}
		}
		s := &inferencepb.InferStatistics{
			Success: each(100), Queue: each(10), ComputeInput: each(5), ComputeInfer: each(60), ComputeOutput: each(20),
		}
		if f.configs[m].GetResponseCache().GetEnable() {
			s.CacheHit, s.CacheMiss = each(3), each(4)
		}
		all = append(all, &client.ModelStatistics{
			Name: m, Version: "1", InferenceCount: n, ExecutionCount: n, InferenceStats: s,
			BatchStats: []*client.BatchStatistics{{BatchSize: 1, ComputeInput: each(5), ComputeInfer: each(60), ComputeOutput: each(20)}},
		})
	}
	return all, nil
}

func (f *fake) TraceSettings(context.Context, string) (client.TraceSettings, error) {
	return client.TraceSettings{"trace_level": {"OFF"}, "trace_rate": {"1000"}}, nil
}

func (f *fake) SetTraceSettings(_ context.Context, model string, change client.TraceSettings) (client.TraceSettings, error) {
	f.traces = append(f.traces, change)
	if f.setTraces != nil {
		if err := f.setTraces(len(f.traces)); err != nil {
			return nil, err
		}
	}
	return change, nil
}

func (f *fake) Prepare(*kserve.Request) (*lane.Prepared, error) { return &lane.Prepared{}, nil }

func (f *fake) PrepareSequence(*kserve.Request) (*lane.Prepared, error) { return &lane.Prepared{}, nil }

func (f *fake) Decode(*lane.Exchange, *kserve.Response) error { return nil }

func (f *fake) Close() error { return nil }

func (f *fake) Dial(ctx context.Context) (lane.Conn, error) {
	select {
	case <-time.After(f.dialTime):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &fakeLane{f, make(chan struct{}), atomic.Bool{}}, nil
}

type fakeLane struct {
	f      *fake
	closed chan struct{}
	once   atomic.Bool
}

func (l *fakeLane) Do(ctx context.Context, _ *lane.Prepared, x *lane.Exchange) error {
	x.Start = lane.Now()
	n := l.f.started.Add(1)
	select {
	case <-time.After(l.f.latency(n)):
	case <-l.closed:
		return fmt.Errorf("closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	l.f.requests.Add(1)
	x.End = lane.Now()
	x.Send, x.Receive = 2000, 1000
	if l.f.fail != nil {
		return l.f.fail(n)
	}
	return nil
}

func (l *fakeLane) Close() error {
	if l.once.CompareAndSwap(false, true) {
		close(l.closed)
	}
	return nil
}

// events collects the events of an observer.
type events struct{ all []perf.Event }

func (e *events) Observe(ev perf.Event) { e.all = append(e.all, ev) }

func (e *events) notices() []string {
	var texts []string
	for _, ev := range e.all {
		switch n := ev.(type) {
		case perf.Notice:
			texts = append(texts, n.Text)
		case perf.Warning:
			texts = append(texts, n.Text)
		}
	}
	return texts
}
