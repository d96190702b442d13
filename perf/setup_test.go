package perf_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, start := newFake(time.Millisecond), time.Now()
		f.silent = true
		rep, _, err := measure(t, f, nil)
		require.Nil(t, rep)
		require.EqualError(t, err, "failed to get model metadata: the server did not answer within 30s")
		require.Equal(t, 30*time.Second, time.Since(start))

		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		start = time.Now()
		rep, err = perf.Run(t.Context(), perf.DefaultConfig("simple"), perf.Deps{Dial: f.dial, Interrupt: stop})
		require.NoError(t, err)
		require.True(t, rep.Interrupted)
		require.Equal(t, time.Second, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = perf.Run(ctx, perf.DefaultConfig("simple"), perf.Deps{Dial: f.dial})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// deafMemory is a server that does not answer a registration, during which the user interrupts
// the run.
type deafMemory struct {
	*fake
	interrupt chan struct{}
}

var _ perf.SharedMemory = deafMemory{}

func (d deafMemory) RegisterSystemMemory(ctx context.Context, _ client.SystemRegion) error {
	close(d.interrupt)
	<-ctx.Done()
	return ctx.Err()
}

func (deafMemory) SystemMemory(context.Context, string) ([]client.SystemRegion, error) {
	return nil, nil
}
func (deafMemory) UnregisterSystemMemory(context.Context, string) error        { return nil }
func (deafMemory) RegisterCUDAMemory(context.Context, client.CUDARegion) error { return nil }
func (deafMemory) UnregisterCUDAMemory(context.Context, string) error          { return nil }

func (deafMemory) PrepareShared(*kserve.Request, lane.Regions, bool) (*lane.Prepared, error) {
	return &lane.Prepared{}, nil
}

func TestInterruptDuringRegistration(t *testing.T) {
	target := deafMemory{newFake(0), make(chan struct{})}
	c := perf.DefaultConfig("simple")
	c.Memory = perf.SystemMemory
	rep, err := perf.Run(t.Context(), c, perf.Deps{
		Dial:      func(context.Context) (perf.Target, error) { return target, nil },
		Interrupt: target.interrupt,
	})
	require.NoError(t, err)
	require.True(t, rep.Interrupted)
	require.Empty(t, rep.Levels)
}
