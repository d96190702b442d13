package python

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// model is a loaded model.
type model struct {
	spec        backend.Spec
	settings    settings
	memory      *memory
	program     program
	environment environment
	limits      string // the argument of runner.py; empty: there are no limits
	niced       bool   // its processes lower their own priority
	// executeLimit is the longest time that a call of execute may take; 0: no limit.
	executeLimit              time.Duration
	modules                   *modules
	runtime                   string // the directory of the modules that children import
	config                    string // the configuration as JSON
	outputs                   []string
	decoupled                 bool
	lead                      int // dimensions of the batch in shapes: 0 or 1
	inputShapes, outputShapes reshapes
	models                    infer.Submitter // what the model may call; nil: none

	mu      sync.Mutex
	orphans backend.MetricOrphans
}

// InputPool implements backend.InputPooler.
func (m *model) InputPool() *tensor.Pool { return m.memory.pool }

func (m *model) configure() error {
	text, err := modelconfig.MarshalJSON(m.spec.Config)
	if err != nil {
		return status.New(status.Internal, "model '%s': writing the configuration as JSON: %w", m.spec.Name, err)
	}
	m.config = string(text)
	m.decoupled = m.spec.Config.Decoupled()
	for _, out := range m.spec.Config.GetOutput() {
		m.outputs = append(m.outputs, out.GetName())
	}
	slices.Sort(m.outputs)
	if m.spec.Config.GetMaxBatchSize() > 0 {
		m.lead = 1
	}
	m.inputShapes, m.outputShapes = reshapesOf(m.spec.Config)
	return nil
}

// info returns what a child needs to import model.py.
func (m *model) info() modelInfo {
	return modelInfo{
		Name: m.spec.Name, File: m.program.file, Module: m.program.module, Path: m.program.path,
		ModelDir: filepath.Dir(m.spec.Dir), VersionDir: m.program.dir, Decoupled: m.decoupled,
	}
}

// NewInstance starts a child that imports model.py and runs initialize.
func (m *model) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	c, err := m.start(ctx, at.Name, at.HostPolicy)
	if err != nil {
		return nil, err
	}
	a := m.info()
	a.Args = map[string]string{
		"model_config":             m.config,
		"model_instance_kind":      strings.TrimPrefix(at.Kind.String(), "KIND_"),
		"model_instance_name":      at.Name,
		"model_instance_device_id": strconv.Itoa(at.Device),
		"model_repository":         a.ModelDir,
		"model_version":            strconv.FormatInt(m.spec.Version, 10),
		"model_name":               m.spec.Name,
	}
	loaded, err := c.ask(ctx, frameLoad, a)
	if err != nil {
		c.kill()
		return nil, err
	}
	c.events.readiness.handler = child.NewReader(loaded).Uint32()
	c.events.starting.Store(false)
	m.spec.Log.Debug("a Python instance started", slog.String("instance", at.Name), slog.Int("pid", c.process.PID()),
		slog.String("python", c.hello.Python), slog.String("numpy", c.hello.Numpy))
	in := newInstance(m, c)
	if c.events.readiness.handler != 0 {
		return checkedInstance{in}, nil
	}
	return in, nil
}

// Close releases the modules and the metrics that are left.
func (m *model) Close() error {
	m.orphans.Release()
	return m.modules.release()
}
