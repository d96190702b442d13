package ensemble

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// diamond is a decoupled model, two steps over its values, and a join, with a
// limit: everything at once.
const diamond = io + `ensemble_scheduling { max_inflight_requests: 3
  step { model_name: "R" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "r" } }
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "r" } output_map { key: "OUT" value: "a" } }
  step { model_name: "B" model_version: -1 input_map { key: "IN" value: "r" } output_map { key: "OUT" value: "b" } }
  step { model_name: "C" model_version: -1 input_map [ { key: "IN" value: "a" }, { key: "IN2" value: "b" } ] output_map { key: "OUT" value: "OUT" } }
}`

// TestStress runs requests of which some are cancelled and some fail. Every one
// is answered once, no limit loses a place and no memory is left.
func TestStress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config string
		models func() []*fake
	}{
		"linear": {ab, func() []*fake { return []*fake{one("A", 0), one("B", 0)} }},
		"fan":    {fan, func() []*fake { return []*fake{many(one("A", 0)), one("B", 0), two("C", 0)} }},
		"all":    {diamond, func() []*fake { return []*fake{many(repeat("R", 0)), many(one("A", 0)), one("B", 0), two("C", 0)} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := build(t, test.config, test.models()...)
			for _, m := range r.models {
				m.flaky = true
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 200 {
						r.one(t)
					}
				})
			}
			wg.Wait()
			c := r.stats.Counters()
			require.NotZero(t, c.Success.Count)
			require.NotZero(t, c.Fail.Count)
			r.close(t)
			for _, l := range r.limits {
				if l != nil {
					require.Zero(t, l.running)
					require.Empty(t, l.waiting)
				}
			}
		})
	}
}

func many(m *fake) *fake {
	m.instances = 4
	return m
}

// one runs a request this way or that.
func (r *harness) one(t *testing.T) {
	q := r.request(0, "IN=1,2,3")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	after := time.Duration(rand.IntN(100)) * time.Microsecond
	leave := rand.IntN(3) == 0
	if rand.IntN(2) == 0 && !r.decoupled {
		if leave {
			time.AfterFunc(after, cancel)
		}
		if resp, err := r.Infer(ctx, q); err == nil {
			resp.Release()
		}
		q.Release()
		return
	}
	to := newSink()
	q.Sink = to
	if err := r.Submit(q); err != nil {
		t.Error(err)
		return
	}
	if leave {
		time.Sleep(after)
		q.Cancel()
	}
	<-to.Done()
	q.Release()
}
