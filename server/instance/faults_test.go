package instance_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
)

// counted is a sink that counts final responses and keeps their errors.
type counted struct {
	mu    sync.Mutex
	ends  int
	err   error
	fault string // "always", "once": Send panics
}

func (c *counted) Send(resp *infer.Response, final bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.fault {
	case "once":
		c.fault = ""
		panic("a fault of the sink")
	case "always":
		panic("a fault of the sink")
	}
	if resp != nil {
		c.err = resp.Err
		resp.Release()
	}
	if final {
		c.ends++
	}
}

func (c *counted) end() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends, c.err
}

// faulty is a trace, a response observer and an observer that panics at one point.
type faulty struct{ at string }

func (f faulty) hit(at string) {
	if f.at == at {
		panic("a fault in " + at)
	}
}

func (f faulty) Started(int, *infer.Batch, int64)             { f.hit("observer began") }
func (f faulty) Ended(int, *infer.Batch, scheduler.Execution) { f.hit("observer ended") }
func (f faulty) Begin(*infer.Request)                         {}
func (f faulty) Executed(*infer.Batch)                        { f.hit("trace executed") }
func (f faulty) End(*infer.Request)                           { f.hit("trace end") }
func (f faulty) Child() infer.Trace                           { return f }

func (f faulty) Observe(e infer.Event) {
	switch e.Kind {
	case infer.EventExecuted:
		f.hit("trace executed")
	case infer.EventResponded:
		f.hit("trace responded")
	case infer.EventEnded:
		f.hit("trace ended")
	}
}

type faultyObserver struct{ faulty }

func (f faultyObserver) Observe(*infer.Request, *infer.Response, bool) { f.hit("tap") }

// TestFaultsInARequestStayInIt lets everything around an execution panic, for
// one of the two requests of a batch. Each request has one end, and the instance
// serves on.
func TestFaultsInARequestStayInIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault faulty
		sink  string
		fails bool // the request whose fault it is
		ends  int
	}{
		"tap":             {fault: faulty{"tap"}, fails: true, ends: 1},
		"trace responded": {fault: faulty{"trace responded"}, ends: 1},
		"trace executed":  {fault: faulty{"trace executed"}, ends: 1},
		"trace ended":     {fault: faulty{"trace ended"}, ends: 1},
		"observer began":  {fault: faulty{"observer began"}, ends: 1},
		"observer ended":  {fault: faulty{"observer ended"}, ends: 1},
		"sink once":       {sink: "once", fails: true, ends: 1},
		"sink always":     {sink: "always", ends: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, decoupled := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					cfg := batching(2, time.Hour, 2)
					if decoupled {
						cfg.ModelTransactionPolicy = decoupledPolicy
					}
					g, _ := group(t, cfg, &fakeBackend{}, 1, func(o *instance.Options) { o.Observer = test.fault })
					bad, good := request("bad", 1), request("good", 1)
					sinks := map[*infer.Request]*counted{bad: {fault: test.sink}, good: {}}
					bad.Trace, bad.Observer = test.fault, faultyObserver{test.fault}
					for _, r := range []*infer.Request{bad, good} {
						r.Sink = sinks[r]
						require.NoError(t, g.Submit(r))
						r.Release()
					}
					synctest.Wait()
					ends, err := sinks[bad].end()
					require.Equal(t, test.ends, ends)
					require.Equal(t, test.fails, err != nil, "%v", err)
					ends, err = sinks[good].end()
					require.Equal(t, 1, ends)
					require.NoError(t, err)
					require.True(t, g.Ready())
					if !decoupled {
						require.NoError(t, call(t.Context(), g, request("next", 2)))
					}
				})
			}
		})
	}
}

// TestFaultsOnACallersGoroutine is the same for a batch that a caller runs.
func TestFaultsOnACallersGoroutine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault faulty
		fails bool
	}{
		"tap":             {faulty{"tap"}, true},
		"trace responded": {faulty{"trace responded"}, false},
		"trace executed":  {faulty{"trace executed"}, false},
		"trace ended":     {faulty{"trace ended"}, false},
		"observer began":  {faulty{"observer began"}, false},
		"observer ended":  {faulty{"observer ended"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _ := group(t, batching(2, 0), &fakeBackend{}, 1, func(o *instance.Options) { o.Observer = test.fault })
				for range 3 {
					r := request("r", 1)
					r.Trace, r.Observer = test.fault, faultyObserver{test.fault}
					require.Equal(t, test.fails, call(t.Context(), g, r) != nil)
				}
				require.True(t, g.Ready())
			})
		})
	}
}

var errEngine = errors.New("engine broke")

// TestBrokenInstancesComeBack breaks an instance in every way that a backend
// has.
func TestBrokenInstancesComeBack(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func() error{
		"panic":     func() error { panic("a fault of the engine") },
		"ErrBroken": func() error { return errors.Join(errEngine, backend.ErrBroken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				broken := true
				e := &fakeBackend{}
				e.execute = func(context.Context, *infer.Batch) error {
					if broken {
						return how()
					}
					return nil
				}
				g, _ := group(t, batching(1, 0), e, 1)
				require.Error(t, call(t.Context(), g, request("first", 1)))
				require.False(t, g.Ready())
				require.ErrorContains(t, call(t.Context(), g, request("second", 1)), "no working instance")
				broken = false
				time.Sleep(time.Minute)
				require.True(t, g.Ready())
				require.NoError(t, call(t.Context(), g, request("third", 1)))
			})
		})
	}
}

var decoupledPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
