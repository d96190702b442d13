package instance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

func TestDrainWaitsForStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := backendtest.Scripted()
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		r, p := submit(t, g, "| d10 r d10 r d10 r d10 f")
		defer r.Release()
		synctest.Wait()
		require.NoError(t, g.Drain(context.Background()))
		require.Equal(t, "rrr.", letters(p))
		require.Equal(t, 40*time.Millisecond, time.Since(e.Begin))
		require.Equal(t, 2, e.Closed())
	})
}

// What was recorded of a stream is complete when the drain is over.
func TestDrainWaitsForTheTracesOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), backendtest.Scripted(), 1)
		r, ended := request("| d10 R", 1), false
		r.Sink = infertest.NewSink()
		r.Trace = infertest.TraceFunc(func(e infer.Event) { // takes a second to be written
			if e.Kind == infer.EventEnded {
				time.Sleep(time.Second)
				ended = true
			}
		})
		require.NoError(t, g.Submit(r))
		r.Release()
		synctest.Wait()
		require.NoError(t, g.Drain(context.Background()))
		require.True(t, ended)
	})
}

// A drain that times out answers the open requests itself; the backend sees the cancel and
// ends, and the memory is released.
func TestADrainThatGivesUpAnswersStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := backendtest.Scripted()
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		r, p := submit(t, g, "| d10 r d10 r d10 r d10 r d10 r")
		defer r.Release()
		ctx, cancel := context.WithTimeout(context.Background(), 35*time.Millisecond)
		defer cancel()
		require.ErrorContains(t, g.Drain(ctx), "instances still run")
		<-p.Done()
		const want = "rrr<[request id: | d10 r d10 r d10 r d10 r d10 r] Server is stopping, scheduler for model has stopped accepting new inference requests>."
		require.Equal(t, want, letters(p))
		require.NoError(t, g.Drain(context.Background()))
		require.Equal(t, want, letters(p), "what comes later is dropped")
		require.True(t, r.Cancelled())
	})
}
