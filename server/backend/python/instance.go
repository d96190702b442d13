package python

import (
	"context"
	"errors"
	"slices"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// align is where tensors begin that share a buffer.
const align = 64

// instance runs batches in its child.
type instance struct {
	model *model
	child *process

	// blocks are the inputs that the child may still read, by number.
	blocks map[uint32]*tensor.Buffer
	last   uint32
	// grant is memory for the outputs of the batch that runs, need how much the last
	// batch needed.
	grant *tensor.Buffer
	need  int

	sent []uint32 // the blocks of the batch that runs
	text []byte
}

var (
	_ backend.Instance      = (*instance)(nil)
	_ backend.BreakNotifier = (*instance)(nil)
)

func newInstance(m *model, c *process) *instance {
	return &instance{model: m, child: c, blocks: map[uint32]*tensor.Buffer{}}
}

// Broken delivers why the child has ended.
func (in *instance) Broken() <-chan error {
	broken := make(chan error, 1)
	go func() {
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
	defer context.AfterFunc(ctx, in.child.process.Kill)()
	m := in.child.out.Begin(frameExecute)
	m.Uint32(uint32(len(b.Requests)))
	if err := in.offer(m); err != nil {
		return err
	}
	defer in.withdraw()
	in.sent = in.sent[:0]
	for _, r := range b.Requests {
		if err := in.put(m, r); err != nil {
			for _, number := range in.sent {
				in.drop(number)
			}
			return err
		}
	}
	if err := in.child.control.Send(m); err != nil {
		return in.child.lost()
	}
	b.InputEnd = infer.Now()
	body, err := in.wait(b)
	b.OutputStart = infer.Now()
	if err != nil {
		return err
	}
	return in.answer(b, child.NewReader(body))
}

// wait answers the child's questions until the result comes.
func (in *instance) wait(b *infer.Batch) ([]byte, error) {
	for {
		f, err := in.child.control.Receive()
		if errors.Is(err, child.ErrFrame) {
			return nil, in.confused(err)
		}
		if err != nil {
			return nil, in.child.lost()
		}
		switch r := child.NewReader(f.Body); f.Kind {
		case frameResult:
			return f.Body, nil
		case frameNeed:
			err = in.enlarge(r)
		case frameIsCancelled:
			err = in.cancelled(b, r)
		default:
			err = child.ErrFrame
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
		return in.confused(r.Err())
	}
	in.withdraw()
	in.need = int(min(n, 1<<62))
	m := in.child.out.Begin(frameGrant)
	if err := in.offer(m); err != nil {
		in.need = 0
		m = in.child.out.Begin(frameGrant) // the model gets an error
		m.Uint64(0)
		m.Uint64(0)
	}
	if err := in.child.control.Send(m); err != nil {
		return in.child.lost()
	}
	return nil
}

func (in *instance) cancelled(b *infer.Batch, r *child.Reader) error {
	i := r.Uint32()
	if r.Err() != nil || int(i) >= len(b.Requests) {
		return in.confused(child.ErrFrame)
	}
	m := in.child.out.Begin(frameCancelled)
	if b.Requests[i].Cancelled() {
		m.Uint8(1)
	} else {
		m.Uint8(0)
	}
	if err := in.child.control.Send(m); err != nil {
		return in.child.lost()
	}
	return nil
}

// confused ends a child that does not keep to the protocol.
func (in *instance) confused(err error) error {
	in.child.kill()
	return &status.Error{
		Code: status.Internal, Msg: "Stub process '" + in.child.name + "' is not healthy. The cause: " + err.Error(),
		Cause: errors.Join(backend.ErrBroken, err),
	}
}

// offer writes where the child may put outputs.
func (in *instance) offer(m *child.Message) error {
	if in.need == 0 {
		m.Uint64(0)
		m.Uint64(0)
		return nil
	}
	grant, err := in.model.memory.pool.TryGet(in.need)
	if err != nil {
		return status.New(status.Internal, "no memory for %d bytes of outputs: %w", in.need, err)
	}
	_, offset, ok := grant.Shared()
	if !ok {
		grant.Release()
		return status.New(status.Internal, "no memory that Python processes can share for %d bytes of outputs", in.need)
	}
	in.grant = grant
	m.Uint64(uint64(offset))
	m.Uint64(uint64(in.need))
	return nil
}

// withdraw takes back what offer gave.
func (in *instance) withdraw() {
	if in.grant != nil {
		in.grant.Release()
		in.grant = nil
	}
}

// put writes one request.
func (in *instance) put(m *child.Message, r *infer.Request) error {
	flags := uint32(0)
	if r.SequenceStart {
		flags |= 1
	}
	if r.SequenceEnd {
		flags |= 2
	}
	m.Uint32(flags)
	m.Uint64(r.TimeoutMicros)
	if r.SequenceIDStr != "" {
		m.Uint8(1)
	} else {
		m.Uint8(0)
	}
	m.Uint64(r.SequenceID)
	m.String(r.SequenceIDStr)
	m.String(r.ID)
	in.text = appendParameters(in.text[:0], r.Parameters)
	m.Uint32(uint32(len(in.text)))
	m.Raw(in.text)
	if len(r.Outputs) == 0 {
		m.Uint32(uint32(len(in.model.outputs)))
		for _, name := range in.model.outputs {
			m.String(name)
		}
	} else {
		m.Uint32(uint32(len(r.Outputs)))
		for i := range r.Outputs {
			m.String(r.Outputs[i].Name)
		}
	}
	return in.putInputs(m, r)
}

// putInputs copies the inputs to where the child can read them, in one block.
func (in *instance) putInputs(m *child.Message, r *infer.Request) error {
	all := r.Inputs
	if extras := r.Extras(); len(extras) > 0 {
		all = slices.Concat(all, extras)
	}
	size := 0
	for i := range all {
		size += (all[i].Data.Len() + align - 1) &^ (align - 1)
	}
	var block *tensor.Buffer
	at := int64(0)
	if size > 0 {
		var err error
		if block, at, err = in.block(size); err != nil {
			return err
		}
		m.Uint32(in.last)
	} else {
		m.Uint32(0)
	}
	m.Uint32(uint32(len(all)))
	off := 0
	for i := range all {
		t := &all[i]
		n := t.Data.Len()
		m.String(t.Name)
		m.Uint8(uint8(t.DataType))
		m.Uint8(uint8(len(t.Shape)))
		for _, d := range t.Shape {
			m.Uint64(uint64(d))
		}
		m.Uint64(uint64(at + int64(off)))
		m.Uint64(uint64(n))
		if n > 0 {
			t.Data.CopyTo(block.Bytes()[off : off+n])
			in.model.spec.Pool.CopiedToModel(n)
			off += (n + align - 1) &^ (align - 1)
		}
	}
	return nil
}

// block returns memory that the child can read, with a new number.
func (in *instance) block(size int) (*tensor.Buffer, int64, error) {
	b, err := in.model.memory.pool.TryGet(size)
	if err != nil {
		return nil, 0, status.New(status.Internal, "no memory for %d bytes of inputs: %w", size, err)
	}
	_, offset, ok := b.Shared()
	if !ok {
		b.Release()
		return nil, 0, status.New(status.Internal, "no memory that Python processes can share for %d bytes of inputs", size)
	}
	for in.last++; in.last == 0 || in.blocks[in.last] != nil; in.last++ { // numbers of kept blocks are taken
	}
	in.blocks[in.last] = b
	in.sent = append(in.sent, in.last)
	return b, offset, nil
}

// release gives back the inputs that the child does not read any more.
func (in *instance) release(r *child.Reader) {
	for range r.Uint32() {
		if r.Err() != nil {
			return
		}
		in.drop(r.Uint32())
	}
}

func (in *instance) drop(number uint32) {
	if b := in.blocks[number]; b != nil {
		delete(in.blocks, number)
		b.Release()
	}
}

// Close runs finalize and ends the child.
func (in *instance) Close() error {
	err := in.child.end(in.model.settings.stop)
	for number := range in.blocks {
		in.drop(number)
	}
	return err
}
