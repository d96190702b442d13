package load_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/status"
)

// streams answers each request with a number of responses, one a second, and records when the
// requests start.
type streams struct {
	responses int
	fail      error
	mu        sync.Mutex
	starts    []time.Duration
	begin     int64
}

func (s *streams) Dial(context.Context) (lane.Conn, error) { return streamConn{s}, nil }

type streamConn struct{ *streams }

func (c streamConn) Do(ctx context.Context, _ *lane.Prepared, x *lane.Exchange) error {
	x.Start = lane.Now()
	c.mu.Lock()
	c.starts = append(c.starts, time.Duration(x.Start-c.begin))
	c.mu.Unlock()
	x.Responses = x.Responses[:0]
	for range c.responses {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		x.Responses = append(x.Responses, lane.Now())
		if x.Observe != nil {
			x.Observe()
		}
	}
	x.End = lane.Now()
	return c.fail
}

func (streamConn) Close() error { return nil }

func (s *streams) periodic(t *testing.T, o load.PeriodicOptions) *load.Periodic {
	t.Helper()
	s.begin = lane.Now()
	return load.NewPeriodic(t.Context(), load.Options{Dialer: s, Source: &load.Steps{Prepared: []*lane.Prepared{{}}, Batch: 1}}, o)
}

func seconds(list ...int) []time.Duration {
	all := make([]time.Duration, len(list))
	for i, s := range list {
		all[i] = time.Duration(s) * time.Second
	}
	return all
}

func TestPeriodicStartsGroups(t *testing.T) {
	for name, c := range map[string]struct {
		options load.PeriodicOptions
		total   int
		starts  []int
	}{
		"one at a time":         {load.PeriodicOptions{First: 1, Step: 1, Period: 2}, 4, []int{0, 2, 4, 6}},
		"two and then three":    {load.PeriodicOptions{First: 2, Step: 3, Period: 4}, 8, []int{0, 0, 4, 4, 4, 8, 8, 8}},
		"no more than in total": {load.PeriodicOptions{First: 3, Step: 2, Period: 1}, 5, []int{0, 0, 0, 1, 1}},
		"all at once":           {load.PeriodicOptions{First: 3, Step: 1, Period: 5}, 3, []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streams{responses: 5}
				g := s.periodic(t, c.options)
				defer g.Close()
				<-g.Start(load.Demand{Total: c.total})
				require.NoError(t, g.Err())
				require.Equal(t, seconds(c.starts...), s.starts)
				require.Len(t, collect(g), c.total)
			})
		})
	}
}

func TestPeriodicFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 3}
		g := s.periodic(t, load.PeriodicOptions{First: 1, Step: 1, Period: 4})
		defer g.Close()
		g.Start(load.Demand{Total: 2})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "Request received final response before request period was reached. Request period must be at most the total number of responses received by any request.")
	})
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 3, fail: errors.New("no luck")}
		g := s.periodic(t, load.PeriodicOptions{First: 1, Step: 1, Period: 2})
		defer g.Close()
		g.Start(load.Demand{Total: 2})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "no luck")
		require.NoError(t, g.Drain(t.Context()))
	})
}

// TestRefusedRequestsOfOnceLoads: a refused request ends its session, and does not hold up its group.
func TestRefusedRequestsOfOnceLoads(t *testing.T) {
	refused := &status.Error{Code: status.Unavailable, Msg: "no luck"}
	synctest.Test(t, func(t *testing.T) {
		s := &streams{fail: refused, begin: lane.Now()}
		g := load.NewPeriodic(t.Context(), load.Options{
			Dialer: s, Source: &load.Steps{Prepared: []*lane.Prepared{{}}, Batch: 1}, TolerateErrors: true,
		}, load.PeriodicOptions{First: 2, Step: 2, Period: 3})
		defer g.Close()
		<-g.Start(load.Demand{Total: 5})
		require.NoError(t, g.Err())
		require.EqualValues(t, 5, g.Collect(nil, lane.Now()).Errors)
	})
	synctest.Test(t, func(t *testing.T) {
		s := &streams{fail: refused, begin: lane.Now()}
		first, second := &talk{turns: 3}, &talk{turns: 1}
		g := load.NewSessions(t.Context(), load.Options{Dialer: s, TolerateErrors: true}, []load.Session{first, second})
		defer g.Close()
		<-g.Start(load.Demand{Concurrency: 1})
		require.NoError(t, g.Err())
		require.EqualValues(t, 2, g.Collect(nil, lane.Now()).Errors)
		require.Equal(t, 1, first.next, "its second turn has no answer to go on with")
		require.Zero(t, first.answers)
		require.Equal(t, 1, second.next)
	})
}

func TestPeriodicDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 5}
		g := s.periodic(t, load.PeriodicOptions{First: 1, Step: 1, Period: 2})
		defer g.Close()
		require.NoError(t, g.Drain(t.Context()), "before the start")
		g.Start(load.Demand{Total: 9})
		time.Sleep(3 * time.Second)
		require.NoError(t, g.Drain(t.Context()))
		require.EqualValues(t, 7*time.Second, lane.Now()-s.begin, "the second request, from 2 s on, ends")
		require.Equal(t, seconds(0, 2), s.starts)
		require.Len(t, collect(g), 2)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		g.Start(load.Demand{Total: 2})
		require.ErrorIs(t, g.Drain(ended), context.Canceled)
	})
}

// talk is a session of turns with a pause of a second before each but the first.
type talk struct {
	turns, next int
	answers     int
	fail        error
}

func (s *talk) Next(r *load.Request) (time.Duration, bool, error) {
	if s.next == s.turns {
		return 0, false, s.fail
	}
	wait := time.Duration(min(s.next, 1)) * time.Second
	*r = load.Request{Prepared: &lane.Prepared{}, Step: s.next}
	s.next++
	return wait, true, nil
}

func (s *talk) Answered(x *lane.Exchange) error {
	if !x.Keep {
		return errors.New("the answer is not kept")
	}
	s.answers++
	return nil
}

func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 1, begin: lane.Now()}
		talks := []*talk{{turns: 2}, {turns: 1}, {turns: 1}}
		g := load.NewSessions(t.Context(), load.Options{Dialer: s}, []load.Session{talks[0], talks[1], talks[2]})
		defer g.Close()
		require.NoError(t, g.Drain(t.Context()), "before the start")
		<-g.Start(load.Demand{Concurrency: 2})
		require.NoError(t, g.Err())
		require.Equal(t, seconds(0, 0, 1, 2), s.starts, "the third session follows the second; the first has a turn after 1 s of pause")
		require.Len(t, collect(g), 4)
		for _, x := range talks {
			require.Equal(t, x.turns, x.answers)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 1, begin: lane.Now()}
		later := &talk{turns: 5}
		g := load.NewSessions(t.Context(), load.Options{Dialer: s}, []load.Session{&talk{turns: 5}, later})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 1})
		time.Sleep(1500 * time.Millisecond) // in the first pause
		require.NoError(t, g.Drain(t.Context()))
		require.EqualValues(t, 1500*time.Millisecond, lane.Now()-s.begin)
		require.Len(t, collect(g), 1)
		require.Zero(t, later.next, "no request is prepared any more")
	})
	synctest.Test(t, func(t *testing.T) {
		s := &streams{responses: 1, begin: lane.Now()}
		g := load.NewSessions(t.Context(), load.Options{Dialer: s}, []load.Session{&talk{turns: 1, fail: errors.New("bad turn")}})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 1})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "bad turn")
	})
}
