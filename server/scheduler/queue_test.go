package scheduler_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// later is a policy that waits until an hour after the arrival of the oldest request, and then
// takes all requests.
type later struct{}

func (later) Evaluate(waiting *scheduler.PriorityQueue, now int64, flush bool) scheduler.Decision {
	due := waiting.Front().Position.Since + int64(time.Hour)
	if flush || now >= due {
		return scheduler.Decision{Count: waiting.Len(), Why: stats.Delay}
	}
	return scheduler.Decision{At: due}
}

// hand is an alarm that the test fires.
type hand struct {
	ticks chan time.Time
	set   chan time.Duration
}

func (h hand) C() <-chan time.Time { return h.ticks }
func (h hand) Set(d time.Duration) { h.set <- d }
func (h hand) Close()              {}

func TestATickThatComesTooEarlySetsTheAlarmAgain(t *testing.T) {
	t.Parallel()
	alarm := hand{make(chan time.Time), make(chan time.Duration, 8)}
	q, slots := scheduler.NewQueue(scheduler.Options{Policy: later{}, Slots: 1, Stats: stats.NewModel("m", "1", 8), Alarm: alarm})
	ended := make(chan int)
	go func() {
		n := 0
		for q.Next(slots[0]) {
			n += len(slots[0].Batch.Requests)
			for _, r := range slots[0].Batch.Requests {
				r.Release()
			}
			slots[0].Batch.Reset()
		}
		ended <- n
	}()
	r := infer.NewRequest()
	_, err := q.Enqueue(r, false)
	require.NoError(t, err)
	for range 3 {
		require.InDelta(t, time.Hour, <-alarm.set, float64(time.Minute))
		alarm.ticks <- time.Time{}
	}
	<-alarm.set
	require.Equal(t, 1, q.Ahead(infer.NewUnpooled()))
	q.Close()
	require.Equal(t, 1, <-ended)
	r.Release()
	q.Free()
}

func TestAlarms(t *testing.T) {
	for name, make := range map[string]func() scheduler.Alarm{"clock": scheduler.NewAlarm, "precise": scheduler.NewPreciseAlarm} {
		t.Run(name, func(t *testing.T) {
			a := make()
			begin := time.Now()
			a.Set(time.Hour)
			a.Set(2 * time.Millisecond) // the later setting counts
			<-a.C()
			require.GreaterOrEqual(t, time.Since(begin), 2*time.Millisecond)
			a.Set(-1) // due already
			<-a.C()
			a.Set(time.Hour)
			a.Close()
		})
	}
}

// The alarm of a queue delay of 100 us must not be late by the millisecond in
// which Go's runtime counts when it has nothing to do.
func BenchmarkAlarm(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("only Linux has a precise alarm")
	}
	for name, make := range map[string]func() scheduler.Alarm{"clock": scheduler.NewAlarm, "precise": scheduler.NewPreciseAlarm} {
		b.Run(name, func(b *testing.B) {
			a := make()
			defer a.Close()
			for b.Loop() {
				a.Set(100 * time.Microsecond)
				<-a.C()
			}
		})
	}
}
