package instance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
)

// faulty is an observer of batches that panics at one point, and so do its trace and its
// response observer.
type faulty struct{ at string }

func (f faulty) hit(at string) {
	if f.at == at {
		panic("a fault in " + at)
	}
}

func (f faulty) Started(int, *infer.Batch, int64)             { f.hit("observer began") }
func (f faulty) Ended(int, *infer.Batch, scheduler.Execution) { f.hit("observer ended") }

func (f faulty) trace(e infer.Event) {
	switch e.Kind {
	case infer.EventExecuted:
		f.hit("trace executed")
	case infer.EventResponded:
		f.hit("trace responded")
	case infer.EventEnded:
		f.hit("trace ended")
	}
}

func (f faulty) observe(*infer.Request, *infer.Response, bool) { f.hit("response observer") }

// follow gives a request the trace and the response observer.
func (f faulty) follow(r *infer.Request) {
	r.Trace, r.Observer = infertest.TraceFunc(f.trace), infertest.ObserverFunc(f.observe)
}

// TestFaultsInARequestStayInIt lets everything around an execution panic, for
// one of the two requests of a batch. Each request has one end, and the instance
// serves on.
func TestFaultsInARequestStayInIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  faulty
		panics int  // of the sink; -1: always
		fails  bool // the request whose fault it is
		ends   int
	}{
		"response observer": {fault: faulty{"response observer"}, fails: true, ends: 1},
		"trace responded":   {fault: faulty{"trace responded"}, ends: 1},
		"trace executed":    {fault: faulty{"trace executed"}, ends: 1},
		"trace ended":       {fault: faulty{"trace ended"}, ends: 1},
		"observer began":    {fault: faulty{"observer began"}, ends: 1},
		"observer ended":    {fault: faulty{"observer ended"}, ends: 1},
		"sink once":         {panics: 1, fails: true, ends: 1},
		"sink always":       {panics: -1, ends: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, decoupled := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					cfg := batching(2, time.Hour, 2)
					if decoupled {
						cfg.ModelTransactionPolicy = decoupledPolicy
					}
					g, _ := group(t, cfg, &backendtest.Model{}, 1, func(o *instance.Options) { o.Observer = test.fault })
					bad, good := request("bad", 1), request("good", 1)
					sinks := map[*infer.Request]*infertest.Sink{bad: infertest.NewSink(), good: infertest.NewSink()}
					sinks[bad].Panics = test.panics
					test.fault.follow(bad)
					for _, r := range []*infer.Request{bad, good} {
						r.Sink = sinks[r]
						require.NoError(t, g.Submit(r))
						r.Release()
					}
					synctest.Wait()
					require.Equal(t, test.ends, sinks[bad].Ends())
					require.Equal(t, test.fails, sinks[bad].Err() != nil, "%v", sinks[bad].Err())
					require.Equal(t, 1, sinks[good].Ends())
					require.NoError(t, sinks[good].Err())
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
		"response observer": {faulty{"response observer"}, true},
		"trace responded":   {faulty{"trace responded"}, false},
		"trace executed":    {faulty{"trace executed"}, false},
		"trace ended":       {faulty{"trace ended"}, false},
		"observer began":    {faulty{"observer began"}, false},
		"observer ended":    {faulty{"observer ended"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _ := group(t, batching(2, 0), &backendtest.Model{}, 1, func(o *instance.Options) { o.Observer = test.fault })
				for range 3 {
					r := request("r", 1)
					test.fault.follow(r)
					require.Equal(t, test.fails, call(t.Context(), g, r) != nil)
				}
				require.True(t, g.Ready())
			})
		})
	}
}

// TestBrokenInstancesComeBack breaks an instance in every way that a backend
// has.
func TestBrokenInstancesComeBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]backendtest.BatchFault{"panic": backendtest.Panic, "ErrBroken": backendtest.Broken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &backendtest.Model{BatchFault: func(*infer.Batch) backendtest.BatchFault { return fault }}
				g, _ := group(t, batching(1, 0), e, 1)
				require.Error(t, call(t.Context(), g, request("first", 1)))
				require.False(t, g.Ready())
				require.ErrorContains(t, call(t.Context(), g, request("second", 1)), "no working instance")
				fault = 0
				time.Sleep(time.Minute)
				require.True(t, g.Ready())
				require.NoError(t, call(t.Context(), g, request("third", 1)))
			})
		})
	}
}

var decoupledPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
