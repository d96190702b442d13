package repository

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// courier is a backend that posts a request to another model, that of the parameter
// "model", and answers its own at once.
type courier struct {
	let  chan struct{}    // each post waits for one
	sink infertest.Errors // of what it posts
}

func (e courier) Load(_ context.Context, s backend.Spec) (backend.Model, error) {
	models, target := s.Submitter(), s.Config.GetParameters()["model"].GetStringValue()
	return &backendtest.Model{Spec: s, Run: func(context.Context, *infer.Batch) error {
		<-e.let
		q := unpooled()
		q.Sink = e.sink
		return post(models, target, "", q)
	}}, nil
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
		first := courier{make(chan struct{}), make(infertest.Errors, 1)}
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
