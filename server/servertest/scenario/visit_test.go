package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	rpcstatus "google.golang.org/grpc/status"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/repository"
)

// visit is one request to our server.
type visit struct {
	repository *repository.Repository
	pool       *tensor.Pool

	mu    sync.Mutex
	reply func(string) // nil: nobody listens any more
	ended chan struct{}
}

// respond sends the client a response; final marks the last one.
func (v *visit) say(text string, last bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reply != nil {
		v.reply(text)
	}
	if last {
		v.reply = nil
	}
}

// hangUp returns the error that a client sees when it cancels.
func (v *visit) hangUp(ctx context.Context) {
	v.say(rpcstatus.FromContextError(ctx.Err()).Code().String(), true)
}

func (v *visit) call(ctx context.Context, e *Event, m *Model) {
	model, err := v.repository.Model(m.Name, "")
	if err != nil {
		v.fail(ctx, m, err)
		return
	}
	defer model.Release()
	r := v.request(e, m)
	defer r.Release()
	stop := context.AfterFunc(ctx, func() {
		v.hangUp(ctx)
		if m.Streams() {
			r.Cancel()
		}
	})
	defer stop()
	if m.Streams() {
		v.submit(ctx, model, r)
		return
	}
	resp, err := model.Infer(ctx, r)
	if err != nil {
		v.fail(ctx, m, err)
		return
	}
	v.say(strings.TrimSpace("OK "+written(resp)), true)
	resp.Release()
}

func (v *visit) fail(ctx context.Context, m *Model, err error) {
	if m.Streams() {
		v.say("error: "+err.Error(), true)
		return
	}
	v.say(ended(ctx, status.CodeOf(err).GRPC(), err.Error()), true)
}

func (v *visit) submit(ctx context.Context, model infer.Model, r *infer.Request) {
	v.ended = make(chan struct{})
	r.Sink = v
	if err := model.Submit(r); err != nil {
		v.say("error: "+err.Error(), true)
		return
	}
	<-v.ended
}

// Send takes a response of a stream.
func (v *visit) Send(resp *infer.Response, final bool) {
	switch {
	case resp == nil:
		v.say("final", true)
	case resp.Err != nil:
		v.say("error: "+resp.Err.Error(), final)
	case final:
		v.say("OK "+written(resp)+" final", true)
	default:
		v.say("OK "+written(resp), false)
	}
	if resp != nil {
		resp.Release()
	}
	if final {
		close(v.ended)
	}
}

// request returns the request that a frontend would make.
func (v *visit) request(e *Event, m *Model) *infer.Request {
	a := &e.Request
	r := infer.NewUnpooled()
	r.ModelName, r.ID, r.Priority = m.Name, e.Name, a.Priority
	r.SequenceStart, r.SequenceEnd, r.TimeoutMicros = a.Start, a.End, uint64(a.Timeout.Microseconds())
	if id, ok := a.Number(); ok {
		r.SequenceID = id
	} else {
		r.SequenceIDStr = a.Sequence
	}
	for _, name := range a.Inputs {
		if name == "" {
			continue
		}
		in := r.AddInput()
		in.Name, in.DataType, in.Shape = name, tensor.Int32, a.shape(m)
		data := a.data()
		b := v.pool.Get(len(data))
		copy(b.Bytes(), data)
		in.Data = tensor.NewData(b)
	}
	for _, name := range a.Outputs {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: name})
	}
	return r
}

// written is the data and parameters of a response.
func written(r *infer.Response) string {
	var parts []string
	for i := range r.Outputs {
		raw := make([]byte, r.Outputs[i].Data.Len())
		r.Outputs[i].Data.CopyTo(raw)
		parts = append(parts, Values(r.Outputs[i].Name, numbers(raw)))
	}
	all := slices.Clone(r.Parameters)
	slices.SortStableFunc(all, func(a, b kserve.Parameter) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range all {
		switch p.Kind {
		case kserve.ParamBool:
			parts = append(parts, fmt.Sprintf("%s:%v", p.Name, p.Bool))
		case kserve.ParamInt:
			parts = append(parts, fmt.Sprintf("%s:%d", p.Name, p.Int))
		case kserve.ParamString:
			parts = append(parts, fmt.Sprintf("%s:%q", p.Name, p.String))
		}
	}
	return strings.Join(parts, " ")
}
