package instance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/stats"
)

func decoupled(cfg *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	return cfg
}

// tape is a sink that records the responses: "r" for a response, the text of
// an error, "." for the end.
type tape struct {
	mu   sync.Mutex
	text string
	end  chan struct{}
}

func newTape() *tape { return &tape{end: make(chan struct{})} }

func (p *tape) Send(resp *infer.Response, final bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case resp == nil:
	case resp.Err != nil:
		p.text += "<" + resp.Err.Error() + ">"
	default:
		p.text += "r"
	}
	if resp != nil {
		resp.Release()
	}
	if final {
		p.text += "."
		close(p.end)
	}
}

func (p *tape) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

func submit(t *testing.T, g *instance.Group, id string) (*infer.Request, *tape) {
	t.Helper()
	r, p := request(id, 1), newTape()
	r.Sink = p
	require.NoError(t, g.Submit(r))
	return r, p
}

// script is a backend that answers as the request's id says, one step every
// 10 ms from a goroutine of its own: r a response, e an error, 0 an empty one,
// R and E the same as the last, . the end; a script without an end waits for the
// request to be cancelled. The steps before a '|' are done before Execute
// returns, which fails with "f" and panics with "p".
func script() *fakeBackend {
	e := &fakeBackend{begin: time.Now()}
	step := func(r *infer.Request, c byte) bool {
		bad := func() *infer.Response {
			resp := infer.NewResponse()
			resp.Err = errors.New("bad")
			return resp
		}
		switch c {
		case 'r', 'R':
			r.Respond(infer.NewResponse(), c == 'R')
		case 'e', 'E':
			r.Respond(bad(), c == 'E')
		case '0':
			r.Respond(nil, false)
		case '.':
			r.Respond(nil, true)
		}
		return c == 'R' || c == 'E' || c == '.'
	}
	e.execute = func(_ context.Context, b *infer.Batch) error {
		for _, r := range b.Requests {
			rest, over := r.ID, false
			for len(rest) > 0 && rest[0] != '|' {
				switch rest[0] {
				case 'f':
					return errors.New("failed")
				case 'p':
					panic("asked for")
				}
				over, rest = step(r, rest[0]), rest[1:]
			}
			if over {
				continue
			}
			e.late.Go(func() {
				for _, c := range []byte(rest[min(1, len(rest)):]) {
					time.Sleep(10 * time.Millisecond)
					if step(r, c) {
						return
					}
				}
				for !r.Cancelled() {
					time.Sleep(time.Millisecond)
				}
				r.Respond(nil, true)
			})
		}
		return nil
	}
	e.decoupled = true
	return e
}

func TestADecoupledRequestIsAnsweredAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, want string
		success      int
		stats        map[string]string // success, fail, empty by index
	}{
		{".", ".", 1, nil},
		{"|.", ".", 1, nil},
		{"R", "r.", 1, map[string]string{"0": "1 0 0"}},
		{"rr|rR", "rrrr.", 1, map[string]string{"0": "1 0 0", "1": "1 0 0", "2": "1 0 0", "3": "1 0 0"}},
		{"|rer.", "r<bad>r.", 1, map[string]string{"0": "1 0 0", "1": "0 1 0", "2": "1 0 0"}},
		{"|r0R", "rr.", 1, map[string]string{"0": "1 0 0", "1": "0 0 1", "2": "1 0 0"}},
		{"|E", "<bad>.", 1, map[string]string{"0": "0 1 0"}},
		{"E", "<bad>.", 0, map[string]string{"0": "0 1 0"}},
		{"rf", "r<failed>.", 0, map[string]string{"0": "1 0 0", "1": "0 1 0"}},
		{"Rf", "r.", 1, map[string]string{"0": "1 0 0"}},
		{"rp", "r<instance 'm_0_0' of model 'm' broke down during execution>.", 0, map[string]string{"0": "1 0 0", "1": "0 1 0"}},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), script(), 1)
				r, p := submit(t, g, c.script)
				<-p.end
				r.Release()
				require.Equal(t, c.want, p.read())
				synctest.Wait()
				require.EqualValues(t, c.success, counters.Counters().Success.Count)
				require.EqualValues(t, 1-c.success, counters.Counters().Failures[stats.Backend])
				got := map[string]string{}
				for index, s := range counters.Snapshot().ResponseStats {
					got[index] = fmt.Sprint(s.Success.Count, s.Fail.Count, s.EmptyResponse.Count)
				}
				if c.stats == nil {
					c.stats = map[string]string{}
				}
				require.Equal(t, c.stats, got)
			})
		})
	}
}

// The instance runs the next batch while the last one is still answered.
func TestADecoupledInstanceIsFreeWhenItsCallReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := script()
		g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		one, first := submit(t, g, "|rrrr.")
		two, second := submit(t, g, "|r.")
		<-second.end
		require.Equal(t, 20*time.Millisecond, time.Since(e.begin))
		require.EqualValues(t, 2, counters.Counters().Success.Count, "counted when the call returned")
		<-first.end
		one.Release()
		two.Release()
		require.Equal(t, []string{"0: 1", "0: 1"}, e.ran())
	})
}

func TestADecoupledRequestKeepsItsInputs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := tensor.NewPool()
		e := &fakeBackend{begin: time.Now(), decoupled: true}
		e.execute = func(_ context.Context, b *infer.Batch) error {
			r := b.Requests[0]
			go func() {
				time.Sleep(time.Second)
				r.Inputs[0].Data.Segment(0).Buffer.Bytes()[0]++
				r.Respond(infer.NewResponse(), true)
			}()
			return nil
		}
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), e, 1)
		r, p := request("", 1), newTape()
		r.Sink = p
		r.AddInput().Data = tensor.NewData(pool.Get(10))
		require.NoError(t, g.Submit(r))
		r.Release() // the frontend needs it no more
		<-p.end
		synctest.Wait()
		require.Zero(t, pool.Outstanding())
	})
}

func TestACancelledStreamEndsWhenItsBackendSeesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters := group(t, decoupled(&inferencepb.ModelConfig{}), script(), 1)
		r, p := submit(t, g, "|r")
		time.Sleep(50 * time.Millisecond)
		r.Cancel()
		<-p.end
		require.Equal(t, "r.", p.read())
		r.Release()
		require.EqualValues(t, 1, counters.Counters().Success.Count)
	})
}

// A sink that panics on a response gets an error in its place, and no other.
func TestASinkThatPanicsBlocksNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), script(), 1)
		r, p := request("rR", 1), &fragile{tape: newTape()}
		r.Sink = p
		require.NoError(t, g.Submit(r))
		<-p.end
		r.Release()
		require.Equal(t, "<internal error while the response was written; the server's log has the details>.", p.read())
		require.True(t, g.Ready())
		require.NoError(t, g.Drain(t.Context()))
	})
}

// fragile is a tape that panics at the first response.
type fragile struct {
	*tape
	torn bool
}

func (f *fragile) Send(resp *infer.Response, final bool) {
	if !f.torn {
		f.torn = true
		panic("torn")
	}
	f.tape.Send(resp, final)
}

// A caller of Infer gets the one response of a decoupled model, and may leave.
func TestInferOfADecoupledModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := group(t, decoupled(&inferencepb.ModelConfig{}), script(), 1)
		require.NoError(t, call(t.Context(), g, request("|r.", 1)))
		require.NoError(t, call(t.Context(), g, request("R", 1)))
		require.EqualError(t, call(t.Context(), g, request("|rr.", 1)), "expected a single response, got 2")
		require.EqualError(t, call(t.Context(), g, request("|.", 1)), "expected a single response, got 0")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		require.Equal(t, status.Cancelled, code(call(ctx, g, request("|r", 1))))
	})
}
