package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/kserve"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// TestWeights: requests are distributed by the weights.
func TestWeights(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	m.add("m", "2")
	m.add("other", "7")
	s := service(t, m)
	random := rand.New(rand.NewPCG(1, 2))
	s.opts.Random = random.Float64
	set(t, s, "m", `{"weights":[{"version":"1","weight":7},{"version":"2","weight":2},{"model":"other","weight":1}]}`)
	got := map[string]int{}
	const n = 20000
	for range n {
		got[send(t, s, "m", nil, nil)]++
	}
	for target, share := range map[string]float64{"m:1": 0.7, "m:2": 0.2, "other:7": 0.1} {
		require.InDelta(t, share, float64(got[target])/n, 4*math.Sqrt(share*(1-share)/n), target)
	}
}

// TestEveryDecisionIsCounted: the counts add up to the requests, while rules change and versions come
// and go, with any number of goroutines.
func TestEveryDecisionIsCounted(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	two := m.add("m", "2")
	s := service(t, m)
	rules := []string{
		`{"weights":[{"version":"1","weight":1},{"version":"2","weight":1}],"sticky":{"header":"user"}}`,
		`{"match":[{"header":"user","prefix":"a","to":{"version":"2"}}],"default":{"version":"1"}}`,
		`{"canary":{"version":"2","stable":{"version":"1"}}}`,
		`{"default":{"version":"9"}}`,
	}
	set(t, s, "m", rules[0])
	const workers, each = 4, 500
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				h := headers{"user": fmt.Sprintf("%c%d", 'a'+i%3, i)}
				send(t, s, "m", h, func(r *infer.Request) {
					if i%5 == 0 {
						r.SequenceID, r.SequenceStart = uint64(1+w), true
					}
				})
			}
		})
	}
	for i := range 200 {
		set(t, s, "m", rules[i%len(rules)])
		switch i % 20 {
		case 10:
			m.remove(two)
		case 19:
			m.mu.Lock()
			m.all = append(m.all, two)
			m.mu.Unlock()
		}
	}
	wg.Wait()
	st, err := s.Status("m", false)
	require.NoError(t, err)
	sum := uint64(0)
	for _, d := range st.Decisions {
		sum += d.Count
	}
	require.Equal(t, uint64(workers*each), sum, "%v", st.Decisions)
	require.Zero(t, two.refs.Load())
}

// TestStickyIsConsistent: when a weight grows, keys move to that target and nowhere else, and no more
// of them than the share has grown by.
func TestStickyIsConsistent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	random := rand.New(rand.NewPCG(3, 4))
	const keys = 20000
	for range 20 {
		weights := make([]float64, 2+random.IntN(4))
		for i := range weights {
			weights[i] = 1 + 20*random.Float64()
		}
		place := func(weights []float64) []int {
			r := &trafficrules.Rules{}
			for i, w := range weights {
				r.Weights = append(r.Weights, trafficrules.Weight{Target: trafficrules.Target{Version: fmt.Sprint(i + 1)}, Weight: w})
			}
			p := compile(&name{name: "m"}, r, nil, nil)
			at := make([]int, keys)
			for k := range at {
				at[k] = p.byKey(hashBytes(0, fmt.Sprint("user", k)))
			}
			return at
		}
		before := place(weights)
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		counts := make([]float64, len(weights))
		for _, i := range before {
			counts[i]++
		}
		for i, w := range weights {
			share := w / sum
			require.InDelta(t, share, counts[i]/keys, 5*math.Sqrt(share*(1-share)/keys))
		}
		grown := random.IntN(len(weights))
		old := weights[grown] / sum
		add := 30 * random.Float64()
		weights[grown] += add
		moved := 0
		for k, i := range place(weights) {
			if i == before[k] {
				continue
			}
			require.Equal(t, grown, i, "a key moved between two other targets")
			moved++
		}
		increase := weights[grown]/(sum+add) - old
		require.InDelta(t, increase, float64(moved)/keys, 5*math.Sqrt(0.25/keys))
	}
}

// TestStickyKeys: the key is a header, a parameter of any kind, or a correlation ID; without one the
// choice is by chance.
func TestStickyKeys(t *testing.T) {
	t.Parallel()
	for sticky, edit := range map[string]func(r *infer.Request, h headers, i int){
		`{"header":"X-User"}`: func(_ *infer.Request, h headers, i int) { h["x-user"] = fmt.Sprint(i) },
		`{"parameter":"user"}`: func(r *infer.Request, _ headers, i int) {
			r.Parameters = append(r.Parameters, kserve.Parameter{Name: "user", Kind: kserve.ParamInt, Int: int64(i)})
		},
		`{"correlation_id":true}`: func(r *infer.Request, _ headers, i int) {
			if r.SequenceID = uint64(i); i%2 == 0 {
				r.SequenceIDStr = fmt.Sprint("text", i)
			}
		},
	} {
		t.Run(sticky, func(t *testing.T) {
			t.Parallel()
			m := &models{}
			m.add("m", "1")
			m.add("m", "2")
			s := service(t, m)
			set(t, s, "m", `{"weights":[{"version":"1","weight":1},{"version":"2","weight":1}],"sticky":`+sticky+`}`)
			got := map[string]int{}
			for i := range 200 {
				h := headers{}
				keyed := func(r *infer.Request) { edit(r, h, i+1) }
				first := send(t, s, "m", h, keyed)
				require.Equal(t, first, send(t, s, "m", h, keyed))
				got[first]++
			}
			require.InDelta(t, 100, got["m:1"], 40)
			for range 40 {
				got[send(t, s, "m", nil, nil)]++
			}
			st, err := s.Status("m", false)
			require.NoError(t, err)
			counts := map[string]uint64{}
			for _, d := range st.Decisions {
				counts[d.Rule] += d.Count
			}
			require.Equal(t, map[string]uint64{"sticky": 400, "weight": 40}, counts)
		})
	}
}

// sequenceRequest makes a request of a sequence; flags are the letters S and E.
func sequenceRequest(id any, flags string) func(*infer.Request) {
	return func(r *infer.Request) {
		switch id := id.(type) {
		case int:
			r.SequenceID = uint64(id)
		case string:
			r.SequenceIDStr = id
		}
		r.SequenceStart, r.SequenceEnd = strings.Contains(flags, "S"), strings.Contains(flags, "E")
	}
}

func sequenceModels() *models {
	m := &models{}
	for _, v := range []string{"1", "2"} {
		m.add("m", v).config.SchedulingChoice = sequenceBatching(0)
	}
	return m
}

// TestSequencesStay: a sequence stays on its version when rules change, a canary is rolled back or the
// rules are deleted, until its end.
func TestSequencesStay(t *testing.T) {
	t.Parallel()
	for _, id := range []any{7, "seven"} {
		s := service(t, sequenceModels())
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest("early", "S")))
		set(t, s, "m", `{"default":{"version":"1"}}`)
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest("early", "")), "it began before the rules")
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest("early", "E")))
		require.Equal(t, "m:1", send(t, s, "m", nil, sequenceRequest(id, "S")))
		set(t, s, "m", `{"canary":{"version":"2","stable":{"version":"1"},"steps":[100]}}`)
		require.Equal(t, "m:1", send(t, s, "m", nil, sequenceRequest(id, "")))
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest(8, "S")))
		require.NoError(t, s.Rollback("m"))
		require.Equal(t, "m:1", send(t, s, "m", nil, nil))
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest(8, "")), "after the roll back")
		require.NoError(t, s.Delete(t.Context(), "m", nil))
		require.Equal(t, "m:1", send(t, s, "m", nil, sequenceRequest(id, "")), "without rules")
		require.Equal(t, "m:2", send(t, s, "m", nil, nil))
		require.Equal(t, "m:1", send(t, s, "m", nil, sequenceRequest(id, "E")))
		require.Equal(t, "m:2", send(t, s, "m", nil, sequenceRequest(8, "E")))
		s.tick(time.Now())
		require.Nil(t, s.table.Load(), "nothing is left")
	}
}

// TestSequencesEnd: a sequence is forgotten when it is idle, or when there are too many.
func TestSequencesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := service(t, sequenceModels())
		set(t, s, "m", `{"default":{"version":"1"}}`)
		send(t, s, "m", nil, sequenceRequest(1, "S"))
		time.Sleep(50 * time.Second)
		send(t, s, "m", nil, sequenceRequest(2, "S"))
		count := func() int {
			st, err := s.Status("m", false)
			require.NoError(t, err)
			return st.Sequences
		}
		require.Equal(t, 2, count())
		time.Sleep(11 * time.Second)
		require.Equal(t, 1, count())
		s.names["m"].sequences.max = 10
		for i := range 100 {
			send(t, s, "m", nil, sequenceRequest(100+i, "S"))
		}
		require.Equal(t, 10, count())
		set(t, s, "m", `{"default":{"version":"2"}}`)
		require.Equal(t, "m:1", send(t, s, "m", nil, sequenceRequest(199, "")))
	})
}

// TestSequencesCountInTheCanary: not only the first request of a sequence is a sample.
func TestSequencesCountInTheCanary(t *testing.T) {
	t.Parallel()
	s := service(t, sequenceModels())
	set(t, s, "m", `{"default":{"version":"1"}}`)
	send(t, s, "m", nil, sequenceRequest(1, "S"))
	set(t, s, "m", `{"canary":{"version":"2","stable":{"version":"1"},"steps":[100]}}`)
	send(t, s, "m", nil, sequenceRequest(2, "S"))
	for range 3 {
		send(t, s, "m", nil, sequenceRequest(1, ""))
		send(t, s, "m", nil, sequenceRequest(2, ""))
	}
	st, err := s.Status("m", false)
	require.NoError(t, err)
	require.Equal(t, int64(3), st.Canary.Stable.Requests)
	require.Equal(t, int64(4), st.Canary.Canary.Requests)
}

// TestVanishedVersion: the fallback answers for a target that is not ready, or decoupled where the
// fallback is not.
func TestVanishedVersion(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	two := m.add("m", "2")
	s := service(t, m)
	set(t, s, "m", `{"canary":{"version":"2","stable":{"version":"1"},"steps":[100]}}`)
	require.Equal(t, "m:2", send(t, s, "m", nil, nil))
	m.remove(two)
	require.Equal(t, "m:1", send(t, s, "m", nil, nil))
	s.tick(time.Now())
	st, err := s.Status("m", false)
	require.NoError(t, err)
	require.Equal(t, trafficrules.CanaryWaiting, st.Canary.State)
	require.Equal(t, "m:2 is not ready", st.Canary.Reason)
	other := m.add("m", "3")
	other.config.ModelTransactionPolicy = decoupled
	set(t, s, "m", `{"default":{"version":"1"},"match":[{"header":"h","to":{"version":"3"}}]}`)
	require.Equal(t, "m:1", send(t, s, "m", headers{"h": "x"}, nil))
}

// TestUnrelatedReload: a canary goes on when other models are loaded, and when the other parts of the
// document change.
func TestUnrelatedReload(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	m.add("m", "2")
	s := service(t, m)
	text := `{"canary":{"version":"2","stable":{"version":"1"}}}`
	config := withRules("m", text)
	s.Changed("m", config)
	require.NoError(t, s.Rollback("m"))
	s.Changed("other", withRules("other", `{"default":{"version":"1"}}`))
	s.Changed("m", nil)
	s.Changed("m", config)
	set(t, s, "m", `{"match":[{"header":"h","to":{"version":"2"}}],`+text[1:])
	st, err := s.Status("m", false)
	require.NoError(t, err)
	require.Equal(t, trafficrules.CanaryRolledBack, st.Canary.State)
	set(t, s, "m", `{"canary":{"version":"2","stable":{"version":"1"},"steps":[5]}}`)
	st, err = s.Status("m", false)
	require.NoError(t, err)
	require.Equal(t, trafficrules.CanaryProgressing, st.Canary.State, "another canary")
}

// TestDocumentOfFleet: what Traffic returns sets the same rules again.
func TestDocumentOfFleet(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	s := service(t, m)
	doc, err := s.Traffic(t.Context(), "m")
	require.NoError(t, err)
	require.Nil(t, doc)
	set(t, s, "m", `{"weights":[{"version":"1","weight":1.5},{"model":"x","weight":2}],"sticky":{"correlation_id":true}}`)
	doc, err = s.Traffic(t.Context(), "m")
	require.NoError(t, err)
	require.NoError(t, s.SetTraffic(t.Context(), "m", nil))
	require.Nil(t, s.table.Load())
	require.NoError(t, s.SetTraffic(t.Context(), "m", doc))
	again, err := s.Traffic(t.Context(), "m")
	require.NoError(t, err)
	require.JSONEq(t, string(doc), string(again))
}

// TestChoiceAllocatesNothing: neither without rules nor with any of them, nor for a canary.
func TestChoiceAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, rules := range choiceRules {
		m := &models{}
		m.add("m", "1")
		m.add("m", "2")
		s := service(t, m)
		if rules != "" {
			set(t, s, "m", rules)
		}
		r := infer.NewUnpooled()
		var h infer.Headers = headers{"x-user": "somebody"}
		require.Zero(t, testing.AllocsPerRun(1000, func() { choose(s, r, h) }), name)
	}
}

var choiceRules = map[string]string{
	"none":    "",
	"match":   `{"match":[{"header":"x-user","regex":"^no","to":{"version":"1"}},{"header":"x-user","exact":"somebody","to":{"version":"1"}}]}`,
	"weights": `{"weights":[{"version":"1","weight":90},{"version":"2","weight":10}]}`,
	"sticky":  `{"weights":[{"version":"1","weight":90},{"version":"2","weight":10}],"sticky":{"header":"x-user"}}`,
	"canary":  `{"canary":{"version":"2","stable":{"version":"1"}}}`,
}

func choose(s *Service, r *infer.Request, h infer.Headers) {
	m, err := s.Model("m", "")
	if err != nil {
		panic(err)
	}
	infer.ChooseBy(m, r, h).Release()
}

// BenchmarkChoose measures the lookup and the choice, and the lookup alone.
func BenchmarkChoose(b *testing.B) {
	m := &models{}
	m.add("m", "1")
	m.add("m", "2")
	r := infer.NewUnpooled()
	var h infer.Headers = headers{"x-user": "somebody"}
	b.Run("models alone", func(b *testing.B) {
		for b.Loop() {
			v, _ := m.Model("m", "")
			infer.Choose(v, r).Release()
		}
	})
	for _, name := range []string{"none", "match", "weights", "sticky", "canary"} {
		s := service(b, m)
		if choiceRules[name] != "" {
			set(b, s, "m", choiceRules[name])
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				choose(s, r, h)
			}
		})
	}
}

// TestSubmittedRequestsAreObserved: a canary counts the errors of submitted requests too.
func TestSubmittedRequestsAreObserved(t *testing.T) {
	t.Parallel()
	m := &models{}
	m.add("m", "1")
	two := m.add("m", "2")
	two.err = errUnknown
	s := service(t, m)
	set(t, s, "m", `{"canary":{"version":"2","stable":{"version":"1"},"steps":[50,100]}}`)
	for range 100 {
		v, err := s.Model("m", "")
		require.NoError(t, err)
		r := infer.NewUnpooled()
		r.Sink = drop{}
		v = infer.Choose(v, r)
		require.NoError(t, v.Submit(r))
		v.Release()
		r.Release()
	}
	s.tick(time.Now())
	st, err := s.Status("m", false)
	require.NoError(t, err)
	require.Equal(t, trafficrules.CanaryRolledBack, st.Canary.State)
	require.Equal(t, int64(100), st.Canary.Canary.Requests+st.Canary.Stable.Requests)
	require.Equal(t, st.Canary.Canary.Requests, st.Canary.Canary.Failed)
}

type drop struct{}

func (drop) Send(r *infer.Response, _ bool) { r.Release() }
