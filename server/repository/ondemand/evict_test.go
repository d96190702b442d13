package ondemand

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func hostBytes(n int64) Bytes { return Bytes{Host: n} }

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(b *useBook)
		want string
	}{
		{"the larger one first", func(b *useBook) {
			b.Loaded("small", hostBytes(1), time.Second, 0)
			b.Loaded("large", hostBytes(50), time.Second, 0)
		}, "large small"},
		{"the one that loads quickly first", func(b *useBook) {
			b.Loaded("slow", hostBytes(10), time.Minute, 0)
			b.Loaded("quick", hostBytes(10), time.Second, 0)
		}, "quick slow"},
		{"the one that is used less first", func(b *useBook) {
			b.Loaded("often", hostBytes(10), time.Second, 0)
			b.Loaded("rare", hostBytes(10), time.Second, 0)
			b.Used("often", 9)
			b.Used("rare", 2)
		}, "rare often"},
		{"a higher priority last", func(b *useBook) {
			b.Loaded("first", hostBytes(90), time.Second, 1)
			b.Loaded("second", hostBytes(1), time.Hour, 0)
			b.Used("second", 1000)
		}, "second first"},
		{"an old favorite falls behind", func(b *useBook) {
			b.Loaded("old", hostBytes(10), time.Second, 0)
			b.Used("old", 5)
			for i := range 8 { // each eviction raises the clock
				name := fmt.Sprint("gone", i)
				b.Loaded(name, hostBytes(10), time.Second, 0)
				b.Used(name, 1)
				b.Evicted(name)
			}
			b.Loaded("new", hostBytes(10), time.Second, 0)
			b.Used("new", 1)
		}, "old new"},
		{"a model that was evicted keeps its frequency", func(b *useBook) {
			b.Loaded("back", hostBytes(10), time.Second, 0)
			b.Used("back", 20)
			b.Loaded("new", hostBytes(10), time.Second, 0)
			b.Used("new", 1)
			b.Loaded("back", hostBytes(10), time.Second, 0)
		}, "new back"},
		{"by the device whose budget is scarce", func(b *useBook) {
			b.Loaded("gpu", Bytes{Host: 1, "gpu:0": 9}, time.Second, 0)
			b.Loaded("cpu", Bytes{Host: 50}, time.Second, 0)
		}, "gpu cpu"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newUseBook(Bytes{Host: 100, "gpu:0": 10})
			test.do(b)
			names := strings.Fields(test.want)
			slices.Reverse(names)
			b.Order(names)
			require.Equal(t, test.want, strings.Join(names, " "))
		})
	}
}

// TestFrequencyFades: what was used long ago does not count forever.
func TestFrequencyFades(t *testing.T) {
	t.Parallel()
	b := newUseBook(hostBytes(100))
	b.Used("a", 64)
	b.Used("b", 3*halfLife)
	b.record("a").decay(b.uses)
	require.InDelta(t, 8, b.record("a").frequency, 0.01)
	b.Used("b", 100*halfLife)
	b.record("a").decay(b.uses)
	require.Zero(t, b.record("a").frequency)
	b.Forget("a")
	require.NotContains(t, b.models, "a")
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		lack       Bytes
		candidates []candidate
		want       string
		enough     bool
	}{
		{"nothing lacks", hostBytes(0), []candidate{{"a", hostBytes(5)}}, "", true},
		{"the first ones", hostBytes(6), []candidate{{"a", hostBytes(5)}, {"b", hostBytes(5)}, {"c", hostBytes(5)}}, "a b", true},
		{"not enough", hostBytes(16), []candidate{{"a", hostBytes(5)}, {"b", hostBytes(5)}, {"c", hostBytes(5)}}, "", false},
		{"a large one makes a small one superfluous", hostBytes(20), []candidate{{"small", hostBytes(1)}, {"large", hostBytes(30)}}, "large", true},
		{"only those on the device", Bytes{"gpu:1": 3}, []candidate{{"cpu", hostBytes(9)}, {"other", Bytes{"gpu:0": 9}}, {"it", Bytes{"gpu:1": 3, Host: 1}}}, "it", true},
		{"two devices", Bytes{Host: 4, "gpu:0": 4}, []candidate{{"cpu", hostBytes(4)}, {"gpu", Bytes{"gpu:0": 4}}, {"both", Bytes{Host: 4, "gpu:0": 4}}}, "cpu gpu", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chosen, enough := choose(test.lack, test.candidates)
			var names []string
			for _, c := range chosen {
				names = append(names, c.Name)
			}
			require.Equal(t, test.want, strings.Join(names, " "))
			require.Equal(t, test.enough, enough)
		})
	}
}

func TestLack(t *testing.T) {
	t.Parallel()
	budget := Bytes{Host: 10, "gpu:0": 5}
	require.Empty(t, lackOf(budget, hostBytes(4), hostBytes(6)))
	require.Equal(t, hostBytes(1), lackOf(budget, hostBytes(5), hostBytes(6)))
	require.Equal(t, Bytes{"gpu:0": 3}, lackOf(budget, Bytes{Host: 20, "gpu:0": 4}, Bytes{"gpu:0": 4}), "memory that the load does not need may be overdrawn")
	require.Empty(t, lackOf(budget, nil, Bytes{"gpu:1": 100}), "a device without budget has no limit")
}

// trace is a seeded order of requests to 50 models.
func trace(kind string, n int) []int {
	random := rand.New(rand.NewPCG(50, 5))
	weights := make([]float64, 50)
	sum := 0.0
	for i := range weights {
		weights[i] = 1
		if kind != "uniform" {
			weights[i] = 1 / math.Pow(float64(i+1), 1.1)
		}
		sum += weights[i]
	}
	all := make([]int, n)
	for i := range all {
		at := random.Float64() * sum
		for m, w := range weights {
			if at -= w; at < 0 {
				all[i] = m
				break
			}
		}
		if kind == "shifting zipf" { // the favorites change
			all[i] = (all[i] + i/(n/5)*7) % 50
		}
	}
	return all
}

// outcome is the result of a replay: the share of requests that had to load their model, and the
// mean time of loads per request.
type outcome struct {
	misses float64
	cost   time.Duration
}

// replay serves a trace with a cache of models, one request at a time. lru ignores the book.
func replay(all []int, size func(m int) int64, budget int64, lru bool) outcome {
	b := newUseBook(hostBytes(budget))
	resident, used, last, free := map[string]bool{}, map[string]uint64{}, map[string]int{}, budget
	cost := func(m int) time.Duration { return time.Duration(size(m)) * 2 * time.Millisecond }
	misses, total := 0, time.Duration(0)
	index := map[string]int{}
	for at, m := range all {
		name := fmt.Sprint(m)
		index[name], last[name] = m, at
		if !resident[name] {
			misses++
			total += cost(m)
			var names []string
			for n := range resident {
				names = append(names, n)
				b.Used(n, used[n]) // as a server does: sampled before a decision
				used[n] = 0
			}
			b.Order(names)
			if lru {
				slices.SortFunc(names, func(x, y string) int { return last[x] - last[y] })
			}
			var candidates []candidate
			for _, n := range names {
				candidates = append(candidates, candidate{n, hostBytes(size(index[n]))})
			}
			victims, ok := choose(hostBytes(size(m)-free), candidates)
			if !ok {
				panic("does not fit")
			}
			for _, v := range victims {
				b.Evicted(v.Name)
				delete(resident, v.Name)
				free += v.Frees[Host]
			}
			free -= size(m)
			resident[name] = true
			b.Loaded(name, hostBytes(size(m)), cost(m), 0)
		}
		used[name]++
	}
	return outcome{float64(misses) / float64(len(all)), total / time.Duration(len(all))}
}

// TestAgainstLRU replays traces over 50 models with memory for about five. The policy must load
// less than the least recently used order does, counted in the time of loads.
func TestAgainstLRU(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	const requests = 20000
	equal := func(int) int64 { return 20 }
	mixed := func(m int) int64 { return []int64{5, 20, 80, 10, 40}[m%5] }
	t.Logf("%-14s %-6s %22s %22s", "traffic", "sizes", "GDSF: misses, load", "LRU: misses, load")
	for _, kind := range []string{"zipf", "shifting zipf", "uniform"} {
		for _, sizes := range []string{"equal", "mixed"} {
			size, budget := equal, int64(100)
			if sizes == "mixed" {
				size, budget = mixed, 155
			}
			all := trace(kind, requests)
			ours, lru := replay(all, size, budget, false), replay(all, size, budget, true)
			t.Logf("%-14s %-6s %8.1f %% %10s %8.1f %% %10s", kind, sizes, 100*ours.misses, ours.cost, 100*lru.misses, lru.cost)
			slack := 1.0
			if kind == "uniform" {
				slack = 1.01 // no order is better than another when all models are used alike
			}
			require.LessOrEqual(t, float64(ours.cost), slack*float64(lru.cost), "%s, %s", kind, sizes)
		}
	}
}
