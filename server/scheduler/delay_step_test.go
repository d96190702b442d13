package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestStep(t *testing.T) {
	t.Parallel()
	goal := DelayGoal{Target: 20 * ms, Limit: 15 * ms}
	calm := windowSummary{P99: 7 * ms, Rate: 1000, Size: 2, NotFull: 1}
	rose := func(seen windowSummary) delayState {
		return delayState{Delay: 7 * ms, Change: longer, DelayBefore: 2 * ms, WindowBefore: seen}
	}
	for name, c := range map[string]struct {
		state delayState
		seen  windowSummary
		want  delayState
	}{
		"room: half of it":                {delayState{Delay: 2 * ms}, calm, rose(calm)},
		"in the band":                     {delayState{Delay: 9 * ms}, windowSummary{P99: 16 * ms, NotFull: 1}, delayState{Delay: 9 * ms}},
		"above: all of it":                {delayState{Delay: 9 * ms}, windowSummary{P99: 21 * ms, Rate: 5}, delayState{Delay: 5 * ms, Pause: 4, PauseLeft: 4, Rate: 5}},
		"far above":                       {delayState{Delay: 9 * ms}, windowSummary{P99: time.Second, Rate: 5}, delayState{Pause: 4, PauseLeft: 4, Rate: 5}},
		"above without a delay":           {delayState{}, windowSummary{P99: time.Second, Rate: 5}, delayState{Pause: 4, PauseLeft: 4, Rate: 5}},
		"above again":                     {delayState{Delay: 9 * ms, Pause: 4, Rate: 5}, windowSummary{P99: 20 * ms, Rate: 5}, delayState{Delay: 6 * ms, Pause: 8, PauseLeft: 8, Rate: 5}},
		"still above":                     {delayState{Delay: 6 * ms, Pause: 8, PauseLeft: 8, Rate: 5}, windowSummary{P99: 20 * ms, Rate: 5}, delayState{Delay: 3 * ms, Pause: 8, PauseLeft: 8, Rate: 5}},
		"a pause":                         {delayState{Delay: 2 * ms, Pause: 4, PauseLeft: 2, Rate: 900}, calm, delayState{Delay: 2 * ms, Pause: 4, PauseLeft: 1, Rate: 900}},
		"another load ends the pause":     {delayState{Delay: 2 * ms, Pause: 4, PauseLeft: 2, Rate: 700}, calm, rose(calm)},
		"full batches need no more delay": {delayState{Delay: 2 * ms}, windowSummary{P99: 7 * ms, NotFull: 0.04}, delayState{Delay: 2 * ms}},
		"a rise that pays":                {rose(calm), windowSummary{P99: 16 * ms, Rate: 1000, Size: 2.5, NotFull: 1}, delayState{Delay: 7 * ms, DelayBefore: 2 * ms, WindowBefore: calm}},
		"a rise in vain":                  {rose(calm), windowSummary{P99: 12 * ms, Rate: 500, Size: 2.1, NotFull: 1}, delayState{Delay: 2 * ms, DelayBefore: 2 * ms, WindowBefore: calm, Pause: 4, PauseLeft: 4, Rate: 1000, Shorten: true}},
		"a shorter one": {
			delayState{Delay: 2 * ms, Shorten: true, PauseLeft: 1},
			calm,
			delayState{Delay: ms, Shorten: true, PauseLeft: 1, Change: shorter, DelayBefore: 2 * ms, WindowBefore: calm},
		},
		"which was too short": {
			delayState{Delay: ms, Shorten: true, Change: shorter, DelayBefore: 2 * ms, WindowBefore: calm},
			windowSummary{P99: 6 * ms, Size: 1.8, NotFull: 1},
			delayState{Delay: 2 * ms, DelayBefore: 2 * ms, WindowBefore: calm},
		},
		"the limit": {
			delayState{Delay: 14 * ms},
			windowSummary{P99: 10 * ms, NotFull: 1},
			delayState{Delay: 15 * ms, Change: longer, DelayBefore: 14 * ms, WindowBefore: windowSummary{P99: 10 * ms, NotFull: 1}},
		},
	} {
		require.Equal(t, c.want, stepDelay(goal, c.state, c.seen), name)
	}
}

// TestOneCaller has one caller that waits for each answer: it never shares a batch, and
// after some trials hardly ever waits for others.
func TestOneCaller(t *testing.T) {
	t.Parallel()
	s, waits := delayState{}, 0
	for range 1000 {
		took := ms + s.Delay
		s = stepDelay(DelayGoal{Target: 20 * ms, Limit: 20 * ms}, s, windowSummary{P99: took, Rate: 1 / took.Seconds(), Size: 1, NotFull: 1})
		if s.Delay > 0 {
			waits++
		}
	}
	require.Less(t, waits, 25)
}

func TestP99(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		l, all := latencies{}, []int64{}
		for range 1 + r.IntN(3000) {
			v := int64(r.ExpFloat64() * float64(int64(1)<<r.IntN(44)))
			l.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		want := all[(99*len(all)+99)/100-1]
		got := int64(l.p99())
		require.Greater(t, got, want)
		require.LessOrEqual(t, got, want+want/32+512)
	}
	l := latencies{}
	l.add(1<<63 - 1)
	l.add(-5)
	require.Positive(t, l.p99())
}
