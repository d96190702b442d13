package ensemble

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/infer/infertest"
)

// wrecked is a model that panics in Submit and Infer.
type wrecked struct {
	*fake
	queued bool // only once it is in the queue
}

func (w wrecked) Submit(r *infer.Request) error {
	if w.queued {
		_ = w.fake.Submit(r)
	} else {
		r.Release()
	}
	panic("a fault of the part")
}

func (w wrecked) Infer(_ context.Context, r *infer.Request) (*infer.Response, error) {
	r.Release()
	panic("a fault of the part")
}

// breaking is a response observer that panics.
var breaking = infertest.ObserverFunc(func(*infer.Request, *infer.Response, bool) { panic("a fault of the response observer") })

// TestPanicsFailTheRequestAlone lets everything around a flow panic. Its request
// has one end, the instances of the steps serve on, and no memory is lost.
func TestPanicsFailTheRequestAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part     func(step int, m *fake) infer.Callee
		observer infer.ResponseObserver
		got      string
	}{
		"the models are not found": {
			part: func(int, *fake) infer.Callee { panic("a fault of the repository") },
			got:  "0: Internal: in ensemble 'e', " + errInternal.Msg + " final",
		},
		"the first step is not queued": {
			part: func(i int, m *fake) infer.Callee { return broken(i == 0, m, false) },
			got:  "0: Internal: in ensemble 'e', " + errInternal.Msg + " final",
		},
		"the first step is queued": {
			part: func(i int, m *fake) infer.Callee { return broken(i == 0, m, true) }, got: "20: OUT[1]=1 final",
		},
		"the second step": {
			part: func(i int, m *fake) infer.Callee { return broken(i == 1, m, false) },
			got:  "10: Internal: in ensemble 'e', " + errInternal.Msg + " final",
		},
		"the response observer": {
			part: func(_ int, m *fake) infer.Callee { return m }, observer: breaking,
			got: "20: Internal: in ensemble 'e', internal error while the response was written; the server's log has the details final",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := build(t, ab, one("A", 10), one("B", 10))
				steps := []string{"A", "B"}
				g.opts.Submitter = finder(func(name string) infer.Callee { return test.part(slices.Index(steps, name), g.models[name]) })
				sink := newSink()
				r := g.request(0, "IN=1")
				r.Sink, r.Observer = sink, test.observer
				require.NoError(t, g.Submit(r))
				r.Release()
				<-sink.Done()
				require.Equal(t, []string{test.got}, sink.Timeline())

				alone := g.request(0, "IN=1")
				alone.Observer = test.observer
				resp, err := g.Infer(t.Context(), alone)
				if err == nil {
					resp.Release()
				}
				alone.Release()
				for _, m := range g.models {
					require.True(t, m.Ready())
				}
				g.close(t)
			})
		})
	}
}

func broken(really bool, m *fake, queued bool) infer.Callee {
	if really {
		return wrecked{m, queued}
	}
	return m
}

// finder finds a model by name.
type finder func(name string) infer.Callee

func (f finder) Acquire(name, _ string) (infer.Callee, error) { return f(name), nil }
