package instance_test

import (
	"context"
	"fmt"
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
	"triton/server/stats"
)

func decoupled(cfg *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	return cfg
}

// letters returns the responses that a sink got: "r" for a response, the text of an
// error, "." for the end.
func letters(s *infertest.Sink) string {
	text := ""
	for _, e := range s.Events() {
		switch {
		case e.Err != nil:
			text += "<" + e.Err.Error() + ">"
		case !e.Empty:
			text += "r"
		}
		if e.Final {
			text += "."
		}
	}
	return text
}

func submit(t *testing.T, g *instance.Group, id string) (*infer.Request, *infertest.Sink) {
	t.Helper()
	r, p := request(id, 1), infertest.NewSink()
	r.Sink = p
	require.NoError(t, g.Submit(r))
	return r, p
}

func TestADecoupledRequestIsAnsweredAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, want string
		success      int
		stats        map[string]string // success, fail, empty by index
	}{
		{"f", ".", 1, nil},
		{"| d10 f", ".", 1, nil},
		{"R", "r.", 1, map[string]string{"0": "1 0 0"}},
		{"r r | d10 r d10 R", "rrrr.", 1, map[string]string{"0": "1 0 0", "1": "1 0 0", "2": "1 0 0", "3": "1 0 0"}},
		{"| d10 r d10 e d10 r d10 f", "r<bad>r.", 1, map[string]string{"0": "1 0 0", "1": "0 1 0", "2": "1 0 0"}},
		{"| d10 r d10 0 d10 R", "rr.", 1, map[string]string{"0": "1 0 0", "1": "0 0 1", "2": "1 0 0"}},
		{"| d10 E", "<bad>.", 1, map[string]string{"0": "0 1 0"}},
		{"E", "<bad>.", 0, map[string]string{"0": "0 1 0"}},
		{"r fail", "r<a fault of the backend>.", 0, map[string]string{"0": "1 0 0", "1": "0 1 0"}},
		{"R fail", "r.", 1, map[string]string{"0": "1 0 0"}},
		{"r panic", "r<instance 'm_0_0' of model 'm' broke down during execution>.", 0, map[string]string{"0": "1 0 0", "1": "0 1 0"}},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), backendtest.Scripted(), 1)
				r, p := submit(t, g, c.script)
				<-p.Done()
				r.Release()
				require.Equal(t, c.want, letters(p))
				synctest.Wait()
				require.EqualValues(t, c.success, counters.Counters().Success.Count)
				require.EqualValues(t, 1-c.success, counters.Counters().Failures[stats.Backend])
				got := map[string]string{}
				for index, s := range counters.Snapshot().ResponseStats {
					got[index] = fmt.Sprint(s.Success.Count, s.Fail.Count, s.EmptyResponse.Count)
				}
				if c.stats == nil {
					c.stats = map[string]string{}
				}
				require.Equal(t, c.stats, got)
			})
		})
	}
}

// The instance runs the next batch while the last one is still answered.
func TestADecoupledInstanceIsFreeWhenItsCallReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := backendtest.Scripted()
		g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		one, first := submit(t, g, "| d10 r d10 r d10 r d10 r d10 f")
		two, second := submit(t, g, "| d10 r d10 f")
		<-second.Done()
		require.Equal(t, 20*time.Millisecond, time.Since(e.Begin))
		require.EqualValues(t, 2, counters.Counters().Success.Count, "counted when the call returned")
		<-first.Done()
		one.Release()
		two.Release()
		require.Equal(t, []string{"0: 1", "0: 1"}, e.Rows())
	})
}

func TestADecoupledRequestKeepsItsInputs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := tensor.NewPool()
		e := &backendtest.Model{Begin: time.Now(), Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			r := b.Requests[0]
			go func() {
				time.Sleep(time.Second)
				r.Inputs[0].Data.Segment(0).Buffer.Bytes()[0]++
				r.Respond(infer.NewResponse(), true)
			}()
			return nil
		}
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		r, p := request("", 1), infertest.NewSink()
		r.Sink = p
		r.AddInput().Data = tensor.NewData(pool.Get(10))
		require.NoError(t, g.Submit(r))
		r.Release() // the frontend needs it no more
		<-p.Done()
		synctest.Wait()
		require.Zero(t, pool.Outstanding())
	})
}

func TestACancelledStreamEndsWhenItsBackendSeesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), backendtest.Scripted(), 1)
		r, p := submit(t, g, "| d10 r")
		time.Sleep(50 * time.Millisecond)
		r.Cancel()
		<-p.Done()
		require.Equal(t, "r.", letters(p))
		r.Release()
		require.EqualValues(t, 1, counters.Counters().Success.Count)
	})
}

// A sink that panics on a response gets an error in its place, and no other.
func TestASinkThatPanicsBlocksNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), backendtest.Scripted(), 1)
		r, p := request("r R", 1), infertest.NewSink()
		p.Panics = 1
		r.Sink = p
		require.NoError(t, g.Submit(r))
		<-p.Done()
		r.Release()
		require.Equal(t, "<internal error while the response was written; the server's log has the details>.", letters(p))
		require.True(t, g.Ready())
		require.NoError(t, g.Drain(t.Context()))
	})
}

// A caller of Infer gets the one response of a decoupled model, and may leave.
func TestInferOfADecoupledModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), backendtest.Scripted(), 1)
		require.NoError(t, call(t.Context(), g, request("| d10 r d10 f", 1)))
		require.NoError(t, call(t.Context(), g, request("R", 1)))
		require.EqualError(t, call(t.Context(), g, request("| d10 r d10 r d10 f", 1)), "expected a single response, got 2")
		require.EqualError(t, call(t.Context(), g, request("| d10 f", 1)), "expected a single response, got 0")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		require.Equal(t, status.Cancelled, code(call(ctx, g, request("| d10 r", 1))))
	})
}
