package footprint_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/footprint"
	"triton/analyzer/trial"
)

// exact is a model whose memory is exact at each place.
type exact struct {
	rooms      map[footprint.Place]footprint.Room
	base, each uint64
	useful     int // instances that raise the throughput
	busy       float64
	proof      footprint.Proof
	grows      uint64 // each second of stress
	fails      int    // a server with so many instances fails
	started    []int
}

type exactServer struct {
	m     *exact
	k     int
	grown atomic.Uint64 // the memory is read meanwhile
}

func (m *exact) Room(context.Context) (map[footprint.Place]footprint.Room, error) {
	return m.rooms, nil
}

func (m *exact) Start(_ context.Context, k int) (footprint.Server, error) {
	m.started = append(m.started, k)
	if m.fails > 0 && k >= m.fails {
		return nil, &footprint.Failure{Class: trial.OutOfGPUMemoryAtLoad, Err: errors.New("CUDA_ERROR_OUT_OF_MEMORY")}
	}
	return &exactServer{m: m, k: k}, nil
}

func (s *exactServer) Memory() (footprint.Reading, error) {
	r := footprint.Reading{}
	for place := range s.m.rooms {
		r[place] = s.m.base + uint64(s.k)*s.m.each + s.grown.Load()
	}
	return r, nil
}

func (s *exactServer) Warm(context.Context) (footprint.Proof, error) { return s.m.proof, nil }

func (s *exactServer) Stress(context.Context, int) error {
	for range 30 {
		time.Sleep(100 * time.Millisecond)
		s.grown.Add(s.m.grows / 10)
	}
	return nil
}

func (s *exactServer) Work(context.Context) (footprint.Work, error) {
	return footprint.Work{Throughput: 100 * float64(min(s.k, s.m.useful)), Busy: s.m.busy}, nil
}

func (s *exactServer) Close() error { return nil }

func model() *exact {
	return &exact{
		rooms: map[footprint.Place]footprint.Room{"GPU-0": {Usable: 16 << 30}},
		base:  gib, each: gib, useful: 99, proof: footprint.Counted,
	}
}

const gib = 1 << 30

func analyze(t *testing.T, m *exact, change func(*footprint.Config)) *footprint.Result {
	t.Helper()
	c := footprint.DefaultConfig()
	if change != nil {
		change(&c)
	}
	r, err := footprint.Run(t.Context(), c, footprint.Deps{Subject: m})
	require.NoError(t, err)
	return r
}

// TestAnswers has one case for each status, and for each doubt.
func TestAnswers(t *testing.T) {
	t.Parallel()
	type answer struct {
		instances, memory int
		status            footprint.Status
		doubt             string
	}
	for name, c := range map[string]struct {
		change func(*exact)
		config func(*footprint.Config)
		want   answer
	}{
		"verified":           {nil, nil, answer{14, 14, footprint.Verified, ""}}, // 16 less 0.8 of headroom less the base
		"throughput-limited": {func(m *exact) { m.useful = 3 }, nil, answer{3, 14, footprint.ThroughputLimited, ""}},
		"predicted":          {nil, func(c *footprint.Config) { c.Verify, c.MinGain = false, 0 }, answer{14, 14, footprint.Predicted, ""}},
		"capped":             {nil, func(c *footprint.Config) { c.MaxInstances = 6 }, answer{6, 14, footprint.Capped, ""}},
		"unfit":              {func(m *exact) { m.each = 20 * gib }, nil, answer{0, 0, footprint.Unfit, ""}},
		"two fit, no law":    {func(m *exact) { m.each = 7 * gib }, nil, answer{2, 2, footprint.Verified, ""}},
		"the smallest device decides": {func(m *exact) {
			m.rooms["GPU-1"] = footprint.Room{Usable: 80 * gib}
			m.rooms["GPU-2"] = footprint.Room{Usable: 8 * gib}
		}, nil, answer{6, 6, footprint.Verified, ""}},
		"a shared device": {func(m *exact) {
			m.rooms["GPU-0"] = footprint.Room{Usable: 16 * gib, Foreign: "process 7"}
		}, nil, answer{14, 14, footprint.Uncertain, "GPU-0 is shared with process 7"}},
		"a leak":                              {func(m *exact) { m.grows = 40 << 20 }, nil, answer{13, 13, footprint.Uncertain, "the memory of GPU-0 did not stop growing under load: a leak, or a cache without a limit"}},
		"no proof":                            {func(m *exact) { m.proof = footprint.NoProof }, nil, answer{14, 14, footprint.Uncertain, "it was not shown that every instance executed"}},
		"out of memory before the prediction": {func(m *exact) { m.fails = 9 }, nil, answer{8, 8, footprint.Verified, ""}},
		"too few servers":                     {nil, func(c *footprint.Config) { c.MaxRuns = 5 }, answer{8, 14, footprint.Uncertain, "5 servers were not enough to verify the answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := model()
				if c.change != nil {
					c.change(m)
				}
				r := analyze(t, m, c.config)
				doubt := ""
				if len(r.Answer.Doubts) > 0 {
					doubt = r.Answer.Doubts[0]
				}
				require.Equal(t, c.want, answer{r.Answer.Instances, r.Answer.Memory, r.Answer.Status, doubt}, "started %v, %+v", m.started, r.Answer)
			})
		})
	}
}

// TestTinyModel checks that instances that cost nothing measurable give no number: neither a count
// that fits, nor a free and a limited one at once.
func TestTinyModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model()
		m.each, m.useful = 100<<10, 2
		r := analyze(t, m, nil)
		require.False(t, r.Answer.MemoryLimits)
		require.False(t, r.Limits[0].Costs)
		require.Zero(t, r.Limits[0].Instances)
		require.Equal(t, 2, r.Answer.Instances)
		require.Equal(t, footprint.ThroughputLimited, r.Answer.Status)
	})
}

// TestNoNumberWithoutALaw checks that two counts and no repeat, which always fit a line, predict nothing.
func TestNoNumberWithoutALaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := analyze(t, model(), func(c *footprint.Config) { c.MaxRuns = 2 })
		require.Nil(t, r.Limits[0].Law)
		require.Equal(t, 2, r.Limits[0].Instances, "those that ran")
		require.Equal(t, 2, r.Answer.Memory)
		require.Equal(t, footprint.Uncertain, r.Answer.Status)
	})
}

// TestNoServersForNothing checks that counts of no use cost no servers, and that memory is not predicted for them.
func TestNoServersForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			busy       float64
			processors int
			started    []int
		}{
			{1.9, 2, []int{0, 1, 2, 4, 1, 2}},
			{0.1, 0, []int{0, 1, 2, 4, 1, 4, 2}},
		} {
			m := model()
			m.each, m.useful, m.busy = 1<<20, 1, c.busy
			r := analyze(t, m, func(c *footprint.Config) { c.Processors = 2 })
			require.Equal(t, c.started, m.started)
			require.Equal(t, 1, r.Answer.Instances)
			require.Equal(t, footprint.ThroughputLimited, r.Answer.Status)
			require.Equal(t, c.processors, r.Answer.Processors, "a server that waits keeps none busy")
		}
	})
}

// TestQuickClimbs: beside the counts that were asked for, only larger ones are measured, while they are much better.
func TestQuickClimbs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		useful  int
		started []int
		known   bool
	}{
		"the larger count is no better": {3, []int{0, 1, 2, 4, 2, 8}, true},
		"no larger one is needed":       {1, []int{0, 1, 2, 1}, true},
		"each instance is of use":       {999, []int{0, 1, 2, 4, 8, 16, 21, 16}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := model()
				m.each, m.useful = 1<<20, c.useful
				r := analyze(t, m, func(c *footprint.Config) { c.Quick, c.Repeats, c.Counts = true, 1, []int{1, 2} })
				require.Equal(t, c.started, m.started)
				require.Equal(t, c.known, r.Answer.UsefulKnown)
			})
		})
	}
}

// TestServersAreFew checks that the useful count is found without measuring each one.
func TestServersAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model()
		m.each, m.useful = 300<<20, 11
		r := analyze(t, m, nil)
		require.Contains(t, []int{11, 12}, r.Answer.Instances, "12 is not told from 11: %v %+v", m.started, r.Answer.Choice)
		require.True(t, r.Answer.Run)
		require.LessOrEqual(t, len(m.started), 13, "%v", m.started)
	})
}
