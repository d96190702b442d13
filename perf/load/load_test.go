package load_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/perf/load"
	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is a null server of one protocol and a client of it.
func target(t *testing.T, p client.Protocol) (c *lane.Client, served func() uint64) {
	t.Helper()
	var address string
	if p == client.GRPC {
		s, err := loadtest.StartGRPC("127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(s.Close)
		address, served = s.Address, s.Requests
	} else {
		s, err := loadtest.StartHTTP("127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		address, served = s.Address, s.Requests
	}
	c, err := lane.New(lane.Options{Options: client.Options{Protocol: p, Address: address}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, served
}

func TestNullServers(t *testing.T) {
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		t.Run(p.String(), func(t *testing.T) {
			c, served := target(t, p)
			prepared, err := c.Prepare(loadtest.Request())
			require.NoError(t, err)
			checked := atomic.Int64{}
			g := load.NewClosed(t.Context(), load.Options{
				Dialer: c, Source: &load.Steps{Prepared: []*lane.Prepared{prepared}, Batch: 1}, Live: true,
				Check: func(_ *load.Request, x *lane.Exchange) error {
					var resp kserve.Response
					defer resp.Reset()
					checked.Add(1)
					return c.Decode(x, &resp)
				},
			})
			defer g.Close()
			<-g.Start(load.Demand{Concurrency: 7, Total: 500})
			require.EqualValues(t, 500, served(), "a quota is exact")
			require.EqualValues(t, 500, checked.Load())
			require.Equal(t, 500, g.Pending())
			b := g.Collect(nil, lane.Now())
			require.Len(t, b.Samples, 500)
			require.EqualValues(t, 500, b.Totals.Completed)
			require.Positive(t, b.InFlight)
			var counts measure.Counts
			g.Snapshot(&counts)
			require.EqualValues(t, 500, counts.N())

			g.Start(load.Demand{Concurrency: 3})
			for served() < 1000 {
				time.Sleep(time.Millisecond) // real time: this server is outside
			}
			require.NoError(t, g.Drain(t.Context()))
			at := served()
			require.EqualValues(t, at-500, g.Pending())
			<-g.Start(load.Demand{Concurrency: 9, Total: 20})
			require.EqualValues(t, at+20, served(), "after a drain nothing else is sent")
			require.NoError(t, g.Err())
			require.Empty(t, g.Failures())
		})
	}
}

// lanes is a dialer whose requests take a second each; sent records them.
type lanes struct {
	dialErr error
	sent    chan [2]int // worker in order of dialing, index of the request
	dialed  atomic.Int64
	index   map[*lane.Prepared]int
	fail    func(worker int) error
	asked   chan sent // if set, receives every request before it is sent
}

func (l *lanes) Dial(context.Context) (lane.Conn, error) {
	if l.dialErr != nil {
		return nil, l.dialErr
	}
	return &slowLane{l: l, id: int(l.dialed.Add(1)) - 1, closed: make(chan struct{})}, nil
}

type slowLane struct {
	l      *lanes
	id     int
	closed chan struct{}
	close  sync.Once
}

func (c *slowLane) Do(ctx context.Context, p *lane.Prepared, x *lane.Exchange) error {
	x.Start = lane.Now()
	if c.l.asked != nil {
		c.l.asked <- sent{c.id, c.l.index[p], x.Sequence}
	}
	select {
	case <-time.After(time.Second):
	case <-c.closed:
		return errors.New("closed")
	case <-ctx.Done():
		return ctx.Err()
	}
	x.End = lane.Now()
	c.l.sent <- [2]int{c.id, c.l.index[p]}
	if c.l.fail != nil {
		return c.l.fail(c.id)
	}
	return nil
}

func (c *slowLane) Close() error {
	c.close.Do(func() { close(c.closed) }) // any goroutine may call Close, more than once
	return nil
}

func newLanes(steps int) (*lanes, []*lane.Prepared) {
	l := &lanes{sent: make(chan [2]int, 1000), index: map[*lane.Prepared]int{}}
	prepared := make([]*lane.Prepared, steps)
	for i := range prepared {
		prepared[i] = &lane.Prepared{}
		l.index[prepared[i]] = i
	}
	return l, prepared
}

func TestStepsWrapAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(7)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 2}})
		defer g.Close()
		<-g.Start(load.Demand{Concurrency: 3, Total: 12})
		seen := map[int]int{}
		for range 12 {
			seen[(<-l.sent)[1]]++
		}
		// Worker t sends the steps 2t, 2t+6, 2t+12, ... modulo 7: together all
		// even numbers from 0 to 22.
		want := map[int]int{}
		for i := range 12 {
			want[2*i%7]++
		}
		require.Equal(t, want, seen)
	})
}

func TestLevelsUpAndDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		perSecond := func() int {
			for len(l.sent) > 0 {
				<-l.sent
			}
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			return len(l.sent)
		}
		g.Start(load.Demand{Concurrency: 4})
		require.Equal(t, 40, perSecond())
		g.Start(load.Demand{Concurrency: 2})
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, 20, perSecond())
		g.Start(load.Demand{Concurrency: 5})
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, 50, perSecond())
		g.Pause()
		time.Sleep(2 * time.Second)
		require.Zero(t, perSecond())
		require.EqualValues(t, 5, l.dialed.Load(), "connections are kept")
	})
}

func TestDrainWaitsForRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 3})
		time.Sleep(1500 * time.Millisecond)
		start := time.Now()
		require.NoError(t, g.Drain(t.Context()))
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		require.Equal(t, 6, g.Pending())
		require.NoError(t, g.Drain(t.Context()), "again, at once")

		g.Start(load.Demand{Concurrency: 1})
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, g.Drain(ctx), context.DeadlineExceeded)
	})
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.fail = func(worker int) error {
			if worker == 0 {
				return nil
			}
			return errors.New("no luck")
		}
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 3})
		require.NoError(t, g.Err())
		<-g.Failed()
		synctest.Wait()
		require.ErrorIs(t, g.Err(), load.ErrLoad)
		require.Len(t, g.Failures(), 2)
		require.EqualError(t, g.Failures()[1].Err, "no luck")
		require.NoError(t, g.Drain(t.Context()), "failed workers are at rest")
	})
}

func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		l.dialErr = errors.New("no server")
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 2, Total: 4})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "no server")
	})
}

func TestCheckFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(2)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}, Check: func(r *load.Request, x *lane.Exchange) error {
			if r.Step == 1 && x.Keep {
				return errors.New("Output doesn't match expected output")
			}
			return nil
		}})
		defer g.Close()
		g.Start(load.Demand{Concurrency: 1})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "Output doesn't match expected output")
		require.Equal(t, 2, g.Pending())
	})
}

func TestCloseEndsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, prepared := newLanes(1)
		g := load.NewClosed(t.Context(), load.Options{Dialer: l, Source: &load.Steps{Prepared: prepared, Batch: 1}})
		g.Start(load.Demand{Concurrency: 5})
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		g.Close()
		require.Zero(t, time.Since(start))
		require.Empty(t, g.Failures(), "being closed is no failure")
	})
}

func TestServerErrorsKeepTheirText(t *testing.T) {
	s, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	s.Fail = func(n uint64) error {
		if n > 3 {
			return status.Error(codes.Unavailable, "Exceeds maximum queue size")
		}
		return nil
	}
	h, err := loadtest.StartHTTP("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()
	h.Respond = func(uint64) (string, bool) {
		return loadtest.Response("503 Service Unavailable", `{"error":"Exceeds maximum queue size"}`), false
	}
	for p, address := range map[client.Protocol]string{client.GRPC: s.Address, client.HTTP: h.Address} {
		c, err := lane.New(lane.Options{Options: client.Options{Protocol: p, Address: address}})
		require.NoError(t, err)
		prepared, err := c.Prepare(loadtest.Request())
		require.NoError(t, err)
		g := load.NewClosed(t.Context(), load.Options{Dialer: c, Source: &load.Steps{Prepared: []*lane.Prepared{prepared}, Batch: 1}})
		g.Start(load.Demand{Concurrency: 1})
		<-g.Failed()
		require.EqualError(t, g.Failures()[0].Err, "Exceeds maximum queue size", p)
		g.Close()
		require.NoError(t, c.Close())
	}
}

// TestAllocations checks that neither the generator nor the null server allocates memory
// for a request over HTTP.
func TestAllocations(t *testing.T) {
	c, _ := target(t, client.HTTP)
	prepared, err := c.Prepare(loadtest.Request())
	require.NoError(t, err)
	g := load.NewClosed(t.Context(), load.Options{Dialer: c, Source: &load.Steps{Prepared: []*lane.Prepared{prepared}, Batch: 1}, Live: true})
	defer g.Close()
	<-g.Start(load.Demand{Concurrency: 1, Total: 3000})
	var samples []measure.Sample
	samples = g.Collect(samples, lane.Now()).Samples[:0]
	const n = 1000
	perRun := testing.AllocsPerRun(3, func() {
		<-g.Start(load.Demand{Concurrency: 1, Total: n})
		samples = g.Collect(samples, lane.Now()).Samples[:0]
	})
	require.Less(t, perRun/n, 0.1)
}

// decoupled is a dialer and a lane of a model whose empty final response comes late.
type decoupled struct{}

func (d decoupled) Dial(context.Context) (lane.Conn, error) { return d, nil }

func (decoupled) Close() error { return nil }

func (decoupled) Do(_ context.Context, _ *lane.Prepared, x *lane.Exchange) error {
	x.Start = lane.Now()
	time.Sleep(100 * time.Millisecond)
	x.Responses = append(x.Responses[:0], lane.Now())
	time.Sleep(900 * time.Millisecond)
	x.Responses = append(x.Responses, lane.Now())
	x.EmptyFinal, x.End = true, lane.Now()
	return nil
}

func TestWaitingForTheFinalResponseIsNoOverhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := load.NewClosed(t.Context(), load.Options{Dialer: decoupled{}, Source: &load.Steps{Prepared: []*lane.Prepared{{}}, Batch: 1}})
		defer g.Close()
		<-g.Start(load.Demand{Concurrency: 1, Total: 10})
		b := g.Collect(nil, lane.Now())
		require.Len(t, b.Samples, 10)
		require.EqualValues(t, 100*time.Millisecond, b.Samples[0].Latency)
		require.EqualValues(t, 10*time.Second, b.InFlight)
	})
}
