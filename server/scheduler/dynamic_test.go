package scheduler_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

const ms = int64(1e6)

func config(max int32, delayMs uint64, preferred ...int32) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		MaxBatchSize: max,
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
			PreferredBatchSize: preferred, MaxQueueDelayMicroseconds: delayMs * 1000,
		}},
	}
}

// queued is a request of that many rows which came at a time in ms.
func queued(rows int, at int64) *infer.Request {
	r := infer.NewRequest()
	r.Batch, r.Position.Since = rows, at*ms
	return r
}

func list(requests ...*infer.Request) *scheduler.PriorityQueue {
	l := scheduler.NewPriorityQueue(nil, scheduler.Rules{})
	for _, r := range requests {
		if err := l.Push(r, r.Position.Since); err != nil {
			panic(err)
		}
	}
	return l
}

func ones(n int) *scheduler.PriorityQueue {
	var all []*infer.Request
	for range n {
		all = append(all, queued(1, 0))
	}
	return list(all...)
}

func TestDynamicEvaluate(t *testing.T) {
	t.Parallel()
	var (
		waits    = config(8, 10000, 2, 6)
		prompt   = config(16, 0, 4, 6)
		byMax    = config(8, 10000)
		immed    = config(100, 0)
		unbatch  = config(0, 10000)
		wide     = config(32, 10000, 4, 8, 32)
		noPrompt = config(32, 10000, 4, 8)
	)
	decide := func(n int, why stats.CloseReason) scheduler.Decision { return scheduler.Decision{Count: n, Why: why} }
	until := func(at int64) scheduler.Decision { return scheduler.Decision{At: at * ms} }
	for name, c := range map[string]struct {
		cfg   *inferencepb.ModelConfig
		queue *scheduler.PriorityQueue
		now   int64
		flush bool
		want  scheduler.Decision
	}{
		"a preferred size":                              {waits, list(queued(2, 0)), 0, false, decide(1, stats.Preferred)},
		"the largest preferred size":                    {waits, list(queued(6, 0)), 0, false, decide(1, stats.Preferred)},
		"one waits":                                     {waits, list(queued(1, 0)), 0, false, until(10000)},
		"three wait":                                    {waits, list(queued(3, 0)), 0, false, until(10000)},
		"more than the largest preferred size":          {waits, list(queued(7, 0)), 0, false, decide(1, stats.Full)},
		"1+3 wait for the oldest":                       {waits, list(queued(1, 0), queued(3, 100)), 100, false, until(10000)},
		"the delay just not over":                       {waits, list(queued(1, 0), queued(3, 100)), 9999, false, until(10000)},
		"the delay over":                                {waits, list(queued(1, 0), queued(3, 100)), 10000, false, decide(2, stats.Delay)},
		"3+7: the first alone":                          {waits, list(queued(3, 0), queued(7, 100)), 100, false, decide(1, stats.Full)},
		"3+4 fits but passes the largest":               {waits, list(queued(3, 0), queued(4, 100)), 100, false, decide(1, stats.Full)},
		"3+4+1 after the delay: everything":             {waits, list(queued(3, 0), queued(4, 10), queued(1, 11000)), 11000, false, decide(3, stats.Full)},
		"3+4 after the delay":                           {waits, list(queued(3, 0), queued(4, 10)), 11000, false, decide(2, stats.Full)},
		"six ones":                                      {waits, ones(6), 1, false, decide(6, stats.Preferred)},
		"seven ones":                                    {waits, ones(7), 1, false, decide(6, stats.Preferred)},
		"nine ones after the delay":                     {waits, ones(9), 10000, false, decide(8, stats.Full)},
		"three ones":                                    {waits, ones(3), 1, false, decide(2, stats.Preferred)},
		"draining ends the delay":                       {waits, list(queued(1, 0), queued(3, 100)), 100, true, decide(2, stats.Flush)},
		"the delay is over when the drain comes":        {waits, list(queued(1, 0), queued(3, 100)), 10000, true, decide(2, stats.Delay)},
		"no preferred sizes: half waits":                {byMax, ones(4), 0, false, until(10000)},
		"no preferred sizes: full":                      {byMax, ones(8), 0, false, decide(8, stats.Full)},
		"no preferred sizes: over full":                 {byMax, ones(12), 0, false, decide(8, stats.Full)},
		"no delay: all requests":                        {immed, ones(11), 0, false, decide(11, stats.Immediate)},
		"no delay: one":                                 {immed, ones(1), 0, false, decide(1, stats.Immediate)},
		"prompt: 4":                                     {prompt, ones(4), 0, false, decide(4, stats.Preferred)},
		"prompt: 5 is 4 and 1":                          {prompt, ones(5), 0, false, decide(4, stats.Preferred)},
		"prompt: 6":                                     {prompt, ones(6), 0, false, decide(6, stats.Preferred)},
		"prompt: 7 is 6 and 1":                          {prompt, ones(7), 0, false, decide(6, stats.Preferred)},
		"prompt: 3":                                     {prompt, ones(3), 0, false, decide(3, stats.Immediate)},
		"prompt: past the largest in one step":          {prompt, list(queued(3, 0), queued(2, 0), queued(2, 0), queued(9, 0)), 0, false, decide(3, stats.Full)},
		"prompt: 3 and 7 fit":                           {prompt, list(queued(3, 0), queued(7, 0), queued(1, 0)), 0, false, decide(2, stats.Full)},
		"prompt: 3 and 14 do not":                       {prompt, list(queued(3, 0), queued(14, 0)), 0, false, decide(1, stats.Full)},
		"max_batch_size 0, no delay":                    {config(0, 0), ones(3), 0, false, decide(1, stats.Full)},
		"max_batch_size 0: each alone":                  {unbatch, ones(3), 0, false, decide(1, stats.Full)},
		"max_batch_size 0: one":                         {unbatch, ones(1), 0, false, decide(1, stats.Full)},
		"2+2 reaches 4 in passing":                      {wide, list(queued(2, 0), queued(2, 1), queued(1, 2), queued(2, 3)), 4, false, decide(2, stats.Preferred)},
		"2+1+2+2+3+6 meets no preferred size":           {wide, list(queued(2, 0), queued(1, 1), queued(2, 2), queued(2, 3), queued(3, 4), queued(6, 5)), 10, false, until(10000)},
		"1+2+2 meets no preferred size":                 {noPrompt, list(queued(1, 0), queued(2, 200), queued(2, 200)), 200, false, until(10000)},
		"the same without the first":                    {noPrompt, list(queued(2, 200), queued(2, 200)), 200, false, decide(2, stats.Preferred)},
		"batch size 0 on the wire counts as one":        {waits, list(queued(0, 0), queued(0, 1)), 1, false, decide(2, stats.Preferred)},
		"a preferred size beats an overfull queue":      {waits, list(queued(2, 0), queued(7, 1)), 1, false, decide(1, stats.Preferred)},
		"after the delay the preferred size is no rule": {waits, list(queued(2, 0), queued(1, 0), queued(4, 0)), 10000, false, decide(3, stats.Full)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, scheduler.NewDynamicBatching(c.cfg).Evaluate(c.queue, c.now*ms, c.flush))
		})
	}
}

func TestShapesThatMayShareABatch(t *testing.T) {
	t.Parallel()
	input := func(name string, dims ...int64) *inferencepb.ModelInput {
		return &inferencepb.ModelInput{Name: name, DataType: inferencepb.DataType_TYPE_INT32, Dims: dims}
	}
	with := func(in *inferencepb.ModelInput, change func(*inferencepb.ModelInput)) *inferencepb.ModelInput {
		change(in)
		return in
	}
	type given map[string][]int32 // input name -> shape with batch, contents
	for name, c := range map[string]struct {
		inputs []*inferencepb.ModelInput
		a, b   given
		want   bool
	}{
		"variable, same":                {[]*inferencepb.ModelInput{input("A", -1)}, given{"A": {1, 16}}, given{"A": {2, 16}}, true},
		"variable, other":               {[]*inferencepb.ModelInput{input("A", -1)}, given{"A": {1, 16}}, given{"A": {1, 8}}, false},
		"variable, other rank":          {[]*inferencepb.ModelInput{input("A", -1)}, given{"A": {1, 16}}, given{"A": {1, 16, 1}}, false},
		"fixed is not compared":         {[]*inferencepb.ModelInput{input("A", 16)}, given{"A": {1, 16}}, given{"A": {1, 8}}, true},
		"ragged is not compared":        {[]*inferencepb.ModelInput{with(input("A", -1), func(in *inferencepb.ModelInput) { in.AllowRaggedBatch = true })}, given{"A": {1, 16}}, given{"A": {1, 8}}, true},
		"optional, both absent":         {[]*inferencepb.ModelInput{input("A", 16), with(input("B", -1), func(in *inferencepb.ModelInput) { in.Optional = true })}, given{"A": {1, 16}}, given{"A": {1, 16}}, true},
		"optional, one absent":          {[]*inferencepb.ModelInput{input("A", 16), with(input("B", 16), func(in *inferencepb.ModelInput) { in.Optional = true })}, given{"A": {1, 16}}, given{"A": {1, 16}, "B": {1, 16}}, false},
		"optional, other one given":     {[]*inferencepb.ModelInput{with(input("A", 16), func(in *inferencepb.ModelInput) { in.Optional = true }), with(input("B", 16), func(in *inferencepb.ModelInput) { in.Optional = true })}, given{"A": {1, 16}}, given{"B": {1, 16}}, false},
		"shape tensor, same":            {[]*inferencepb.ModelInput{with(input("S", 1), func(in *inferencepb.ModelInput) { in.IsShapeTensor = true })}, given{"S": {1, 4}}, given{"S": {1, 4}}, true},
		"shape tensor, in pieces":       {[]*inferencepb.ModelInput{with(input("S", 1), func(in *inferencepb.ModelInput) { in.IsShapeTensor = true })}, given{"S": {1, 4, 7, 9}}, given{"S": {1, 4, 7, 9}}, true},
		"shape tensor, in other pieces": {[]*inferencepb.ModelInput{with(input("S", 1), func(in *inferencepb.ModelInput) { in.IsShapeTensor = true })}, given{"S": {1, 4, 7, 9}}, given{"S": {1, 4, 9, 7}}, false},
		"shape tensor, other":           {[]*inferencepb.ModelInput{with(input("S", 1), func(in *inferencepb.ModelInput) { in.IsShapeTensor = true })}, given{"S": {1, 4}}, given{"S": {1, 5}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(8, 0)
			cfg.Input = c.inputs
			request := func(g given) *infer.Request {
				r := queued(1, 0)
				for name, numbers := range g {
					in := r.AddInput()
					in.Name = name
					var bytes []byte
					for _, n := range numbers {
						in.Shape = append(in.Shape, int64(n))
						bytes = append(bytes, byte(n))
					}
					if name == "S" { // the contents differ, the shape does not
						in.Shape = tensor.Shape{2}
					}
					for part := range slices.Chunk(bytes, 1+len(bytes)/2) {
						in.Data.Append(tensor.HeapBuffer(part), 0, len(part))
					}
				}
				return r
			}
			got := scheduler.NewDynamicBatching(cfg).Evaluate(list(request(c.a), request(c.b)), 0, false)
			if c.want {
				require.Equal(t, scheduler.Decision{Count: 2, Why: stats.Immediate}, got)
			} else {
				require.Equal(t, scheduler.Decision{Count: 1, Why: stats.Shape}, got)
			}
		})
	}
}

// A decision on requests considered before, as when an alarm fires.
func BenchmarkEvaluate(b *testing.B) {
	p, queue := scheduler.NewDynamicBatching(config(64, 10000)), ones(63)
	b.ReportAllocs()
	for b.Loop() {
		if p.Evaluate(queue, 0, false).Count != 0 {
			b.Fatal("due")
		}
	}
}

// TestEndlessDelay: a delay that does not fit into nanoseconds counts as very long. As a delay that
// has passed it would make the queue evaluate forever.
func TestEndlessDelay(t *testing.T) {
	t.Parallel()
	for _, micros := range []uint64{1 << 63, math.MaxUint64, math.MaxInt64 / 1000} {
		c := config(8, 0, 4)
		c.GetDynamicBatching().MaxQueueDelayMicroseconds = micros
		decision := scheduler.NewDynamicBatching(c).Evaluate(ones(1), 5*ms, false)
		require.Zero(t, decision.Count)
		require.Greater(t, decision.At, int64(1e9)*3600*24*365, "%d", micros)
	}
}
