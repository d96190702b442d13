package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/client"
	"triton/pkg/gpu"
	"triton/pkg/modelconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world has fake servers, a fake load generator and a fake search.
type world struct {
	t         *testing.T
	settings  *settings.Profile
	proposals []trial.Proposal
	devices   []gpu.Device

	served      map[string]string // configurations that the server completes, by model
	loadErr     func(model, config string) error
	launchErr   error
	measure     func(o bench.LoadOptions) bench.Outcome
	beforeTrial func(n int) // of the trials that are measured, from 1
	dieUnder    int         // the number of the run during which the server ends

	mu struct {
		sync.Mutex
		events    []string
		setups    []bench.Setup
		open      int
		loaded    map[string]string // JSON by model
		runs      [][]bench.LoadOptions
		proposed  int
		results   []*trial.Result
		subjects  []Subject
		stopped   int
		unloaded  []string
		server    *fakeServer
		notices   []string
		interrupt chan struct{}
	}
}

func newWorld(t *testing.T, models ...string) *world {
	t.Helper()
	dir := t.TempDir()
	p := settings.NewProfile()
	p.ModelRepository = filepath.Join(dir, "models")
	p.OutputModelRepository = filepath.Join(dir, "out")
	p.CheckpointDirectory = filepath.Join(dir, "checkpoints")
	p.Output.ExportPath = filepath.Join(dir, "export")
	p.IdleSampleTime, p.MonitoringInterval, p.MemoryInterval = time.Millisecond, time.Millisecond, time.Millisecond
	w := &world{t: t, settings: p, served: map[string]string{}}
	for _, m := range models {
		w.add(m, `name: "`+m+`" backend: "b" max_batch_size: 8`)
		p.Models = append(p.Models, settings.Model{Name: m, Goal: trial.Goal{Objectives: trial.DefaultObjectives(), Weight: 1}})
	}
	w.mu.loaded, w.mu.interrupt = map[string]string{}, make(chan struct{})
	return w
}

// add writes a model to the user's repository; an empty configuration writes no file.
func (w *world) add(model, config string) {
	dir := filepath.Join(w.settings.ModelRepository, model)
	require.NoError(w.t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
	if config != "" {
		require.NoError(w.t, os.WriteFile(filepath.Join(dir, modelconfig.FileName), []byte(config), 0o600))
		w.served[model] = config
	}
}

func (w *world) deps() Deps {
	d := Deps{
		Launcher: w, Generator: w, Devices: w.devices, Tool: "triton test", Interrupt: w.mu.interrupt,
		Connect: func(bench.Endpoints) (Control, error) { return &fakeControl{w: w}, nil },
		NewSearch: func(s Subject) (Search, error) {
			w.mu.subjects = append(w.mu.subjects, s)
			return &fakeSearch{w: w}, nil
		},
		Observe: func(e Event) {
			switch e := e.(type) {
			case Notice:
				w.mu.notices = append(w.mu.notices, e.Text)
			case Measuring:
				if w.beforeTrial != nil {
					w.beforeTrial(len(w.mu.runs) + 1)
				}
			}
		},
	}
	if len(w.devices) > 0 {
		d.GPU = fakeGPU{devices: w.devices}
	}
	return d
}

// run profiles, checks that nothing is left running, and returns the report.
func (w *world) run() (*Report, error) {
	w.t.Helper()
	r, err := Run(w.t.Context(), w.settings, w.deps())
	require.Zero(w.t, w.mu.open, "servers that run")
	require.Equal(w.t, len(w.mu.subjects), w.mu.stopped, "searches that were not stopped")
	return r, err
}

// again prepares a second run on the same checkpoint.
func (w *world) again() {
	require.NoError(w.t, os.RemoveAll(w.settings.OutputModelRepository))
	w.mu.runs, w.mu.setups, w.mu.notices, w.mu.subjects, w.mu.proposed, w.mu.stopped, w.mu.results = nil, nil, nil, nil, 0, 0, nil
	w.mu.events, w.mu.interrupt = nil, make(chan struct{})
}

type fakeServer struct {
	w    *world
	done chan struct{}
	err  error
	once sync.Once
}

func (w *world) Launch(_ context.Context, s bench.Setup) (bench.Server, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.launchErr != nil {
		return nil, w.launchErr
	}
	w.mu.setups = append(w.mu.setups, s)
	w.mu.open++
	w.mu.loaded = map[string]string{}
	w.mu.server = &fakeServer{w: w, done: make(chan struct{})}
	return w.mu.server, nil
}

func (s *fakeServer) Endpoints() bench.Endpoints {
	return bench.Endpoints{HTTP: "127.0.0.1:1", GRPC: "127.0.0.1:2", Metrics: "http://127.0.0.1:3/metrics"}
}
func (s *fakeServer) PIDs() []int           { return []int{os.Getpid()} }
func (s *fakeServer) Done() <-chan struct{} { return s.done }

func (s *fakeServer) end(err error) { s.once.Do(func() { s.err = err; close(s.done) }) }

func (s *fakeServer) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

func (s *fakeServer) Close() error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.mu.open--
	s.end(nil)
	return nil
}

// fakeControl loads models on the running server.
type fakeControl struct{ w *world }

func (c *fakeControl) Ready(context.Context) (bool, error)                      { return true, nil }
func (c *fakeControl) ModelReady(context.Context, string, string) (bool, error) { return true, nil }
func (c *fakeControl) Close() error                                             { return nil }
func (c *fakeControl) Index(context.Context, bool) ([]*client.IndexEntry, error) {
	return []*client.IndexEntry{{Name: "other"}}, nil
}

func (c *fakeControl) Load(_ context.Context, model string, o client.Override) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.mu.events = append(c.w.mu.events, "load "+model)
	if c.w.loadErr != nil {
		if err := c.w.loadErr(model, o.Config); err != nil {
			return err
		}
	}
	c.w.mu.loaded[model] = o.Config
	return nil
}

func (c *fakeControl) Unload(_ context.Context, model string, _ bool) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.mu.unloaded = append(c.w.mu.unloaded, model)
	return nil
}

func (c *fakeControl) ModelConfig(_ context.Context, model, _ string) (*client.ModelConfig, error) {
	text, ok := c.w.served[model]
	if !ok {
		return nil, errors.New("no such model")
	}
	config, err := modelconfig.Parse("", []byte(text))
	if err != nil {
		return nil, err
	}
	return config.ModelConfig, nil
}

// Run measures the loaded configuration: the throughput is its largest batch times the concurrency.
func (w *world) Run(ctx context.Context, models []bench.LoadOptions) []bench.Outcome {
	w.mu.Lock()
	w.mu.runs = append(w.mu.runs, models)
	n, server := len(w.mu.runs), w.mu.server
	w.mu.Unlock()
	out := make([]bench.Outcome, len(models))
	if n == w.dieUnder {
		server.end(errors.New("the server ended by itself (signal: killed)"))
		<-ctx.Done()
		return out
	}
	for i, o := range models {
		if w.measure != nil {
			out[i] = w.measure(o)
			continue
		}
		out[i] = bench.Outcome{Figures: bench.Figures{Stable: true, Requests: 100, Values: trial.Values{trial.Throughput: w.throughput(o), trial.LatencyP99: 1}}}
	}
	return out
}

func (w *world) throughput(o bench.LoadOptions) float64 {
	var config struct {
		Batch int `json:"max_batch_size"`
	}
	_ = json.Unmarshal([]byte(w.mu.loaded[o.Get("model-name")]), &config)
	var concurrency float64
	_, _ = fmt.Sscan(o.Get("concurrency-range"), &concurrency)
	return float64(max(1, config.Batch)) * concurrency
}

// fakeSearch proposes the proposals of its world that are about the models of its subject.
type fakeSearch struct {
	w    *world
	next int
}

func (s *fakeSearch) Next(last *trial.Result) (trial.Proposal, bool) {
	s.w.mu.results = append(s.w.mu.results, last)
	subject := s.w.mu.subjects[len(s.w.mu.subjects)-1].Name()
	for ; s.next < len(s.w.proposals); s.next++ {
		p := s.w.proposals[s.next]
		var names []string
		for _, m := range p.Members {
			names = append(names, m.Model)
		}
		if strings.Join(names, ",") == subject {
			s.next++
			return p, true
		}
	}
	return trial.Proposal{}, false
}

func (s *fakeSearch) Reason() string { return "all proposals are measured" }
func (s *fakeSearch) Stop()          { s.w.mu.stopped++ }

// propose returns a proposal for one model.
func propose(model string, concurrency int, p trial.Patch) trial.Proposal {
	return trial.Proposal{Members: []trial.ProposedMember{{Model: model, Patch: p, Load: trial.Load{Batch: 1, Concurrency: concurrency}}}}
}

type fakeGPU struct {
	gpu.View
	devices []gpu.Device
}

func (g fakeGPU) Devices() []gpu.Device { return g.devices }
func (g fakeGPU) Read(gpu.Device) gpu.Reading {
	return gpu.Reading{MemoryTotal: gpu.Some[uint64](8e9), MemoryUsed: gpu.Some[uint64](2e9), Utilization: gpu.Some(0.5)}
}

// names returns the variants and throughputs of results.
func names(results []trial.Result) []string {
	var out []string
	for _, r := range results {
		text := ""
		for i, m := range r.Config.Members {
			text += m.Name
			for _, c := range m.Composing {
				text += "+" + c.Name
			}
			if r.Measurement != nil {
				text += fmt.Sprintf(" %g ", r.Measurement.Members[i][trial.Throughput])
			}
		}
		if r.Failure != nil {
			text += " " + string(r.Failure.Class)
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}
