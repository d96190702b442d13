// Package isolated runs the models of any backend in child processes, one for each model
// version: a model that crashes, hangs or leaks costs only its own requests. The child is the
// same program (package host); tensors travel through a memory file that it maps.
// docs/adr/0028-isolation.md has the reasons.
package isolated

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
)

// Options configure the children of a server.
type Options struct {
	// Program is the file and the first arguments of the program that calls host.Main. A
	// child gets one more argument.
	Program []string
	// Pool is that of the server. If other processes can map its memory, the inputs in it
	// are not copied.
	Pool *tensor.Pool
	// Account counts the memory that is shared with children, unless the pool does; nil: nothing does.
	Account tensor.Account
	// Environ are names of variables that children get besides those that every engine may need. A
	// name may end in *.
	Environ []string
	// MemoryLimit bounds the shared memory of all children's outputs together, in bytes; 0: nothing
	// does.
	MemoryLimit int64
}

// Isolation makes backends that run in child processes. They share one memory file.
type Isolation struct {
	program []string
	environ []string // of the children
	memory  func() (*child.Memory, error)
	granted granted

	abilities abilities

	mu      sync.Mutex
	running map[*session]bool
	closed  bool
}

// abilities are those of the backends that were asked.
type abilities struct {
	mu sync.Mutex
	of map[string]host.Abilities
}

// New returns the isolation of a server. It needs nothing before it is used.
func New(o Options) *Isolation {
	return &Isolation{
		program: slices.Clone(o.Program), environ: environment(current(), o.Environ), granted: granted{limit: o.MemoryLimit}, abilities: abilities{of: map[string]host.Abilities{}}, running: map[*session]bool{},
		memory: sync.OnceValues(func() (*child.Memory, error) {
			if o.Pool != nil {
				if m, err := child.OpenMemory(o.Pool); err == nil {
					return m, nil
				}
			}
			source, err := tensor.NewMemfd()
			if err != nil {
				return nil, err
			}
			return child.OpenMemory(tensor.NewPoolOf(tensor.PoolOptions{Source: source, Account: o.Account}))
		}),
	}
}

// Wrap returns a backend that runs the models of the backend of that name in child processes
// with limits.
func (i *Isolation) Wrap(name string, limits extension.Process) (backend.Backend, error) {
	if runtime.GOOS != "linux" {
		return nil, status.New(status.Unsupported, "isolation=process needs Linux: on %s models run in the process of the server", runtime.GOOS)
	}
	if len(i.program) == 0 {
		return nil, status.New(status.Unsupported, "isolation=process: this program cannot run models in processes of their own")
	}
	memory, err := i.memory()
	if err != nil {
		return nil, status.New(status.Unavailable, "isolation=process: %w", err)
	}
	return &isolated{Isolation: i, name: name, limits: limits, memory: memory}, nil
}

// Close kills the children that are left, such as those of models that a server has not closed
// because its drain has timed out, and waits for their end. Batches that were interrupted may
// answer first. No more children are started.
func (i *Isolation) Close() {
	i.mu.Lock()
	i.closed = true
	left := slices.Collect(maps.Keys(i.running))
	i.mu.Unlock()
	for end := time.Now().Add(interruptGrace); time.Now().Before(end) && slices.ContainsFunc(left, (*session).busy); {
		time.Sleep(time.Millisecond)
	}
	for _, s := range left {
		s.process.Kill()
	}
	for _, s := range left {
		<-s.ended
	}
}

// enter enters a child that was started. It reports false after Close.
func (i *Isolation) enter(s *session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	i.running[s] = true
	return true
}

func (i *Isolation) leave(s *session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, s)
}

// isolated is a backend in child processes.
type isolated struct {
	*Isolation
	name   string
	limits extension.Process
	memory *child.Memory
}

var (
	_ backend.Backend       = (*isolated)(nil)
	_ backend.AutoCompleter = (*isolated)(nil)
)

// HasGPU reports whether the backend can use GPUs. A child finds out, so that the server loads
// no library.
func (b *isolated) HasGPU() bool {
	a, err := b.can(context.Background(), backend.Spec{})
	return err == nil && a.GPU
}

// describeLimit bounds how long a backend may take to say what it can do: the loads of all models
// of the backend wait for it.
const describeLimit = time.Minute

// can returns what the backend can do.
func (b *isolated) can(ctx context.Context, spec backend.Spec) (host.Abilities, error) {
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	b.abilities.mu.Lock()
	defer b.abilities.mu.Unlock()
	if a, known := b.abilities.of[b.name]; known {
		return a, nil
	}
	s, err := b.start(ctx, spec, nil)
	if err != nil {
		return host.Abilities{}, err
	}
	defer s.kill()
	text, err := s.ask(ctx, host.Describe, []byte(b.name))
	if err != nil {
		return host.Abilities{}, err
	}
	var a host.Abilities
	if err := json.Unmarshal(text, &a); err != nil {
		return a, s.violated(err)
	}
	b.abilities.of[b.name] = a
	return a, nil
}

// AutoComplete completes a configuration in a child of its own, which ends with the call: a
// model file that crashes its library costs nothing else.
func (b *isolated) AutoComplete(ctx context.Context, spec backend.Spec) error {
	if a, err := b.can(ctx, spec); err != nil || !a.Completes {
		return err
	}
	question, err := b.spec(spec)
	if err != nil {
		return err
	}
	s, err := b.start(ctx, spec, nil)
	if err != nil {
		return err
	}
	defer s.kill()
	text, err := s.ask(ctx, host.Complete, question)
	if err != nil {
		return err
	}
	completed := &inferencepb.ModelConfig{}
	if err := proto.Unmarshal(text, completed); err != nil {
		return s.violated(err)
	}
	proto.Reset(spec.Config)
	proto.Merge(spec.Config, completed)
	return nil
}

// spec returns the question of a load.
func (b *isolated) spec(spec backend.Spec) ([]byte, error) {
	config, err := proto.Marshal(spec.Config)
	if err != nil {
		return nil, err
	}
	s := host.Spec{
		Backend: b.name, Name: spec.Name, Version: spec.Version, Config: config, Dir: spec.Dir, File: spec.File,
		Settings: spec.Settings, CPUs: spec.CPUs,
	}
	if n := len(b.limits.CPUs); n > 0 {
		s.CPUs = min(s.CPUs, n)
	}
	if spec.Capability != nil && len(spec.Config.GetCcModelFilenames()) > 0 {
		for device := range maxDevices {
			s.Capabilities = append(s.Capabilities, spec.Capability(device))
		}
	}
	return json.Marshal(s)
}

// maxDevices is the number of GPUs whose compute capability a child knows.
const maxDevices = 16

// Load starts the child of a model and loads the model in it.
func (b *isolated) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	question, err := b.spec(spec)
	if err != nil {
		return nil, err
	}
	m := &model{backend: b, spec: spec, question: question}
	if _, err := m.session(ctx); err != nil {
		return nil, err
	}
	return m, nil
}
