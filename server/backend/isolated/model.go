package isolated

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/isolated/host"
)

// closeLimit bounds how long the backend of a child may take to close an instance or the
// model.
const closeLimit = 30 * time.Second

// model is a model version. Its child runs all its instances; after the end of a child the
// first instance that is replaced starts the next one.
type model struct {
	backend  *isolated
	spec     backend.Spec
	question []byte // of the load

	// starting is held while a child starts and loads the model, which may take long.
	starting sync.Mutex

	mu      sync.Mutex // guards what follows; taken after starting
	current *session   // nil after Close
	closed  bool

	orphans orphans
}

// orphans are the metrics of children that died, until the model is closed.
type orphans struct {
	mu sync.Mutex
	backend.MetricOrphans
}

func (o *orphans) adopt(t *backend.MetricTable) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Adopt(t)
}

func (o *orphans) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Release()
}

var (
	_ backend.Model          = (*model)(nil)
	_ backend.MemoryReporter = (*model)(nil)
)

// session returns the child that runs, or starts one and loads the model in it.
func (m *model) session(ctx context.Context) (*session, error) {
	m.starting.Lock()
	defer m.starting.Unlock()
	m.mu.Lock()
	current, closed := m.current, m.closed
	m.mu.Unlock()
	if closed {
		return nil, status.New(status.Unavailable, "model '%s' is closed", m.spec.Name)
	}
	if current != nil && !current.hasEnded() {
		return current, nil
	}
	s, err := m.backend.start(ctx, m.spec, &m.orphans)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(ctx, host.Load, m.question); err != nil {
		s.kill()
		return nil, err
	}
	m.mu.Lock()
	m.current = s
	m.mu.Unlock()
	return s, nil
}

// NewInstance makes an instance in the child.
func (m *model) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	group, err := proto.Marshal(at.Group)
	if err != nil {
		return nil, err
	}
	place, err := json.Marshal(host.Placement{
		Name: at.Name, Kind: int32(at.Kind), Device: at.Device, Group: group, Instances: at.Instances,
		HostPolicy: at.HostPolicy,
	})
	if err != nil {
		return nil, err
	}
	s, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	in := s.addInstance(m, at.Name)
	text, err := s.ask(ctx, host.NewInstance, append(binary.LittleEndian.AppendUint32(nil, in.number), place...))
	if err != nil {
		s.removeInstance(in)
		return nil, err
	}
	var made host.Made
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, s.violated(err)
	}
	if made.Checks {
		return checked{in}, nil
	}
	return in, nil
}

// Memory returns the memory that only the child has: that of the model and of the program
// around it. It returns to the system when the child ends.
func (m *model) Memory() []backend.Memory {
	m.mu.Lock()
	s := m.current
	m.mu.Unlock()
	if s == nil || s.hasEnded() {
		return nil
	}
	n := residentBytes(s.process.PID())
	if n == 0 {
		return nil
	}
	return []backend.Memory{{Kind: "CPU", Bytes: n}}
}

// Close closes the model and ends the child.
func (m *model) Close() error {
	m.starting.Lock() // a child that starts is closed too
	defer m.starting.Unlock()
	m.mu.Lock()
	s := m.current
	m.current, m.closed = nil, true
	m.mu.Unlock()
	defer m.orphans.release()
	if s == nil || s.hasEnded() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_, err := s.ask(ctx, host.Finalize, nil)
	s.stop()
	return err
}
