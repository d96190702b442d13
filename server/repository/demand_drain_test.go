package repository

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/repository/ondemand"
)

// hungModels hang while they are asked, until let is closed.
type hungModels struct {
	ondemand.Models
	asked, let chan struct{}
}

func (m hungModels) Target(context.Context, string) (ondemand.Target, error) {
	close(m.asked)
	<-m.let
	return ondemand.Target{}, nil
}

// TestDrainLeavesDemand: a drain does not wait longer than its context for what hangs.
func TestDrainLeavesDemand(t *testing.T) {
	t.Parallel()
	m := hungModels{asked: make(chan struct{}), let: make(chan struct{})}
	r := &Repository{demand: ondemand.New(ondemand.Options{Models: m, Timeout: time.Hour, MaxWaiting: 1})}
	ended := make(chan error, 1)
	go func() { ended <- r.demand.Await(t.Context(), "a", nil) }()
	<-m.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.endDemand(ctx), "loads on demand have not ended: context canceled")
	close(m.let)
	require.NoError(t, r.endDemand(t.Context()))
	require.ErrorIs(t, <-ended, ondemand.ErrUnknown)
}
