package repository

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// courier is an engine that posts a request to another model, that of the parameter
// "model", and answers its own at once.
type courier struct {
	let  chan struct{} // each post waits for one
	sink sink          // of what it posts
}

type courierModel struct {
	courier
	models infer.Submitter
	target string
}

func (e courier) Load(_ context.Context, s backend.Spec) (backend.Model, error) {
	return &courierModel{e, s.Submitter(), s.Config.GetParameters()["model"].GetStringValue()}, nil
}

func (m *courierModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return m, nil
}

func (m *courierModel) Close() error { return nil }

func (m *courierModel) Execute(_ context.Context, b *infer.Batch) error {
	for _, r := range b.Requests {
		<-m.let
		q := unpooled()
		q.Sink = m.sink
		err := infer.Post(m.models, m.target, "", q)
		resp := infer.NewResponse()
		resp.Err = err
		if err == nil {
			resp.Add("OUTPUT0", r.Inputs[0].DataType, r.Inputs[0].Shape, r.Inputs[0].Data.Clone())
		}
		r.Respond(resp, true)
	}
	return nil
}

// unpooled is plain for a bubble of testing/synctest.
func unpooled() *infer.Request {
	q := infer.NewUnpooled()
	in := q.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape, 4)
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 16)))
	return q
}

// TestPostOutlivesItsRequest: a drain waits also for a request that another one has posted to
// a model that calls others itself, and that was idle when the drain began.
func TestPostOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"to/config.pbtxt": identity, "to/1/": "", "from/1/": "", "from/config.pbtxt": relayTo("to", "", ""),
		"first/config.pbtxt": with(strings.Replace(identity, "identity", "courier", 1), "model: from"), "first/1/": "",
	})
	synctest.Test(t, func(t *testing.T) {
		from := relay{began: make(chan struct{}, 1), let: make(chan struct{})}
		first := courier{make(chan struct{}), make(sink, 1)}
		r, _, err := open(t, func(o *Options) {
			relays(from)(o)
			o.Backends["courier"] = first
		}, dir)
		require.NoError(t, err)
		answer := make(chan error, 1)
		go func() {
			m, err := r.Model("first", "")
			if err == nil {
				defer m.Release()
				q := unpooled()
				defer q.Release()
				var resp *infer.Response
				if resp, err = m.Infer(t.Context(), q); err == nil {
					resp.Release()
				}
			}
			answer <- err
		}()
		synctest.Wait() // first was asked
		ended := make(chan error, 1)
		go func() { ended <- r.Drain(context.Background()) }()
		synctest.Wait()
		first.let <- struct{}{}
		require.NoError(t, <-answer)
		<-from.began
		synctest.Wait()
		require.Empty(t, ended, "what was posted has not ended")
		from.let <- struct{}{}
		require.NoError(t, <-first.sink)
		require.NoError(t, <-ended)
	})
}
