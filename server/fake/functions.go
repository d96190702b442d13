package fake

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"triton/pkg/client"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// functions is the backend of the models.
type functions struct {
	models map[string]Model
	seen   func(model string, req *client.Request)
}

// Load implements backend.Backend.
func (b *functions) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	m, ok := b.models[spec.Name]
	if !ok {
		return nil, status.New(status.NotFound, "the test has no model '%s'", spec.Name)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &model{
		Model: m, name: spec.Name, decoupled: spec.Config.Decoupled(),
		seen: b.seen, ctx: ctx, stop: stop,
	}, nil
}

// model is a model and its instances, which have no state.
type model struct {
	Model
	name      string
	decoupled bool
	seen      func(model string, req *client.Request)
	ctx       context.Context // ends when the model is closed
	stop      context.CancelFunc
	running   sync.WaitGroup
}

// NewInstance implements backend.Model.
func (m *model) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return instance{m}, nil
}

// Close implements backend.Model.
func (m *model) Close() error {
	m.stop()
	m.running.Wait()
	return nil
}

type instance struct{ *model }

// Close implements backend.Instance.
func (instance) Close() error { return nil }

// Execute starts the function for each request, so a slow answer holds up no other.
func (in instance) Execute(_ context.Context, batch *infer.Batch) error {
	batch.InputEnd = infer.Now()
	batch.OutputStart = batch.InputEnd
	for _, r := range batch.Requests {
		if !in.decoupled {
			r.Keep()
		}
		in.running.Go(func() { in.answer(r) })
	}
	return nil
}

// answer calls the function and ends the request.
func (m *model) answer(r *infer.Request) {
	if !m.decoupled {
		defer r.LetGo()
	}
	req := request(r)
	m.seen(m.name, req)
	ctx, stop := m.context(r)
	var last *infer.Response // of a model that is not decoupled
	sent := 0
	err := m.call(ctx, req, func(resp *client.Response) error {
		converted, err := response(r, resp)
		if err != nil {
			return err
		}
		sent++
		switch {
		case m.decoupled:
			r.Respond(converted, false)
		case last == nil:
			last = converted
		default:
			converted.Release()
		}
		return nil
	})
	stop() // before the end of the request, which it asks
	if err == nil && !m.decoupled && sent != 1 {
		err = status.New(status.Internal, "the test's model '%s' sent %d responses; a model that is not decoupled sends one", m.name, sent)
	}
	if err == nil {
		r.Respond(last, true)
		return
	}
	if last != nil {
		last.Release()
	}
	r.Fail(err)
}

// call calls the function; a panic is an error.
func (m *model) call(ctx context.Context, req *client.Request, send func(*client.Response) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.New(status.Internal, "the test's model '%s' has panicked: %v\n%s", m.name, v, debug.Stack())
		}
	}()
	return m.Answer(ctx, req, send)
}

// context returns a context that ends when the request is cancelled or the model is closed.
func (m *model) context(r *infer.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond) // a request is asked whether it is cancelled
		defer tick.Stop()
		for !r.Cancelled() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

// request copies what the client sent.
func request(r *infer.Request) *client.Request {
	req := &client.Request{
		Model: r.ModelName, Version: r.ModelVersion, ID: r.ID, Priority: r.Priority,
		Timeout: r.Timeout(), EmptyFinal: r.EmptyFinal,
		Sequence:   client.Sequence{ID: r.SequenceID, Text: r.SequenceIDStr, Start: r.SequenceStart, End: r.SequenceEnd},
		Parameters: map[string]any{},
	}
	for i := range r.Parameters {
		req.Parameters[r.Parameters[i].Name] = r.Parameters[i].Value()
	}
	for i := range r.Inputs {
		in := &r.Inputs[i]
		data := make([]byte, in.Data.Len())
		in.Data.CopyTo(data)
		req.Inputs = append(req.Inputs, client.Tensor{Name: in.Name, Datatype: in.DataType.String(), Shape: append([]int64(nil), in.Shape...), Data: data})
	}
	for i := range r.Outputs {
		req.Outputs = append(req.Outputs, client.RequestedOutput{Name: r.Outputs[i].Name, Classes: int(r.Outputs[i].Classification)})
	}
	return req
}

// response converts an answer of the test. Outputs that the client did not request are left out, as
// backends do.
func response(r *infer.Request, from *client.Response) (*infer.Response, error) {
	to := infer.NewResponse()
	if from == nil {
		return to, nil
	}
	for name, value := range from.Parameters {
		p, err := kserve.NewParameter(name, value)
		if err != nil {
			to.Release()
			return nil, err
		}
		to.Parameters = append(to.Parameters, p)
	}
	for _, t := range from.Outputs {
		if !r.Wants(t.Name) {
			continue
		}
		kind, ok := tensor.ParseDataType(t.Datatype)
		if !ok {
			to.Release()
			return nil, fmt.Errorf("output %q has the unknown data type %q", t.Name, t.Datatype)
		}
		to.Add(t.Name, kind, t.Shape, tensor.NewData(tensor.HeapBuffer(append([]byte(nil), t.Data...))))
	}
	return to, nil
}
