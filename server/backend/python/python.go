// Package python is the backend "python": models that are a model.py with a class
// TritonPythonModel, as NVIDIA's Python backend runs them. Each instance is a child
// process of its own; tensors travel through a memory file that the children map.
// docs/adr/0022-child-processes.md has the frames.
package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// Name is the backend's name in config.pbtxt.
const Name = "python"

// Backend loads Python models. They share one memory file.
type Backend struct {
	memory       func() (*memory, error)
	account      tensor.Account         // of the memory
	opened       atomic.Pointer[memory] // nil before the first model
	environments environmentStore
	modules      modules
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.AutoCompleter = (*Backend)(nil)
)

// New returns the backend. It needs nothing before its first model is loaded.
func New() *Backend {
	b := &Backend{}
	b.memory = sync.OnceValues(func() (*memory, error) {
		source, err := tensor.NewMemfd()
		if err != nil {
			return nil, status.New(status.Unavailable, "no memory that Python processes can share: %w", err)
		}
		m, err := openMemory(tensor.NewPoolOf(tensor.PoolOptions{Source: source, Account: b.account}))
		if err == nil {
			b.opened.Store(m)
		}
		return m, err
	})
	return b
}

// SetAccount sets what counts the memory that is shared with models. It must be called before the
// first model is loaded.
func (b *Backend) SetAccount(a tensor.Account) { b.account = a }

// Pool returns the pool of the memory that is shared with models; nil before the first model.
func (b *Backend) Pool() *tensor.Pool {
	if m := b.opened.Load(); m != nil {
		return m.pool
	}
	return nil
}

// OwnsProcesses marks the backend as one whose models run in processes of their own.
func (*Backend) OwnsProcesses() {}

// SharedMemory returns the size in bytes of the memory that the server shares with the processes
// of all Python models, and the part of it that tensors use.
func (b *Backend) SharedMemory() (total, used int64) {
	m := b.opened.Load()
	if m == nil {
		return 0, 0
	}
	total = m.pool.Bytes()
	return total, max(total-m.pool.Idle(), 0)
}

// Outstanding returns the number of pieces of shared memory in use. Without models there
// are none.
func (b *Backend) Outstanding() int64 {
	m, err := b.memory()
	if err != nil {
		return 0
	}
	return m.pool.Outstanding()
}

// memory is a pool whose memory children can map.
type memory struct {
	pool *tensor.Pool
	file *os.File
}

func openMemory(pool *tensor.Pool) (*memory, error) {
	probe, err := pool.TryGet(1)
	if err != nil {
		return nil, status.New(status.Unavailable, "no memory that Python processes can share: %w", err)
	}
	defer probe.Release()
	file, _, ok := probe.Shared()
	if !ok {
		return nil, status.New(status.Unavailable, "no memory that Python processes can share: the system maps none")
	}
	return &memory{pool: pool, file: file}, nil
}

// Load checks the model's files and finds the interpreter. model.py is imported by
// the instances.
func (b *Backend) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return b.load(ctx, spec, nil)
}

// load makes a model that runs the program of r; nil: its own.
func (b *Backend) load(ctx context.Context, spec backend.Spec, r *Runtime) (backend.Model, error) {
	m, err := b.prepare(ctx, spec, r)
	if err != nil {
		return nil, err
	}
	if spec.Submitter != nil { // whether model.py calls other models is not known before it does
		m.models = spec.Submitter()
	}
	return m, nil
}

// prepare makes a model that calls no others. Modules are written last, because only then
// something has to be undone.
func (b *Backend) prepare(ctx context.Context, spec backend.Spec, r *Runtime) (*model, error) {
	m := &model{spec: spec, modules: &b.modules}
	var err error
	if m.program, err = r.program(spec, ""); err != nil { // checks that it exists; its folder follows
		return nil, err
	}
	if m.settings, err = parseSettings(spec.Settings); err != nil {
		return nil, err
	}
	if m.memory, err = b.memory(); err != nil {
		return nil, err
	}
	if err := checkParameters(spec); err != nil {
		return nil, err
	}
	process, err := processOf(spec)
	if err != nil {
		return nil, err
	}
	if m.limits, err = limitsArgument(process); err != nil {
		return nil, err
	}
	m.niced, m.executeLimit = process.Nice > 0, process.Execute
	if m.environment, err = b.environment(ctx, spec, m.settings, process); err != nil {
		return nil, err
	}
	if err = m.configure(); err != nil {
		return nil, err
	}
	if m.runtime, err = b.modules.acquire(); err != nil {
		return nil, status.New(status.Internal, "writing the modules of the Python backend: %w", err)
	}
	// The modules now have a folder.
	if m.program, err = r.program(spec, m.runtime); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// environment returns the interpreter of a model and the environment of its processes.
func (b *Backend) environment(ctx context.Context, spec backend.Spec, s settings, p extension.Process) (environment, error) {
	e, err := b.environments.Find(ctx, environmentOptions{
		ModelDir: filepath.Dir(spec.Dir), Path: spec.Config.GetParameters()["EXECUTION_ENV_PATH"].GetStringValue(),
		Executable: s.executable, Requirements: p.Requirements, Cache: s.cache, Log: spec.Log,
	})
	e.Env = withThreads(withoutSecrets(e.Env, s.credentials), p.Threads)
	return e, err
}

// errNumpy reports an interpreter without numpy.
func errNumpy(interpreter, reason string) error {
	return status.New(status.Unavailable,
		"Python models need numpy, which %s cannot import (%s): run \"%s -m pip install numpy\", or name another interpreter with --backend-config=python,python-executable=<path>",
		interpreter, reason, interpreter)
}
