package instance_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
)

// later makes a backend of a model with one response answer after its call:
// after the time in answer the final response, after that in letGo the end of its
// use.
func later(answer, letGo time.Duration, err error) *backendtest.Model {
	m := &backendtest.Model{Own: true}
	m.Run = func(_ context.Context, b *infer.Batch) error {
		for _, r := range b.Requests {
			r.Keep()
			m.Go(func() {
				if answer < letGo {
					time.Sleep(answer)
					reply(r, err)
					time.Sleep(letGo - answer)
					r.LetGo()
					return
				}
				time.Sleep(letGo)
				r.LetGo()
				time.Sleep(answer - letGo)
				reply(r, err)
			})
		}
		return nil
	}
	return m
}

func reply(r *infer.Request, err error) {
	resp := infer.NewResponse()
	resp.Err = err
	r.Respond(resp, true)
}

// TestAModelMayAnswerAfterItsCall tests models that are not decoupled. The instance is free at
// once, the client gets the response when it is sent, the inputs are released when the backend has
// let go, and the statistics contain the request before the response is sent.
func TestAModelMayAnswerAfterItsCall(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		answer, letGo time.Duration
		err           error
	}{
		"at once":          {0, 0, nil},
		"later":            {30 * ms, 30 * ms, nil},
		"answers first":    {10 * ms, 50 * ms, nil},
		"lets go first":    {50 * ms, 10 * ms, nil},
		"fails":            {30 * ms, 30 * ms, errors.New("failed")},
		"fails and keeps":  {30 * ms, 90 * ms, errors.New("failed")},
		"lets go, fails":   {30 * ms, 10 * ms, errors.New("failed")},
		"answers in place": {-1, 20 * ms, nil},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, change ...func(*instance.Options)) {
				pool := tensor.NewPool()
				e := later(test.answer, test.letGo, test.err)
				g, counters := group(t, &inferencepb.ModelConfig{}, e, 1, change...)
				begin := time.Now()
				r := request("a", 1)
				r.AddInput().Data = tensor.NewData(pool.Get(64))
				resp, err := g.Infer(t.Context(), r)
				require.Equal(t, max(test.answer, 0), time.Since(begin))
				c := counters.Counters()
				require.EqualValues(t, 1, c.Executions)
				if test.err != nil {
					require.ErrorIs(t, err, test.err)
					require.EqualValues(t, 1, c.Fail.Count)
				} else {
					require.NoError(t, err)
					resp.Release()
					require.EqualValues(t, 1, c.Success.Count)
					require.EqualValues(t, 1, c.Inferences)
				}
				r.Release()
				if test.letGo > test.answer {
					require.EqualValues(t, 1, pool.Outstanding(), "the backend still reads it")
				}
				time.Sleep(100 * ms)
				synctest.Wait()
				require.Zero(t, pool.Outstanding())
			})
		})
	}
}

// TestALateAnswerIsNotWaitedForForever lets callers leave, and drains.
func TestALateAnswerIsNotWaitedForForever(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := later(time.Second, time.Second, nil)
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1, change...)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Equal(t, status.Cancelled, code(call(ctx, g, request("a", 1))))

		r, sink := request("b", 1), infertest.NewSink()
		r.Sink = sink
		require.NoError(t, g.Submit(r))
		r.Release()
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Error(t, g.Drain(ctx), "the backend still has both")
		require.Equal(t, 1, sink.Ends())
		require.Equal(t, status.Unavailable, code(sink.Err()))
		require.NoError(t, g.Drain(t.Context()))
		require.Equal(t, 1, sink.Ends())
	})
}

// TestALateAnswerAfterAFailedCall is dropped: the error of the call was the answer.
func TestALateAnswerAfterAFailedCall(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := &backendtest.Model{Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			for _, r := range b.Requests {
				r.Keep()
			}
			return errors.New("failed")
		}
		g, counters := group(t, &inferencepb.ModelConfig{}, e, 1, change...)
		require.EqualError(t, call(t.Context(), g, request("a", 1)), "failed")
		require.EqualValues(t, 1, counters.Counters().Fail.Count)
	})
}

// TestAnIdleInstanceMayBreak is about children that end while nothing runs, or
// while they keep requests.
func TestAnIdleInstanceMayBreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &backendtest.Model{Own: true, Breaks: true}
		m.Run = func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Keep()
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 1)
		r, sink := request("kept", 1), infertest.NewSink()
		r.Sink = sink
		require.NoError(t, g.Submit(r))
		r.Release()
		synctest.Wait()

		m.Break(errors.New("the child ended with status 1"))
		synctest.Wait()
		require.False(t, g.Ready())
		require.Equal(t, 1, sink.Ends())
		require.ErrorContains(t, sink.Err(), "instance 'm_0_0' of model 'm' broke before it answered")
		life := g.Instances()[0]
		require.Equal(t, instance.Broken, life.State)
		require.Equal(t, "the child ended with status 1", life.Reason)

		time.Sleep(time.Second)
		require.True(t, g.Ready())
		require.EqualValues(t, 2, m.Made())
		require.Equal(t, instance.Status{Name: "m_0_0", State: instance.Ready, Restarts: 1}, g.Instances()[0])
	})
}

// TestTheBackOffGrows counts attempts to replace an instance that cannot be made.
func TestTheBackOffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Make: backendtest.AtMost(1), BatchFault: backendtest.Panic.Always}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1)
		require.Error(t, call(t.Context(), g, request("a", 1)))
		for _, step := range []struct {
			after time.Duration
			made  int
		}{{50 * time.Millisecond, 1}, {time.Second, 4}, {10 * time.Second, 7}, {time.Minute, 10}} {
			time.Sleep(step.after)
			require.Equal(t, step.made, e.Made(), "%s later", step.after)
		}
		require.Equal(t, instance.Broken, g.Instances()[0].State)
	})
}
