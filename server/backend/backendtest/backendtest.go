// Package backendtest has a backend whose behavior a test supplies: what it answers, how
// long it takes, and what goes wrong. It is for tests only.
package backendtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triton/server/backend"
	"triton/server/infer"
)

// Func is a backend of one function.
type Func func(ctx context.Context, spec backend.Spec) (backend.Model, error)

// Load calls the function.
func (f Func) Load(ctx context.Context, spec backend.Spec) (backend.Model, error) {
	return f(ctx, spec)
}

// Echo is a backend whose models answer with their first input.
var Echo = Loading(func(backend.Spec) error { return nil })

// Loading is Echo with a function that is called first by each load.
func Loading(first func(spec backend.Spec) error) Func {
	return func(_ context.Context, spec backend.Spec) (backend.Model, error) {
		if err := first(spec); err != nil {
			return nil, err
		}
		return &Model{Spec: spec}, nil
	}
}

// Model is a model and its instances. The zero value answers each request with an empty
// response. Set its fields before instances are made.
type Model struct {
	// Spec is what the model was loaded from. Each output of its configuration that a
	// request wants is the request's first input.
	Spec backend.Spec
	// Begin is the time from which Batches counts. Without it nothing is recorded.
	Begin time.Time
	// Time returns how long the execution of a batch takes.
	Time func(rows int) time.Duration
	// Run is called in the execution of a batch, after the time of Time. Requests that
	// it has answered get no other response.
	Run func(ctx context.Context, b *infer.Batch) error
	// Answer makes the response to a request instead of the first input.
	Answer func(r *infer.Request) *infer.Response
	// Own is set if Run answers or keeps all requests.
	Own bool
	// BatchFault and RequestFault return what goes wrong with a batch and with a request;
	// 0 is nothing.
	BatchFault   func(b *infer.Batch) BatchFault
	RequestFault func(r *infer.Request) RequestFault
	// Make is called before an instance is made, with the number of instances made so
	// far.
	Make func(made int, at backend.Placement) error
	// Closing is called when the model closes, InstanceClosing when an instance does.
	Closing, InstanceClosing func()
	// Breaks makes the instances backend.BreakNotifiers.
	Breaks       bool
	made, closed atomic.Int64
	late         struct {
		sync.Mutex
		running int
		ended   chan struct{} // of the last one
	}
	mu struct {
		sync.Mutex
		ran    []Batch
		broken chan error
	}
}

// Takes is a Time of the same length for all batches.
func Takes(d time.Duration) func(rows int) time.Duration { return func(int) time.Duration { return d } }

// AtMost is a Make that fails after n instances.
func AtMost(n int) func(int, backend.Placement) error {
	return func(made int, _ backend.Placement) error {
		if made >= n {
			return ErrFault
		}
		return nil
	}
}

// Batch is an execution.
type Batch struct {
	At   time.Duration // since Begin
	Rows int
	IDs  []string // of the requests; "-" for one that the sequence batcher made
}

// NewInstance makes an instance.
func (m *Model) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	n := m.made.Add(1)
	if m.Make != nil {
		if err := m.Make(int(n-1), at); err != nil {
			return nil, err
		}
	}
	i := &Instance{model: m, closed: make(chan struct{}), broken: make(chan error, 1)}
	if !m.Breaks {
		return i, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.broken = i.broken
	return breakable{i}, nil
}

// Close ends the model.
func (m *Model) Close() error {
	m.closed.Add(1)
	if m.Closing != nil {
		m.Closing()
	}
	return nil
}

// Made returns how many instances were to be made.
func (m *Model) Made() int { return int(m.made.Load()) }

// Closed returns how many instances were closed, and one more for the model.
func (m *Model) Closed() int { return int(m.closed.Load()) }

// Break breaks the latest instance. It does not wait until the instance is replaced.
func (m *Model) Break(reason error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.broken <- reason
}

// Go starts a goroutine, such as one that answers late. An instance waits for it before
// it closes.
func (m *Model) Go(f func()) {
	m.late.Lock()
	defer m.late.Unlock()
	if m.late.running++; m.late.running == 1 {
		m.late.ended = make(chan struct{})
	}
	go func() {
		f()
		m.late.Lock()
		defer m.late.Unlock()
		if m.late.running--; m.late.running == 0 {
			close(m.late.ended)
		}
	}()
}

// wait waits for the goroutines of Go.
func (m *Model) wait() {
	m.late.Lock()
	ended := m.late.ended
	m.late.Unlock()
	if ended != nil {
		<-ended
	}
}

// Batches returns the executions.
func (m *Model) Batches() []Batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Batch(nil), m.mu.ran...)
}

// Rows returns the executions as "<ms>: <rows>".
func (m *Model) Rows() []string {
	return m.texts(func(b Batch) string { return fmt.Sprintf("%d: %d", b.At.Milliseconds(), b.Rows) })
}

// Members returns the executions as "<ms>: <IDs>".
func (m *Model) Members() []string {
	return m.texts(func(b Batch) string { return fmt.Sprintf("%d: %s", b.At.Milliseconds(), strings.Join(b.IDs, " ")) })
}

func (m *Model) texts(text func(Batch) string) []string {
	var all []string
	for _, b := range m.Batches() {
		all = append(all, text(b))
	}
	return all
}

func (m *Model) record(b *infer.Batch) {
	if m.Begin.IsZero() {
		return
	}
	ran := Batch{At: time.Since(m.Begin), Rows: b.Rows}
	for _, r := range b.Requests {
		if r.Membership.Null {
			ran.IDs = append(ran.IDs, "-")
		} else {
			ran.IDs = append(ran.IDs, r.ID)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.ran = append(m.mu.ran, ran)
}

// Response returns the answer to a request without a fault.
func (m *Model) Response(r *infer.Request) *infer.Response {
	if m.Answer != nil {
		return m.Answer(r)
	}
	resp := infer.NewResponse()
	for _, out := range m.Spec.Config.GetOutput() {
		if in := &r.Inputs[0]; r.Wants(out.GetName()) {
			resp.Add(out.GetName(), in.DataType, in.Shape, in.Data.Clone())
		}
	}
	return resp
}

// Instance is an instance of a Model.
type Instance struct {
	model  *Model
	late   sync.WaitGroup
	closed chan struct{}
	broken chan error
}

// Execute runs a batch.
func (i *Instance) Execute(ctx context.Context, b *infer.Batch) error {
	m := i.model
	m.record(b)
	b.InputEnd = infer.Now()
	var fault BatchFault
	if m.BatchFault != nil {
		fault = m.BatchFault(b)
	}
	if err := i.begin(ctx, fault); err != nil {
		return err
	}
	if m.Time != nil {
		time.Sleep(m.Time(b.Rows))
	}
	if m.Run != nil {
		if err := m.Run(ctx, b); err != nil {
			return err
		}
	}
	b.OutputStart = infer.Now()
	i.answerAll(b)
	return end(fault)
}

// answerAll answers the requests that Run has not answered.
func (i *Instance) answerAll(b *infer.Batch) {
	if i.model.Own {
		return
	}
	for _, r := range b.Requests {
		if r.Membership.Null || r.State() == infer.Answered {
			continue
		}
		var fault RequestFault
		if i.model.RequestFault != nil {
			fault = i.model.RequestFault(r)
		}
		i.answer(r, fault)
	}
}

// Close waits for late answers, which come sooner then.
func (i *Instance) Close() error {
	close(i.closed)
	i.late.Wait()
	i.model.wait()
	i.model.closed.Add(1)
	if i.model.InstanceClosing != nil {
		i.model.InstanceClosing()
	}
	return nil
}

// breakable is an instance that reports that it broke.
type breakable struct{ *Instance }

func (i breakable) Broken() <-chan error { return i.broken }
