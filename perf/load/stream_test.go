package load_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/load"
	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

// streaming returns a generator over streams to a null server.
func streaming(t *testing.T, s *loadtest.GRPC, check func(*load.Request, *lane.Exchange) error) load.Generator {
	t.Helper()
	c, err := lane.New(lane.Options{Options: client.Options{Protocol: client.GRPC, Address: s.Address}, Streaming: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	prepared, err := c.Prepare(loadtest.Request())
	require.NoError(t, err)
	g := load.NewClosed(t.Context(), load.Options{Dialer: c, Source: &load.Steps{Prepared: []*lane.Prepared{prepared}, Batch: 1}, Check: check})
	t.Cleanup(g.Close)
	return g
}

func nullGRPC(t *testing.T) *loadtest.GRPC {
	t.Helper()
	s, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func always(responses int) func(uint64) int { return func(uint64) int { return responses } }

func TestStreams(t *testing.T) {
	for name, responses := range map[string]int{"one": -1, "none": 0, "many": 5} {
		t.Run(name, func(t *testing.T) {
			s := nullGRPC(t)
			if responses >= 0 {
				s.Decoupled = always(responses)
			}
			g := streaming(t, s, nil)
			<-g.Start(load.Demand{Concurrency: 3, Total: 100})
			require.EqualValues(t, 100, s.Requests())
			require.NoError(t, g.Err())
			samples := collect(g)
			if responses == 0 {
				require.Empty(t, samples, "a request without a response has no latency")
				return
			}
			require.Len(t, samples, 100)
			for _, sample := range samples {
				require.EqualValues(t, max(responses, 1), sample.Responses)
				require.Positive(t, sample.Latency)
			}
		})
	}
}

func TestStreamResponsesAreChecked(t *testing.T) {
	s := nullGRPC(t)
	s.Decoupled = always(2)
	c, err := lane.New(lane.Options{Options: client.Options{Protocol: client.GRPC, Address: s.Address}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	g := streaming(t, s, func(_ *load.Request, x *lane.Exchange) error {
		var resp kserve.Response
		defer resp.Reset()
		if err := c.Decode(x, &resp); err != nil {
			return err
		}
		if resp.Output("OUTPUT0") == nil || len(x.Responses) != 3 || !x.EmptyFinal {
			return errors.New("not the response")
		}
		return nil
	})
	<-g.Start(load.Demand{Concurrency: 2, Total: 20})
	require.NoError(t, g.Err(), g.Failures())
}

func TestStreamErrorsKeepTheirText(t *testing.T) {
	s := nullGRPC(t)
	s.Fail = func(n uint64) error {
		if n > 3 {
			return errors.New("Exceeds maximum queue size")
		}
		return nil
	}
	g := streaming(t, s, nil)
	g.Start(load.Demand{Concurrency: 1})
	<-g.Failed()
	require.EqualError(t, g.Failures()[0].Err, "Exceeds maximum queue size")
}

// dialStream returns a lane over a stream that keeps responses, and a request for it.
func dialStream(t *testing.T, s *loadtest.GRPC) (lane.Conn, *lane.Prepared) {
	t.Helper()
	c, err := lane.New(lane.Options{Options: client.Options{Protocol: client.GRPC, Address: s.Address}, Streaming: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	p, err := c.Prepare(loadtest.Request())
	require.NoError(t, err)
	conn, err := c.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn, p
}

func TestRequestWithoutOutputsKeepsNoBody(t *testing.T) {
	s := nullGRPC(t)
	s.Decoupled = func(n uint64) int { return int(n % 2) } // one response, none, one
	conn, p := dialStream(t, s)
	x := &lane.Exchange{Keep: true}
	for _, responses := range []int{1, 0, 1} {
		require.NoError(t, conn.Do(t.Context(), p, x))
		require.Len(t, x.Bodies, responses+1)
		require.Equal(t, responses == 0, len(x.Body) == 0, "the body is not that of an earlier request")
	}
}

// A decoupled model may go on after an error; what it sends then belongs to that request.
func TestStreamGoesOnAfterAnError(t *testing.T) {
	s := nullGRPC(t)
	s.Decoupled = always(2)
	s.Fail = func(n uint64) error {
		if n == 2 {
			return errors.New("no luck today")
		}
		return nil
	}
	conn, p := dialStream(t, s)
	x := &lane.Exchange{}
	require.NoError(t, conn.Do(t.Context(), p, x))
	require.EqualError(t, conn.Do(t.Context(), p, x), "no luck today")
	for range 2 {
		require.NoError(t, conn.Do(t.Context(), p, x))
		require.Len(t, x.Responses, 3)
	}
}
