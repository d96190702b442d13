package python

import (
	"context"
	"errors"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// instance runs batches in its child.
type instance struct {
	model  *model
	child  *process
	events *events
	ended  chan struct{} // closed when the child has ended and its open requests are answered

	// grant is memory for the outputs of the batch that runs. need is the size that the
	// last batch needed.
	grant *tensor.Buffer
	need  int

	sent    []uint32 // the blocks of the batch that runs
	results []result // of it
	text    []byte
	guard   *child.Guard
	limit   *child.Deadline // of a call of execute
}

var (
	_ backend.Instance      = (*instance)(nil)
	_ backend.BreakNotifier = (*instance)(nil)
	_ backend.ProcessOwner  = (*instance)(nil)
)

func newInstance(m *model, c *process) *instance {
	in := &instance{model: m, child: c, events: c.events, ended: make(chan struct{})}
	in.guard = child.NewGuard(c.process.Kill)
	in.limit = child.NewDeadline(m.executeLimit, func() {
		c.process.Fail("execute took longer than " + m.executeLimit.String() + " (python_execute_limit_milliseconds)")
	})
	go func() {
		defer close(in.ended)
		in.events.end(unhealthy(c.name, c.process.Exit()))
	}()
	return in
}

// Process returns the ID of the child; 0 once it has ended.
func (in *instance) Process() int {
	select {
	case <-in.ended:
		return 0
	default:
		return in.child.process.PID()
	}
}

// Broken delivers why the child has ended.
func (in *instance) Broken() <-chan error {
	broken := make(chan error, 1)
	go func() {
		<-in.ended
		exit := in.child.process.Exit()
		broken <- exit
		if text := exit.Output(); text != "" {
			in.model.spec.Log.Debug("the last lines of a Python process", "instance", in.child.name, "stderr", text)
		}
	}()
	return broken
}

// Execute sends a batch to the child and its answers to the clients.
func (in *instance) Execute(ctx context.Context, b *infer.Batch) error {
	in.guard.Enter(ctx)
	defer in.guard.Leave()
	first := in.events.add(b.Requests, in.model.decoupled)
	in.limit.Begin()
	err := in.execute(b, first)
	in.limit.End()
	if err != nil {
		in.events.discard(first, len(b.Requests))
	}
	return err
}

// execute runs a batch whose requests are open with the numbers from first on.
func (in *instance) execute(b *infer.Batch, first uint64) error {
	m := in.child.out.Begin(frameExecute)
	m.Uint32(uint32(len(b.Requests)))
	m.Uint64(first)
	in.offer(m)
	defer in.withdraw()
	in.sent = in.sent[:0]
	for _, r := range b.Requests {
		if err := in.put(m, r); err != nil {
			for _, number := range in.sent {
				in.events.dropBlock(number)
			}
			return err
		}
	}
	if err := in.child.control.Send(m); err != nil {
		return in.lost()
	}
	b.InputEnd = infer.Now()
	body, err := in.wait()
	b.OutputStart = infer.Now()
	if err != nil {
		return err
	}
	return in.answer(b, first, child.NewReader(body))
}

// wait returns the result of the batch. Meanwhile it gives the child the memory that it needs.
func (in *instance) wait() ([]byte, error) {
	for {
		f, err := in.child.control.Receive()
		if errors.Is(err, child.ErrFrame) {
			return nil, in.violated(err)
		}
		if err != nil {
			return nil, in.lost()
		}
		switch f.Kind {
		case frameResult:
			return f.Body, nil
		case frameNeed:
			err = in.enlarge(child.NewReader(f.Body))
		default:
			err = in.violated(child.ErrFrame)
		}
		if err != nil {
			return nil, err
		}
	}
}

// enlarge gives the child more memory for outputs.
func (in *instance) enlarge(r *child.Reader) error {
	n := r.Uint64()
	if r.Err() != nil {
		return in.violated(r.Err())
	}
	in.withdraw()
	in.need = int(min(n, maxOutputs))
	m := in.child.out.Begin(frameGrant)
	in.offer(m)
	if err := in.child.control.Send(m); err != nil {
		return in.lost()
	}
	return nil
}

// offer allocates memory for the outputs and writes its range. Without memory the range is
// empty: the child asks again with the size that it needs, and then the model gets an error.
func (in *instance) offer(m *child.Message) {
	grant, offset, err := in.model.memory.allocate(in.need)
	if err != nil {
		in.need = 0
	}
	in.grant = grant
	m.Uint64(uint64(offset))
	m.Uint64(uint64(in.need))
}

// withdraw takes back what offer gave.
func (in *instance) withdraw() {
	if in.grant != nil {
		in.grant.Release()
		in.grant = nil
	}
}

// lost returns the error of a child whose control channel is closed, after the requests that
// earlier batches left to response senders have ended.
func (in *instance) lost() error {
	err := in.child.lost()
	<-in.ended
	return err
}

// violated ends a child that has violated the protocol, and returns the error.
func (in *instance) violated(err error) error {
	err = in.child.violated(err)
	<-in.ended
	return err
}

// Close runs finalize and ends the child.
func (in *instance) Close() error {
	in.guard.Close()
	err := in.child.end(in.model.settings.stop)
	<-in.ended
	in.events.free()
	in.events.releaseMetrics(in.child.process.Exit())
	return err
}
