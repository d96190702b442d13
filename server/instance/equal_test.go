package instance_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/scheduler"
	"triton/server/stats"
)

// The rows of the reference's table 20.6: four requests, whose IDs say what
// they give, wait before the first batch is formed.
func TestWhichRequestsShareABatch(t *testing.T) {
	t.Parallel()
	fixed := func(name string, change func(*inferencepb.ModelInput)) *inferencepb.ModelInput {
		in := &inferencepb.ModelInput{Name: name, DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{1}}
		change(in)
		return in
	}
	optional := func(in *inferencepb.ModelInput) { in.Optional = true }
	for name, c := range map[string]struct {
		inputs []*inferencepb.ModelInput
		given  []string // letters are inputs; a digit is the contents of a shape tensor S
		want   []string
	}{
		"all give all":            {[]*inferencepb.ModelInput{fixed("A", optional), fixed("B", optional)}, []string{"AB", "AB", "AB", "AB"}, []string{"0: AB AB AB AB"}},
		"optional, alternating":   {[]*inferencepb.ModelInput{fixed("A", optional), fixed("B", optional)}, []string{"A", "AB", "A", "AB"}, []string{"0: A", "0: AB", "0: A", "0: AB"}},
		"optional, two and two":   {[]*inferencepb.ModelInput{fixed("A", optional), fixed("B", optional)}, []string{"A", "A", "AB", "AB"}, []string{"0: A A", "0: AB AB"}},
		"contents of shape input": {[]*inferencepb.ModelInput{fixed("S", func(in *inferencepb.ModelInput) { in.IsShapeTensor = true })}, []string{"1", "1", "2", "2"}, []string{"0: 1 1", "0: 2 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := batching(4, 0, 4)
				cfg.Input = c.inputs
				e := &backendtest.Model{Begin: time.Now()}
				g, _ := group(t, cfg, e, 1, queued(func(o *scheduler.Options) { o.HoldUntil = len(c.given) }))
				var all sync.WaitGroup
				for _, given := range c.given {
					r := request(given, 1)
					for _, letter := range given {
						in := r.AddInput()
						in.Name, in.Shape = string(letter), append(in.Shape, 1)
						if strings.ContainsRune("12", letter) {
							in.Name = "S"
						}
						in.Data = tensor.NewData(tensor.HeapBuffer([]byte{byte(letter)}))
					}
					all.Go(func() { require.NoError(t, call(context.Background(), g, r)) })
					synctest.Wait()
				}
				all.Wait()
				require.Equal(t, c.want, e.Members())
			})
		})
	}
}

// Row 20.3: twelve in three batches on two instances, answered in order.
func TestTwelveInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(100 * time.Millisecond)}
		cfg := ordered(4)
		cfg.GetDynamicBatching().PreferredBatchSize = []int32{4}
		g, _ := group(t, cfg, e, 2, queued(func(o *scheduler.Options) { o.HoldUntil = 12 }))
		var got notes
		var all sync.WaitGroup
		var want []string
		for i := range 12 {
			r, s := request("", 1), noting(&got, e.Begin, fmt.Sprint(i))
			r.Sink = s
			require.NoError(t, g.Submit(r))
			all.Go(func() { <-s.Done(); r.Release() })
			want = append(want, fmt.Sprintf("%d: %d", 100+i/8*100, i))
		}
		all.Wait()
		require.Equal(t, []string{"0: 4", "0: 4", "100: 4"}, e.Rows())
		require.Equal(t, want, got.read())
	})
}

// The fourth of four requests is cancelled while the first runs.
func TestTheFourthLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(6 * time.Second)}
		g, counters := group(t, batching(1, 0), e, 1)
		var requests []*infer.Request
		answers := make(infertest.Errors, 4)
		for i := range 4 {
			r := request(fmt.Sprint(i), 1)
			r.Sink = answers
			require.NoError(t, g.Submit(r))
			requests = append(requests, r)
		}
		time.Sleep(time.Second)
		requests[3].Cancel()
		require.Equal(t, status.Cancelled, code(<-answers))
		require.Equal(t, time.Second, time.Since(e.Begin), "at once")
		for range 3 {
			require.NoError(t, <-answers)
		}
		for _, r := range requests {
			r.Release()
		}
		require.Equal(t, []string{"0: 0", "6000: 1", "12000: 2"}, e.Members())
		require.EqualValues(t, 1, counters.Counters().Failures[stats.Canceled])
	})
}
