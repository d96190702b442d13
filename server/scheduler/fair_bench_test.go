package scheduler_test

import (
	"fmt"
	"testing"

	"triton/server/infer"
	"triton/server/scheduler"
)

// BenchmarkFullFairQueue is an arrival at a full queue of many callers: the newest request of the
// caller that has most makes room.
func BenchmarkFullFairQueue(b *testing.B) {
	for _, callers := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			q := scheduler.NewPriorityQueue(scheduler.NoBatching{}, scheduler.Rules{Fair: true, DefaultPolicy: scheduler.QueuePolicy{Limit: 2 * callers}})
			who := make([]*infer.Caller, callers)
			push := func(by *infer.Caller) error {
				r := infer.NewUnpooled()
				r.Caller, r.Batch = by, 1
				return q.Push(r, 1)
			}
			for i := range who {
				who[i] = &infer.Caller{}
			}
			for i := range 2 * callers {
				if err := push(who[i%callers]); err != nil {
					b.Fatal(err)
				}
			}
			next := &infer.Caller{}
			b.ReportAllocs()
			for b.Loop() {
				_ = push(next)
			}
		})
	}
}
