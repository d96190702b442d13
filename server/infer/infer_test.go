package infer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func TestList(t *testing.T) {
	t.Parallel()
	a, b, c := infer.NewRequest(), infer.NewRequest(), infer.NewRequest()
	for name, test := range map[string]struct {
		remove []*infer.Request
		left   []*infer.Request
	}{
		"none":      {nil, []*infer.Request{a, b, c}},
		"front":     {[]*infer.Request{a}, []*infer.Request{b, c}},
		"middle":    {[]*infer.Request{b}, []*infer.Request{a, c}},
		"back":      {[]*infer.Request{c}, []*infer.Request{a, b}},
		"both ends": {[]*infer.Request{a, c}, []*infer.Request{b}},
		"all":       {[]*infer.Request{b, a, c}, nil},
	} {
		var l infer.List
		for _, r := range []*infer.Request{a, b, c} {
			l.Push(r)
		}
		for _, r := range test.remove {
			l.Remove(r)
		}
		require.Equal(t, len(test.left), l.Len(), name)
		var walked []*infer.Request
		for r := l.Front(); r != nil; r = r.Next() {
			walked = append(walked, r)
		}
		for i, r := range test.left {
			require.Same(t, r, walked[i], name)
			require.Same(t, r, l.Pop(), name)
		}
		require.Nil(t, l.Pop(), name)
		require.Zero(t, l.Len(), name)
	}
}

func TestTheMemoryComesBackWithTheLastReference(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r := infer.NewRequest()
	r.AddInput().Data = tensor.NewData(pool.Get(100))
	r.Unary()
	resp := infer.NewResponse()
	resp.Add("OUT", tensor.Uint8, tensor.Shape{100}, tensor.NewData(pool.Get(100)))
	r.Hold()
	r.Respond(resp, true)
	r.Release()
	require.EqualValues(t, 2, pool.Outstanding())
	r.Release()
	require.Zero(t, pool.Outstanding(), "also that of a response that nobody took")
	require.Panics(t, r.Release)
}

func TestAnswersAfterTheFinalOneAreDropped(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	answer := func() *infer.Response {
		resp := infer.NewResponse()
		resp.Add("OUT", tensor.Uint8, tensor.Shape{100}, tensor.NewData(pool.Get(100)))
		return resp
	}
	r := infer.NewRequest()
	r.Unary()
	r.Respond(answer(), true)
	require.False(t, r.RespondedAfterFinal())
	r.Respond(answer(), true)
	r.Respond(answer(), false)
	r.Respond(nil, true)
	require.True(t, r.RespondedAfterFinal())
	require.NoError(t, r.Failure())
	resp, err := r.Wait(context.Background())
	require.NoError(t, err)
	resp.Release()
	require.Zero(t, pool.Outstanding())
}

func TestWait(t *testing.T) {
	t.Parallel()
	t.Run("the end of the context", func(t *testing.T) {
		t.Parallel()
		failure := errors.New("failed")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(failure)
		r := infer.NewRequest()
		r.Unary()
		_, err := r.Wait(ctx)
		require.ErrorIs(t, err, failure)
		require.True(t, r.Cancelled())
	})
	t.Run("held until delivered", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r := infer.NewRequest()
		r.ModelName, r.ID = "m", "7"
		r.Unary()
		r.Hold()
		r.Respond(infer.NewResponse(), true)
		_, err := r.Wait(ctx)
		require.ErrorIs(t, err, context.Canceled)
		before := infer.Now()
		r.Deliver()
		require.GreaterOrEqual(t, r.Times.Answered, before, "the time of the delivery")
		resp, err := r.Wait(context.Background())
		require.NoError(t, err)
		require.Equal(t, "m", resp.ModelName)
		require.Equal(t, "7", resp.ID)
	})
	t.Run("taken by the caller that ran it", func(t *testing.T) {
		t.Parallel()
		r := infer.NewRequest()
		r.Unary()
		r.Hold()
		r.Fail(errors.New("no"))
		require.Error(t, r.Failure())
		require.Zero(t, r.Times.Answered)
		_, err := r.Take(t.Context())
		require.EqualError(t, err, "no")
		require.NotZero(t, r.Times.Answered)
	})
	t.Run("no response at all", func(t *testing.T) {
		t.Parallel()
		r := infer.NewRequest()
		r.Unary()
		r.Respond(nil, true)
		_, err := r.Wait(context.Background())
		require.EqualError(t, err, "expected a single response, got 0")
		require.Equal(t, status.Internal, status.CodeOf(err))
		require.Error(t, r.Failure())
	})
}

func TestCancelWith(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	r := infer.NewRequest()
	r.CancelWith(ctx)
	require.False(t, r.Cancelled())
	cancel()
	require.True(t, r.Cancelled())
}

func TestTag(t *testing.T) {
	t.Parallel()
	r := infer.NewRequest()
	require.Equal(t, "[request id: <id_unknown>] ", r.Tag())
	r.ID = "a"
	require.Equal(t, "[request id: a] ", r.Tag())
}

func TestARequestComesBackClean(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector makes sync.Pool forget on purpose")
	}
	for range 100 {
		r := infer.NewRequest()
		require.Equal(t, infer.Decoded, r.State())
		require.False(t, r.Cancelled() || r.Failure() != nil || r.RespondedAfterFinal())
		require.Empty(t, r.ID)
		require.Nil(t, r.Sink)
		r.ID = "x"
		r.Unary()
		r.Cancel()
		r.Fail(errors.New("no"))
		r.Respond(nil, true)
		r.Release()
		r.Release()
	}
}
