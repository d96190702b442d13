package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// numbered splits the number off the front of a question.
func numbered(body []byte) (number uint32, rest []byte, err error) {
	if len(body) < 4 {
		return 0, nil, errFrame
	}
	return binary.LittleEndian.Uint32(body), body[4:], nil
}

// instance runs the batches of one instance on a goroutine of its own.
type instance struct {
	host    *host
	number  uint32
	name    string
	backend backend.Instance
	thread  thread
	frames  chan []byte // a batch; has room for one
	done    chan struct{}
	stop    chan struct{} // closed by close

	all   []*request // of the batch
	out   child.Message
	frame []byte // of the batch; the server sends the next one after the result

	mu struct {
		sync.Mutex
		cancel context.CancelFunc // of the batch that runs; nil: none runs
	}
}

func newInstance(h *host, number uint32, name string, b backend.Instance, t thread) *instance {
	in := &instance{host: h, number: number, name: name, backend: b, thread: t, frames: make(chan []byte, 1), done: make(chan struct{}), stop: make(chan struct{})}
	go in.serve()
	if n, ok := b.(backend.BreakNotifier); ok {
		go in.watch(n)
	}
	return in
}

// batch hands a batch to the instance's goroutine. The body is copied, because it is valid
// only until the next frame.
func (in *instance) batch(r *child.Reader) {
	in.frame = append(in.frame[:0], r.Next(uint64(r.Len()))...)
	in.frames <- in.frame
}

func (in *instance) serve() {
	defer close(in.done)
	for {
		select {
		case body := <-in.frames:
			in.run(child.NewReader(body))
		case <-in.stop:
			return
		}
	}
}

// interrupt ends the context of the batch that runs.
func (in *instance) interrupt() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mu.cancel != nil {
		in.mu.cancel()
	}
}

// close waits for the batch that runs and closes the backend's instance.
func (in *instance) close() (err error) {
	close(in.stop)
	<-in.done
	in.thread.call(func() {
		_, err = contained(in.host.log, func() (struct{}, error) { return struct{}{}, in.backend.Close() })
	})
	in.thread.close()
	return err
}

// watch reports a break.
func (in *instance) watch(n backend.BreakNotifier) {
	broken := n.Broken()
	select {
	case err := <-broken:
		if err == nil {
			err = backend.ErrBroken
		}
		var m child.Message
		m.Begin(Broken).Uint32(in.number)
		PutError(&m, err)
		in.host.post(&m)
	case <-in.stop:
	}
}

// run runs a batch and sends the result.
func (in *instance) run(r *child.Reader) {
	b, err := in.read(r)
	ctx, cancel := context.WithCancel(context.Background())
	in.mu.Lock()
	in.mu.cancel = cancel
	in.mu.Unlock()
	begin := infer.Now()
	if err == nil {
		for _, q := range in.all {
			q.Lend(q, q.decoupled)
		}
		err = in.execute(ctx, b)
	}
	in.mu.Lock()
	in.mu.cancel = nil
	in.mu.Unlock()
	cancel()
	m := in.out.Begin(Result)
	m.Uint32(in.number)
	m.Uint64(uint64(max(b.InputEnd-begin, 0)))
	m.Uint64(uint64(max(b.OutputStart-begin, 0)))
	PutError(m, err)
	if err == nil {
		m.Uint32(uint32(len(in.all)))
		for _, q := range in.all {
			q.result(m)
		}
	} else {
		for _, q := range in.all {
			q.revoke(err)
		}
	}
	in.host.memory.putReleased(m)
	in.host.post(m)
	for _, q := range in.all {
		q.returned()
	}
	clear(in.all)
	in.all = in.all[:0]
}

// execute calls the backend, on the thread of the instance if it is bound to one.
func (in *instance) execute(ctx context.Context, b *infer.Batch) error {
	if in.thread.bound != nil {
		return in.executeBound(ctx, b)
	}
	return in.executeHere(ctx, b)
}

// executeBound is a function of its own because the result moves to the heap.
func (in *instance) executeBound(ctx context.Context, b *infer.Batch) (err error) {
	in.thread.call(func() { err = in.executeHere(ctx, b) })
	return err
}

// executeHere calls the backend. A panic breaks the instance.
func (in *instance) executeHere(ctx context.Context, b *infer.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logPanic(in.host.log, "an instance of an isolated model", p)
			err = &status.Error{
				Code: status.Internal, Msg: fmt.Sprintf("instance '%s' of model '%s' broke down during execution", in.name, in.host.name), Cause: fmt.Errorf("%w: panic: %v", backend.ErrBroken, p),
			}
		}
	}()
	return in.backend.Execute(ctx, b)
}

// read reads the requests of a batch.
func (in *instance) read(r *child.Reader) (*infer.Batch, error) {
	h := in.host
	first, decoupled := r.Uint64(), r.Uint8() != 0
	b := &infer.Batch{}
	var wrong error
	for i := range uint64(r.Uint32()) {
		q := &request{Request: infer.NewRequest(), in: in, id: first + i}
		q.Sink, q.Pool, q.Log = q, h.memory.pool, h.log
		q.ModelName, q.ModelVersion = h.name, h.version
		if err := readRequest(r, q.Request, q, h.memory); err != nil && wrong == nil {
			wrong = err
		}
		q.decoupled = decoupled && !q.Membership.Null
		in.all = append(in.all, q)
		b.Add(q.Request)
	}
	h.memory.returned(r)
	if r.Err() != nil {
		panic("a malformed batch: " + r.Err().Error())
	}
	h.mu.Lock()
	for _, q := range in.all {
		h.mu.open[q.id] = q
		q.Move(infer.Decoded, infer.Executing)
	}
	h.mu.Unlock()
	return b, wrong
}
