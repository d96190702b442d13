package isolated

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
	"triton/server/infer"
)

// instance is an instance in the child.
type instance struct {
	model   *model
	session *session
	number  uint32
	name    string
	out     child.Message
	sent    []uint32        // the blocks of the batch
	guard   *child.Guard    // interrupts it
	limit   *child.Deadline // kills the child
	runs    atomic.Int64    // odd while a batch runs

	results chan struct{} // body has a result
	body    []byte
	all     []outcome // of the batch
	broken  chan error
	closed  chan struct{}
	// applying is set from the arrival of a result until it is applied: frames behind it
	// wait. The session's lock guards it.
	applying bool
	checking atomic.Bool // a readiness check is not answered
}

var (
	_ backend.Instance         = (*instance)(nil)
	_ backend.BreakNotifier    = (*instance)(nil)
	_ backend.ReadinessChecker = checked{}
)

// checked is an instance with a readiness check.
type checked struct{ *instance }

// readinessLimit bounds how long a readiness check may take.
const readinessLimit = 5 * time.Second

// CheckReady asks the instance in the child. Without an answer the instance is not ready; the
// child goes on, and is not asked again before it has answered.
func (in checked) CheckReady() error {
	if !in.checking.CompareAndSwap(false, true) {
		return in.errSlowCheck()
	}
	answered := make(chan error, 1)
	go func() {
		_, err := in.session.ask(context.Background(), host.CheckReady, in.id())
		in.checking.Store(false)
		answered <- err
	}()
	t := time.NewTimer(readinessLimit)
	defer t.Stop()
	select {
	case err := <-answered:
		return err
	case <-t.C:
		return in.errSlowCheck()
	}
}

func (in *instance) errSlowCheck() error {
	return status.New(status.Unavailable, "the readiness check of instance '%s' has not been answered, or took longer than %s", in.name, readinessLimit)
}

// id returns the number of the instance as the body of a question.
func (in *instance) id() []byte { return binary.LittleEndian.AppendUint32(nil, in.number) }

// Broken delivers why the child has ended, or why the instance in it has broken.
func (in *instance) Broken() <-chan error {
	broken := make(chan error, 1)
	go func() {
		select {
		case err := <-in.broken:
			broken <- err
		case <-in.session.ended:
			broken <- in.session.err
		case <-in.closed:
		}
	}()
	return broken
}

// Execute sends a batch to the child and its answers to the clients.
func (in *instance) Execute(ctx context.Context, b *infer.Batch) error {
	s := in.session
	first := s.open(in, b.Requests)
	in.runs.Add(1)
	in.guard.Enter(ctx)
	in.limit.Begin()
	err := in.execute(b, first)
	in.limit.End()
	in.guard.Leave()
	in.runs.Add(1)
	if err != nil {
		s.discard(first, len(b.Requests))
	}
	return err
}

// execute runs a batch whose requests are open with the numbers from first on.
func (in *instance) execute(b *infer.Batch, first uint64) error {
	s := in.session
	m := in.out.Begin(host.Execute)
	m.Uint32(in.number)
	m.Uint64(first)
	m.Uint8(boolByte(s.decoupled))
	m.Uint32(uint32(len(b.Requests)))
	in.sent = in.sent[:0]
	for _, r := range b.Requests {
		if err := host.PutRequest(m, r, in); err != nil {
			for _, number := range in.sent {
				s.blocks.Drop(number)
			}
			return err
		}
	}
	s.putReturns(m)
	sent := infer.Now()
	if err := s.process.PostWait(m); err != nil {
		return in.violated(err)
	}
	select {
	case <-in.results:
	case <-s.ended:
		select {
		case <-in.results:
		default:
			return in.lost()
		}
	}
	return in.apply(b, first, sent)
}

// Place makes an input available to the child.
func (in *instance) Place(d *tensor.Data) (host.Place, error) {
	p, err := in.session.place(d)
	if err == nil {
		in.sent = append(in.sent, p.Block)
	}
	return p, err
}

// Copied counts bytes that are copied to a frame.
func (in *instance) Copied(n int) { in.session.pool.CopiedToModel(n) }

// lost returns the error of a batch whose child has ended.
func (in *instance) lost() error {
	in.session.applied(in)
	return in.session.err
}

// violated ends a child that has violated the protocol, and returns the error of the batch.
func (in *instance) violated(err error) error {
	in.session.applied(in) // the end of the child waits for it
	return in.session.violated(err)
}

// apply answers the requests of a batch with its result.
func (in *instance) apply(b *infer.Batch, first uint64, sent int64) error {
	s := in.session
	defer s.applied(in)
	r := child.NewReader(in.body)
	now := infer.Now()
	b.InputEnd = timeAfter(sent, r.Uint64(), now)
	b.OutputStart = timeAfter(sent, r.Uint64(), now)
	if b.OutputStart != 0 {
		b.OutputStart = max(b.OutputStart, b.InputEnd)
	}
	if err := host.ReadError(r); err != nil {
		s.released(r)
		if r.Err() != nil {
			return in.violated(r.Err())
		}
		return err
	}
	if int(r.Uint32()) != len(b.Requests) {
		return in.violated(child.ErrFrame)
	}
	outcomes := in.all[:0]
	defer func() {
		clear(outcomes)
		in.all = outcomes
	}()
	for range b.Requests {
		outcomes = append(outcomes, s.outcome(r))
	}
	s.released(r)
	if r.Err() != nil {
		for i := range outcomes {
			outcomes[i].release()
		}
		return in.violated(r.Err())
	}
	for i, req := range b.Requests {
		s.conclude(first+uint64(i), req, &outcomes[i])
	}
	return nil
}

// timeAfter returns the time of something that the child did, by infer.Now, from the time since the
// batch began; 0 if the backend did not say when.
func timeAfter(sent int64, since uint64, now int64) int64 {
	if since == 0 {
		return 0
	}
	return sent + int64(min(since, uint64(max(now-sent, 0))))
}

// outcome is what a batch did with a request.
type outcome struct {
	flags    uint8
	states   []kserve.Tensor
	response *infer.Response
}

func (s *session) outcome(r *child.Reader) (o outcome) {
	o.flags = r.Uint8()
	var lost error
	for range r.Uint32() {
		if r.Err() != nil {
			return o
		}
		o.states = append(o.states, kserve.Tensor{})
		if err := host.ReadOutput(r, &o.states[len(o.states)-1], s); err != nil {
			lost = err
		}
	}
	if o.flags&host.Answered != 0 {
		o.response = host.ReadResponse(r, s)
	}
	if lost != nil { // the request fails, and the sequence keeps its state
		kserve.ReleaseTensors(o.states)
		o.states = nil
		if o.response == nil {
			o.response = infer.NewResponse()
		}
		o.response.Err, o.flags = lost, o.flags|host.Answered
	}
	return o
}

func (o *outcome) release() {
	kserve.ReleaseTensors(o.states)
	if o.response != nil {
		o.response.Release()
	}
}

// interrupt asks the child to end the batch that runs, and kills a child that does not.
func (in *instance) interrupt() {
	var m child.Message
	m.Begin(host.Interrupt).Uint32(in.number)
	_ = in.session.process.Post(&m) // the body is short
	running := in.runs.Load()
	time.AfterFunc(interruptGrace, func() {
		if in.runs.Load() == running {
			in.session.process.Fail("a batch did not end when it was interrupted")
		}
	})
}

// interruptGrace is how long a batch may take to end after its context has ended.
const interruptGrace = time.Second

// Close closes the instance in the child. A child that does not close it in time is killed.
func (in *instance) Close() error {
	close(in.closed)
	in.guard.Close()
	s := in.session
	var err error
	if !s.hasEnded() {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		_, err = s.ask(ctx, host.CloseInstance, in.id())
	}
	s.removeInstance(in)
	s.abandon(in)
	if s.hasEnded() {
		return nil // its end was reported before
	}
	return err
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
