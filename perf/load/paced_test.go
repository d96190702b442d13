package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/measure"
)

func collect(g load.Generator) []measure.Sample { return g.Collect(nil, lane.Now()).Samples }

func TestScheduleIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(3) // a request takes a second
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}, Live: true})
		defer g.Close()
		begin := lane.Now()
		<-g.Start(load.Demand{Schedule: load.Constant(4), Total: 12})
		require.EqualValues(t, 4*time.Second, lane.Now()-begin, "the last one starts after 3 s")
		samples := collect(g)
		require.Len(t, samples, 12)
		starts := map[int64]bool{}
		for _, s := range samples {
			require.Zero(t, s.Late)
			require.EqualValues(t, time.Second, s.Latency)
			starts[s.Start()-begin] = true
		}
		for i := range 12 {
			require.True(t, starts[int64(i+1)*int64(time.Second/4)], "request %d", i)
		}
		require.LessOrEqual(t, l.dialed.Load(), int64(5), "a request ends when the next one starts")
	})
}

func TestLateRequestsSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}, Max: 2})
		defer g.Close()
		// Two in flight are two requests a second: of four, every second one waits longer.
		<-g.Start(load.Demand{Schedule: load.Constant(4), Total: 8})
		var late []time.Duration
		for _, s := range collect(g) {
			require.EqualValues(t, time.Second, s.Latency, "service time is not what waits")
			late = append(late, time.Duration(s.Late))
		}
		half := 500 * time.Millisecond
		require.ElementsMatch(t, []time.Duration{0, 0, half, half, 2 * half, 2 * half, 3 * half, 3 * half}, late)
		require.EqualValues(t, 2, l.dialed.Load())
	})
}

// slowDialer takes a second to connect.
type slowDialer struct{ *lanes }

func (d slowDialer) Dial(ctx context.Context) (lane.Conn, error) {
	time.Sleep(time.Second)
	return d.lanes.Dial(ctx)
}

func TestScheduleBeginsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewPaced(t.Context(), load.Options{Dialer: slowDialer{l}, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		begin := lane.Now()
		<-g.Start(load.Demand{Schedule: load.At([]time.Duration{0, 2 * time.Second})})
		require.EqualValues(t, 4*time.Second, lane.Now()-begin)
		samples := collect(g)
		require.Len(t, samples, 2)
		for _, s := range samples {
			require.Zero(t, s.Late)
		}
		require.EqualValues(t, 1, l.dialed.Load())

		g.Start(load.Demand{Schedule: load.At([]time.Duration{0})})
		require.NoError(t, g.Drain(t.Context()), "also before the first request")
	})
}

// TestBurstsStartTogether starts many requests at one time, with workers that are idle and with
// workers that do not exist yet.
func TestBurstsStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1) // a request takes a second
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		var times []time.Duration
		for i := range 10 {
			for range 10 * (i + 1) {
				times = append(times, time.Duration(2*i)*time.Second)
			}
		}
		<-g.Start(load.Demand{Schedule: load.At(times)})
		samples := collect(g)
		require.Len(t, samples, len(times))
		for _, s := range samples {
			require.Zero(t, s.Late)
		}
		require.EqualValues(t, 100, l.dialed.Load(), "as many as the largest burst")
	})
}

func TestPoissonIsSeeded(t *testing.T) {
	t.Parallel()
	times := func(seed uint64) (all []time.Duration) {
		s := load.Poisson(1000, seed)
		for range 20000 {
			at, ok := s.Next()
			require.True(t, ok)
			all = append(all, at)
		}
		return all
	}
	a := times(1)
	require.Equal(t, a, times(1))
	require.NotEqual(t, a, times(2))
	require.InEpsilon(t, 20*time.Second, a[len(a)-1], 0.03, "the mean of 20,000 intervals")
	var long int // more than the mean: 1/e of them
	for i := 1; i < len(a); i++ {
		if a[i]-a[i-1] > time.Millisecond {
			long++
		}
	}
	require.InEpsilon(t, 20000/2.71828, long, 0.03)
}

func TestIntervalsGoRound(t *testing.T) {
	t.Parallel()
	s := load.Intervals([]time.Duration{1, 0, 5})
	for _, want := range []time.Duration{1, 1, 6, 7, 7, 12} {
		at, _ := s.Next()
		require.Equal(t, want, at)
	}
	end := load.At([]time.Duration{3})
	_, ok := end.Next()
	require.True(t, ok)
	_, ok = end.Next()
	require.False(t, ok)
}

func TestPacedDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		g.Start(load.Demand{Schedule: load.Constant(2)})
		time.Sleep(3100 * time.Millisecond)
		begin := time.Now()
		require.NoError(t, g.Drain(t.Context()))
		require.Equal(t, 900*time.Millisecond, time.Since(begin))
		require.Equal(t, 6, g.Pending())
		g.Start(load.Demand{Schedule: load.Constant(2)})
		time.Sleep(600 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.Drain(ctx), context.DeadlineExceeded)
	})
}

// A server that is too slow for a rate delays neither the next level nor the end of the run.
func TestDrainDoesNotSendTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1) // a request takes a second
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}, Max: 2})
		defer g.Close()
		g.Start(load.Demand{Schedule: load.Constant(100)})
		time.Sleep(10*time.Second + time.Millisecond)
		begin := time.Now()
		require.NoError(t, g.Drain(t.Context()))
		require.LessOrEqual(t, time.Since(begin), time.Second, "only requests in flight")
		require.LessOrEqual(t, len(collect(g)), 22)
		<-g.Start(load.Demand{Schedule: load.Constant(2), Total: 4})
		for _, s := range collect(g) {
			require.Zero(t, s.Late, "the next level begins with free workers")
		}
	})
}

func TestPacedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.fail = func(int) error { return errors.New("no luck") }
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		done := g.Start(load.Demand{Schedule: load.Constant(10), Total: 5})
		<-g.Failed()
		synctest.Wait()
		require.ErrorIs(t, g.Err(), load.ErrLoad)
		require.EqualError(t, g.Failures()[0].Err, "no luck")
		require.Empty(t, done)
	})
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.dialErr = errors.New("no connection")
		g := load.NewPaced(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		g.Start(load.Demand{Schedule: load.Constant(10)})
		<-g.Failed()
		require.ErrorIs(t, g.Drain(t.Context()), load.ErrLoad, "requests that are due have no worker")
	})
}

// sent is what a lane was asked to send.
type sent struct {
	lane     int
	prepared int
	sequence lane.Sequence
}

func TestSequences(t *testing.T) {
	for name, start := range map[string]func(context.Context, load.Options) (load.Generator, load.Demand){
		"closed": func(ctx context.Context, o load.Options) (load.Generator, load.Demand) {
			return load.NewClosed(ctx, o), load.Demand{Concurrency: 3, Total: 3 * 25}
		},
		"paced": func(ctx context.Context, o load.Options) (load.Generator, load.Demand) {
			o.Max = 3
			return load.NewPaced(ctx, o), load.Demand{Schedule: load.Constant(10), Total: 3 * 25}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, prepared := newLanes(5)
				l.asked = make(chan sent, 1000)
				g, level := start(t.Context(), load.Options{Dialer: l, Source: load.NewSequences(load.SequenceOptions{
					Prepared: [][]*lane.Prepared{prepared[:2], prepared[2:]},
					Length:   10, Variation: 0.5, FirstID: 7, IDCount: 4, Seed: 3,
				})})
				defer g.Close()
				<-g.Start(level)
				require.NoError(t, g.Drain(t.Context()))
				close(l.asked)
				checkSequences(t, l.asked)
			})
		})
	}
}

// A worker that begins while others have sequences open gets an ID of its own.
func TestNewWorkersGetFreeSequenceIDs(t *testing.T) {
	s := load.NewSequences(load.SequenceOptions{Prepared: [][]*lane.Prepared{{{}}}, Length: 3, FirstID: 1, IDCount: 3})
	next := func(worker int) lane.Sequence {
		var r load.Request
		s.Next(worker, 0, &r)
		return r.Sequence
	}
	require.Equal(t, lane.Sequence{ID: 1, Start: true}, next(1))
	for _, want := range []lane.Sequence{{ID: 2, Start: true}, {ID: 2}, {ID: 2, End: true}, {ID: 3, Start: true}} {
		require.Equal(t, want, next(0))
	}
	require.Equal(t, lane.Sequence{ID: 2, Start: true}, next(2), "1 and 3 are open")
}

// checkSequences checks that each lane sends whole sequences one after another, with IDs
// that no other lane uses at that time.
func checkSequences(t *testing.T, asked <-chan sent) {
	open := map[uint64]int{} // ID to lane
	lengths := map[uint64]int{}
	seen := map[int]bool{}
	sequences, ends := 0, 0
	for s := range asked {
		id := s.sequence.ID
		require.True(t, id >= 7 && id < 11, "ID %d", id)
		if s.sequence.Start {
			require.NotContains(t, open, id)
			open[id], lengths[id] = s.lane, 0
			sequences++
		}
		require.Equal(t, s.lane, open[id], "lane of sequence %d", id)
		lengths[id]++
		if s.sequence.End {
			require.LessOrEqual(t, lengths[id], 15)
			seen[lengths[id]] = true
			delete(open, id)
			ends++
		}
	}
	require.Empty(t, open, "the drain ends every sequence")
	require.Equal(t, sequences, ends)
	require.Greater(t, sequences, 5)
	require.Greater(t, len(seen), 2, "lengths vary")
}

func TestPreciseAlarm(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	a := load.PreciseAlarm(stop)
	defer a.Close()
	begin := time.Now()
	require.True(t, a.Sleep(3*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(begin), 3*time.Millisecond)
	require.True(t, a.Sleep(-1))
	time.AfterFunc(10*time.Millisecond, func() { close(stop) })
	require.False(t, a.Sleep(time.Hour))
	require.False(t, a.Sleep(0))
}
