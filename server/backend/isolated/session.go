package isolated

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
)

// session is a running child and what it uses: the answers that are open, the requests that its
// backend has, and its memory. One goroutine handles its frames.
type session struct {
	name      string // of the model
	spec      backend.Spec
	decoupled bool
	memory    *child.Memory
	pool      *tensor.Pool // of the server
	names     map[string]string
	process   *child.Process
	blocks    child.Blocks
	total     *granted      // the memory of all children
	out       child.Message // of the goroutine that handles frames
	log       childLog
	ended     chan struct{} // closed when the child has ended and its kept requests are answered
	err       error         // why; set before ended is closed
	exit      *child.Exit
	timer     *time.Timer // of watch
	metrics   backend.MetricTable
	orphans   *orphans // of the model; nil: the child serves none

	mu struct {
		sync.Mutex
		questions    map[uint32]chan answer
		lastQuestion uint32
		instances    map[uint32]*instance
		lastInstance uint32
		open         map[uint64]openRequest
		lastOpen     uint64
		applied      *sync.Cond // an instance has applied a result
		returns      []uint32
		returnBytes  int
		granted      map[uint32]int64 // bytes of the child's blocks
		watching     bool             // the timer runs
		ended        bool
	}
}

// answer is the answer to a question.
type answer struct {
	text []byte
	err  error
}

// start starts a child; one that serves a model leaves its metrics to o when it dies.
func (b *isolated) start(ctx context.Context, spec backend.Spec, o *orphans) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{
		name: spec.Name, spec: spec, memory: b.memory, pool: spec.Pool, names: namesOf(spec.Config), ended: make(chan struct{}), orphans: o,
		log:       childLog{log: spec.Log, model: spec.Name, version: spec.Version},
		decoupled: spec.Config.Decoupled(),
	}
	if s.pool == nil {
		s.pool = b.memory.Pool
	}
	if s.log.log == nil { // no model asks
		s.log.log = slog.New(slog.DiscardHandler)
	}
	s.total, s.mu.granted = &b.granted, map[uint32]int64{}
	s.mu.questions, s.mu.instances, s.mu.open = map[uint32]chan answer{}, map[uint32]*instance{}, map[uint64]openRequest{}
	s.mu.applied = sync.NewCond(&s.mu)
	s.timer = time.AfterFunc(time.Hour, s.watch)
	s.timer.Stop()
	argument, err := json.Marshal(host.Start{Model: spec.Name, Version: spec.Version, Limits: b.limits})
	if err != nil {
		return nil, err
	}
	args := append(append([]string(nil), b.program[1:]...), string(argument))
	s.process, err = child.Start(child.Spec{
		Path: b.program[0], Args: args, Env: b.environ, Files: []*os.File{b.memory.File}, Line: s.log.line, Event: s.handle, Panicked: s.panicked,
	})
	if err != nil {
		return nil, status.New(status.Unavailable, "the process of model '%s' could not be started: %w", spec.Name, err)
	}
	go s.supervise(b.leave)
	if !b.enter(s) {
		s.kill()
		return nil, status.New(status.Unavailable, "the server stops")
	}
	return s, nil
}

// supervise waits for the end of the child, and ends what it has not.
func (s *session) supervise(leave func(*session)) {
	defer close(s.ended)
	defer leave(s)
	s.exit = s.process.Exit()
	s.err = s.cause(s.exit)
	s.awaitApplied() // results refer to blocks
	s.blocks.Free()
	s.mu.Lock()
	for _, n := range s.mu.granted {
		s.total.add(-n)
	}
	clear(s.mu.granted)
	s.mu.ended = true
	questions := s.mu.questions
	s.mu.questions = nil
	s.mu.Unlock()
	for _, q := range questions {
		q <- answer{err: s.err}
	}
	s.failKept(s.err)
	s.timer.Stop()
	s.endMetrics()
}

func (s *session) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// ask asks the child and waits for the answer. If the context ends first the child is killed.
func (s *session) ask(ctx context.Context, kind uint8, body []byte) ([]byte, error) {
	answered := make(chan answer, 1)
	s.mu.Lock()
	if s.mu.ended {
		s.mu.Unlock()
		<-s.ended
		return nil, s.err
	}
	s.mu.lastQuestion++
	number := s.mu.lastQuestion
	s.mu.questions[number] = answered
	s.mu.Unlock()
	var m child.Message
	m.Begin(kind).Uint32(number)
	m.Raw(body)
	if err := s.process.PostWait(&m); err != nil {
		return nil, s.violated(err)
	}
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answered:
		return a.text, a.err
	default:
	}
	s.process.Fail("it did not answer in time")
	a := <-answered
	return a.text, a.err
}

// violated ends a child that has violated the protocol, and returns the error.
func (s *session) violated(err error) error {
	s.process.Fail("the event channel: " + err.Error())
	<-s.ended
	return s.err
}

// kill ends a child that has no requests.
func (s *session) kill() {
	s.process.Kill()
	<-s.ended
}

// exitGrace is how long a child may take to exit after its model is closed.
const exitGrace = 5 * time.Second

// stop waits for the end of a child whose model is closed.
func (s *session) stop() {
	_ = s.process.Stop(exitGrace) // the same as s.err
	<-s.ended
}

// handle handles one frame. An error ends the child.
func (s *session) handle(p *child.Process, f child.Frame) error {
	r := child.NewReader(f.Body)
	known := true
	switch f.Kind {
	case host.Answer:
		s.answer(r)
	case host.Result:
		s.result(r)
	case host.Respond:
		s.respond(r)
	case host.LetGo:
		s.letGo(r)
	case host.State:
		s.state(r)
	case host.Release:
		s.released(r)
	case host.Reserve:
		s.grant(p, r) // s.process may not be set yet
	case host.Log:
		s.log.record(r)
	case host.Broken:
		s.broken(r)
	case host.Metric:
		known = s.metric(r)
	default:
		known = false
	}
	if !known || r.Err() != nil {
		return fmt.Errorf("%w of type %d", child.ErrFrame, f.Kind)
	}
	return nil
}

// panicked logs a panic of handle.
func (s *session) panicked(v any) {
	log.Panicked(s.log.log, "panic while a frame of an isolated model was handled", v, "model", s.name)
}

// answer hands the answer to a question to its goroutine.
func (s *session) answer(r *child.Reader) {
	number := r.Uint32()
	err := host.ReadError(r)
	text := append([]byte(nil), r.Next(uint64(r.Len()))...)
	s.mu.Lock()
	q := s.mu.questions[number]
	delete(s.mu.questions, number)
	s.mu.Unlock()
	if q != nil && r.Err() == nil {
		q <- answer{text, err}
	}
}

// addInstance enters a new instance.
func (s *session) addInstance(m *model, name string) *instance {
	in := &instance{
		model: m, session: s, name: name, results: make(chan struct{}, 1), broken: make(chan error, 1), closed: make(chan struct{}),
	}
	in.guard = child.NewGuard(in.interrupt)
	in.limit = child.NewDeadline(m.backend.limits.Execute, func() {
		s.process.Fail("the execution of a batch took longer than " + m.backend.limits.Execute.String() + " (isolation_execute_limit_milliseconds)")
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lastInstance++
	in.number = s.mu.lastInstance
	s.mu.instances[in.number] = in
	return in
}

func (s *session) removeInstance(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.instances, in.number)
}

// broken hands a break of an instance to its watcher.
func (s *session) broken(r *child.Reader) {
	number := r.Uint32()
	err := host.ReadError(r)
	s.mu.Lock()
	in := s.mu.instances[number]
	s.mu.Unlock()
	if in != nil && r.Err() == nil {
		select {
		case in.broken <- err:
		default:
		}
	}
}
