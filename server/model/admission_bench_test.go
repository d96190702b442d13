package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
)

// busyEstimate knows its costs and has all its instances busy.
func busyEstimate() *finishEstimate {
	e := learnedEstimate(4, 32, simulate.Linear(ms, 50*time.Microsecond))
	for slot := range 4 {
		e.Started(slot, &infer.Batch{Rows: 32}, 0)
	}
	return e
}

func TestAdmissionAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector")
	}
	e, r := busyEstimate(), infer.NewUnpooled()
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = e.Check(r, 0, 100, time.Second) }))
}

// What admission adds to a request that has a deadline, and to a batch.
func BenchmarkAdmission(b *testing.B) {
	e, r := busyEstimate(), infer.NewUnpooled()
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := e.Check(r, 0, 100, time.Second); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("batch", func(b *testing.B) {
		batch := &infer.Batch{Rows: 8, Requests: make([]*infer.Request, 8)}
		b.ReportAllocs()
		for b.Loop() {
			e.Started(0, batch, 0)
			e.Ended(0, batch, scheduler.Execution{End: int64(ms)})
		}
	})
}
