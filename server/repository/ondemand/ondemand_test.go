package ondemand

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/sharedtest"
	"triton/pkg/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store of models in virtual time. It checks what a Manager must never do.
type world struct {
	t        *testing.T
	budget   int64
	loadTime time.Duration
	freeTime time.Duration // from the unload of a model until its memory is free

	mu     sync.Mutex
	models map[string]*model
	loads  int
	fails  map[string]error
	files  string // of all models
}

// model is a model of the world; steps make it an ensemble.
type model struct {
	size     int64
	steps    []string
	settings Settings
	loaded   bool
	freeing  int64
	refs     int
	uses     uint64
	loads    int
}

var _ Models = (*world)(nil)

func newWorld(t *testing.T, budget int64, sizes map[string]int64) *world {
	t.Helper()
	w := &world{t: t, budget: budget, loadTime: 100 * time.Millisecond, freeTime: 5 * time.Millisecond, models: map[string]*model{}, fails: map[string]error{}}
	for name, size := range sizes {
		w.models[name] = &model{size: size}
	}
	return w
}

func (w *world) manager(change func(*Options)) *Manager {
	o := Options{Models: w, Budget: Bytes{Host: w.budget}, KeepAlive: -1, Timeout: 30 * time.Second, MaxWaiting: 10000, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	m := New(o)
	m.Start()
	return m
}

func (w *world) Target(_ context.Context, name string) (Target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.models[name]
	if m == nil {
		return Target{}, nil
	}
	t := Target{Known: true, Content: w.files, Priority: m.settings.Priority}
	for _, member := range append([]string{name}, m.steps...) {
		one := w.models[member]
		t.Members = append(t.Members, Member{Name: member, Loaded: one.loaded, Need: Bytes{Host: one.size}})
	}
	return t, nil
}

func (w *world) Load(ctx context.Context, name string) error {
	select {
	case <-time.After(w.loadTime):
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fails[name]; err != nil {
		return err
	}
	for _, member := range append([]string{name}, w.models[name].steps...) {
		if one := w.models[member]; !one.loaded {
			one.loaded = true
			one.uses = 0
			one.loads++
			w.loads++
		}
	}
	w.check()
	return nil
}

// check fails the test if the models take more than the budget. The caller holds w.mu.
func (w *world) check() {
	used := int64(0)
	for _, m := range w.models {
		used += m.freeing
		if m.loaded {
			used += m.size
		}
	}
	if used > w.budget {
		w.t.Errorf("%d of %d bytes are in use", used, w.budget)
	}
}

func (w *world) users(name string) (all []string) {
	for user, m := range w.models {
		if m.loaded && slices.Contains(m.steps, name) {
			all = append(all, user)
		}
	}
	slices.Sort(all)
	return all
}

func (w *world) Unload(name string) (pending func() bool, unloaded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append([]string{name}, w.users(name)...)
	for _, one := range all {
		if m := w.models[one]; m.refs > 0 || !m.loaded {
			return nil, false
		}
	}
	m := w.models[name]
	if m.settings.Pinned {
		w.t.Errorf("%s is pinned", name)
	}
	for _, one := range all {
		w.models[one].loaded = false
	}
	m.freeing += m.size
	until := time.Now().Add(w.freeTime)
	freed := false
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !freed && !time.Now().Before(until) {
			freed = true
			m.freeing -= m.size
		}
		return !freed
	}, true
}

func (w *world) Loaded() []Model {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Model
	for name, m := range w.models {
		if m.loaded {
			all = append(all, Model{
				Name: name, Bytes: Bytes{Host: m.size}, Uses: m.uses, Busy: m.refs > 0,
				With: w.users(name), Ensemble: len(m.steps) > 0, LoadTime: w.loadTime, Settings: m.settings,
			})
		}
	}
	slices.SortFunc(all, func(a, b Model) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (w *world) Hold(name string) func() {
	err := w.acquire(name)
	return func() {
		if err == nil {
			w.release(name)
		}
	}
}

var errNotLoaded = errors.New("not loaded")

func (w *world) acquire(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.models[name]
	if m == nil || !m.loaded {
		return errNotLoaded
	}
	for _, one := range append([]string{name}, m.steps...) {
		w.models[one].refs++
	}
	return nil
}

func (w *world) release(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range append([]string{name}, w.models[name].steps...) {
		w.models[one].refs--
		w.models[one].uses++
	}
}

// request runs a request of a length, as a frontend does. It reports whether it waited for a load.
func (w *world) request(ctx context.Context, m *Manager, name string, length time.Duration) (waited bool, err error) {
	if w.acquire(name) != nil {
		waited = true
		if err := m.Await(ctx, name, func() error { return w.acquire(name) }); err != nil {
			return true, err
		}
	}
	time.Sleep(length)
	w.release(name)
	return waited, nil
}

func (w *world) loaded() string {
	var names []string
	for _, l := range w.Loaded() {
		names = append(names, l.Name)
	}
	return strings.Join(names, " ")
}

// sizes returns models a, b, c and so on of a size.
func sizes(n int, size int64) map[string]int64 {
	all := map[string]int64{}
	for i := range n {
		all[string(rune('a'+i))] = size
	}
	return all
}

// bubble runs a test in virtual time, and closes the manager at its end.
func bubble(t *testing.T, w func(t *testing.T) *world, change func(*Options), run func(t *testing.T, w *world, m *Manager)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := w(t)
		m := in.manager(change)
		defer m.Close()
		run(t, in, m)
	})
}

func TestSingleFlight(t *testing.T) {
	bubble(t, func(t *testing.T) *world { return newWorld(t, 10, sizes(1, 10)) }, nil, func(t *testing.T, w *world, m *Manager) {
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				_, err := w.request(t.Context(), m, "a", time.Millisecond)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, 1, w.loads)
		require.Equal(t, 101*time.Millisecond, time.Since(synctestEpoch))
	})
}

// synctestEpoch is when the time of a bubble begins.
var synctestEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestUnknown: a store is not asked again for each request with an unknown name.
func TestUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) *world { return newWorld(t, 10, sizes(1, 10)) }, nil, func(t *testing.T, w *world, m *Manager) {
		_, err := w.request(t.Context(), m, "x", 0)
		require.ErrorIs(t, err, ErrUnknown)
		w.models["x"] = &model{size: 1}
		_, err = w.request(t.Context(), m, "x", 0)
		require.ErrorIs(t, err, ErrUnknown, "remembered")
		m.Changed()
		_, err = w.request(t.Context(), m, "x", 0)
		require.NoError(t, err)
	})
}

// TestBackOff: a load that failed is tried again after 1 s, 2 s and so on, and when the files change.
func TestBackOff(t *testing.T) {
	bubble(t, func(t *testing.T) *world { return newWorld(t, 10, sizes(1, 10)) }, nil, func(t *testing.T, w *world, m *Manager) {
		w.fails["a"] = status.New(status.InvalidArg, "broken\n")
		attempt := func() time.Duration {
			begin := time.Now()
			for {
				at := time.Now()
				_, err := w.request(t.Context(), m, "a", 0)
				require.ErrorContains(t, err, "broken (the next attempt is in ")
				require.Equal(t, status.Unavailable, status.CodeOf(err))
				if time.Since(at) >= w.loadTime { // it was tried
					return at.Sub(begin)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		for _, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			require.InDelta(t, want.Seconds(), attempt().Seconds(), 0.02)
		}
		require.Error(t, m.Failure("a"))
		w.files, w.fails["a"] = "new", nil
		time.Sleep(checkInterval)
		_, err := w.request(t.Context(), m, "a", 0)
		require.NoError(t, err)
		require.NoError(t, m.Failure("a"))
	})
}

// TestGiveUp: a load that waits for memory ends with its last request, one that has begun does not.
func TestGiveUp(t *testing.T) {
	bubble(t, func(t *testing.T) *world { return newWorld(t, 10, sizes(2, 10)) }, nil, func(t *testing.T, w *world, m *Manager) {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := w.request(short, m, "a", 0)
		require.EqualError(t, err, "model 'a' was not loaded within the deadline of the request: its load takes longer")
		time.Sleep(time.Second)
		require.Equal(t, "a", w.loaded(), "the load had begun")

		require.NoError(t, w.acquire("a"))
		gone, leave := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); leave() }()
		_, err = w.request(gone, m, "b", 0)
		require.Equal(t, status.Cancelled, status.CodeOf(err))
		synctest.Wait()
		require.Zero(t, m.Counts().Queued)
		w.release("a")
		time.Sleep(time.Second)
		require.Equal(t, "a", w.loaded(), "no one wants b")

		require.NoError(t, w.acquire("a"))
		begin := time.Now()
		_, err = w.request(t.Context(), m, "b", 0)
		require.ErrorContains(t, err, "model 'b' was not loaded within 30s (--auto-load-timeout-secs): it needs 0.0 MiB, the memory budget is 0.0 MiB (--memory-budget), in use: a (0.0 MiB, works)")
		require.Equal(t, 30*time.Second, time.Since(begin))
		w.release("a")
	})
}

// TestPriorities: of the loads that wait for memory, that of the highest priority comes first; a model
// of a higher priority makes room last.
func TestPriorities(t *testing.T) {
	bubble(t, func(t *testing.T) *world {
		w := newWorld(t, 10, sizes(3, 10))
		w.models["c"].settings.Priority = 1
		return w
	}, nil, func(t *testing.T, w *world, m *Manager) {
		_, err := w.request(t.Context(), m, "a", 0)
		require.NoError(t, err)
		require.NoError(t, w.acquire("a"))
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range []string{"b", "c"} {
			wg.Go(func() {
				_, err := w.request(t.Context(), m, name, 0)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			synctest.Wait()
		}
		w.release("a")
		wg.Wait()
		require.Equal(t, []string{"c", "b"}, order)
	})
}

// TestPinned: pinned models are never unloaded, and named where they leave no room.
func TestPinned(t *testing.T) {
	bubble(t, func(t *testing.T) *world {
		w := newWorld(t, 10, sizes(3, 6))
		w.models["a"].settings.Pinned = true
		return w
	}, func(o *Options) { o.KeepAlive = 0 }, func(t *testing.T, w *world, m *Manager) {
		_, err := w.request(t.Context(), m, "a", 0)
		require.NoError(t, err)
		begin := time.Now()
		_, err = w.request(t.Context(), m, "b", 0)
		require.EqualError(t, err, "model 'b' needs 0.0 MiB, and the memory budget is 0.0 MiB (--memory-budget); in use for good: a (0.0 MiB, pinned)")
		require.Zero(t, time.Since(begin), "at once")
		time.Sleep(time.Hour)
		require.Equal(t, "a", w.loaded())
	})
}

// TestKeepAlive: the time counts from the last request, and a model has its own.
func TestKeepAlive(t *testing.T) {
	bubble(t, func(t *testing.T) *world {
		w := newWorld(t, 100, sizes(3, 10))
		never, soon := time.Duration(-1), 3*time.Second
		w.models["b"].settings.KeepAlive, w.models["c"].settings.KeepAlive = &never, &soon
		return w
	}, func(o *Options) { o.KeepAlive = time.Minute }, func(t *testing.T, w *world, m *Manager) {
		for _, name := range []string{"a", "b", "c"} {
			_, err := w.request(t.Context(), m, name, 0)
			require.NoError(t, err)
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, "a b", w.loaded())
		_, err := w.request(t.Context(), m, "a", time.Minute)
		require.NoError(t, err)
		time.Sleep(50 * time.Second)
		require.Equal(t, "a b", w.loaded(), "the request was long")
		time.Sleep(15 * time.Second)
		require.Equal(t, "b", w.loaded())
		require.Equal(t, "it was idle for its keep-alive time", m.UnloadReason("a"))
		require.EqualValues(t, 2, m.Counts().Evictions[Expired])
	})
}

// TestGrowth: models that grow beyond the budget make room without a load.
func TestGrowth(t *testing.T) {
	bubble(t, func(t *testing.T) *world { return newWorld(t, 30, sizes(3, 10)) }, nil, func(t *testing.T, w *world, m *Manager) {
		for _, name := range []string{"a", "b", "c"} {
			for range 3 {
				_, err := w.request(t.Context(), m, name, 0)
				require.NoError(t, err)
			}
		}
		w.mu.Lock()
		w.models["c"].size = 15
		w.mu.Unlock()
		time.Sleep(3 * time.Second)
		require.Len(t, strings.Fields(w.loaded()), 2)
		require.EqualValues(t, 1, m.Counts().Evictions[Excess])
	})
}

// TestThrash: the same models again and again are told once a minute, and no more when it is over.
func TestThrash(t *testing.T) {
	var out sharedtest.LogBuffer
	bubble(t, func(t *testing.T) *world { return newWorld(t, 10, sizes(2, 10)) },
		func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&out, nil)) }, func(t *testing.T, w *world, m *Manager) {
			for range 100 {
				for _, name := range []string{"a", "b"} {
					_, err := w.request(t.Context(), m, name, 0)
					require.NoError(t, err)
				}
			}
			c := m.Counts()
			require.True(t, c.Thrashing)
			require.EqualValues(t, 198, c.ThrashLoads)
			require.Equal(t, 1, strings.Count(out.String(), "the models do not fit into the memory"), out.String())
			time.Sleep(2 * time.Minute)
			require.False(t, m.Counts().Thrashing)
		})
}

// TestSharedStep: two ensembles that are loaded at once reserve the memory of their common step once,
// and the step stays while one of them works.
func TestSharedStep(t *testing.T) {
	bubble(t, func(t *testing.T) *world {
		w := newWorld(t, 30, sizes(4, 10))
		w.models["ab"] = &model{steps: []string{"a", "b"}}
		w.models["bc"] = &model{steps: []string{"b", "c"}}
		return w
	}, nil, func(t *testing.T, w *world, m *Manager) {
		var wg sync.WaitGroup
		for _, name := range []string{"ab", "bc"} {
			wg.Go(func() {
				_, err := w.request(t.Context(), m, name, time.Second)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, 1100*time.Millisecond, time.Since(synctestEpoch), "at the same time")
		require.Equal(t, "a ab b bc c", w.loaded())
		require.NoError(t, w.acquire("ab"))
		_, err := w.request(t.Context(), m, "d", 0)
		require.NoError(t, err)
		require.Equal(t, "a ab b d", w.loaded(), "c made room, with its ensemble")
		w.release("ab")
	})
}

// TestClose: what waits ends, and nothing begins.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10, sizes(2, 10))
		m := w.manager(nil)
		ended := make(chan error, 1)
		go func() {
			_, err := w.request(t.Context(), m, "a", 0)
			ended <- err
		}()
		synctest.Wait()
		m.Close()
		require.EqualError(t, <-ended, "Server exiting")
		_, err := w.request(t.Context(), m, "b", 0)
		require.EqualError(t, err, "Server exiting")
	})
}

// TestManyModels runs 50 models with memory for five in virtual time: eight clients with requests of
// 1 to 20 ms. No request fails, and the budget is kept.
func TestManyModels(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"zipf", "uniform"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := map[string]int64{}
				weights, total := make([]float64, 50), 0.0
				for i := range weights {
					all[fmt.Sprint("m", i)] = 20
					weights[i] = 1
					if kind == "zipf" {
						weights[i] = 1 / math.Pow(float64(i+1), 1.1)
					}
					total += weights[i]
				}
				w := newWorld(t, 100, all)
				m := w.manager(nil)
				defer m.Close()
				var mu sync.Mutex
				requests, misses := 0, 0
				var wg sync.WaitGroup
				for client := range 8 {
					wg.Go(func() {
						random := rand.New(rand.NewPCG(uint64(client), 5))
						for range 250 {
							at, i := random.Float64()*total, 0
							for ; i < len(weights)-1 && at >= weights[i]; i++ {
								at -= weights[i]
							}
							missed, err := w.request(t.Context(), m, fmt.Sprint("m", i), time.Duration(1+random.IntN(20))*time.Millisecond)
							require.NoError(t, err)
							mu.Lock()
							requests++
							if missed {
								misses++
							}
							mu.Unlock()
						}
					})
				}
				wg.Wait()
				t.Logf("%s: %d requests, %d waited, %d loads, in %s", kind, requests, misses, w.loads, time.Since(synctestEpoch))
				c := m.Counts()
				require.Zero(t, c.Waiting+c.Queued)
				require.EqualValues(t, w.loads, c.Loads)
			})
		})
	}
}

// TestRandomOperations runs requests, cancels, loads of clients, polls, failures and changes of files at
// random. Afterwards nothing waits, no memory is reserved, and every model can be loaded.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 30, sizes(8, 10))
				w.models["ab"] = &model{steps: []string{"a", "b"}}
				w.models["bc"] = &model{steps: []string{"b", "c"}}
				soon := 50 * time.Millisecond
				w.models["d"].settings = Settings{KeepAlive: &soon, Priority: 1}
				m := w.manager(func(o *Options) { o.Timeout = 5 * time.Second })
				names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "ab", "bc", "none"}
				var wg sync.WaitGroup
				for client := range 6 {
					wg.Go(func() { operate(t, w, m, names, rand.New(rand.NewPCG(seed, uint64(client)))) })
				}
				wg.Wait()
				clear(w.fails)
				w.files = "last"
				time.Sleep(time.Minute)
				for _, name := range names[:10] {
					_, err := w.request(t.Context(), m, name, 0)
					require.NoError(t, err)
				}
				m.Close()
				c := m.Counts()
				require.Zero(t, c.Waiting+c.Queued)
				require.Empty(t, m.reserved)
				require.Empty(t, m.leaving)
				require.Empty(t, m.flights)
				for name, one := range w.models {
					require.Zero(t, one.refs, name)
				}
			})
		})
	}
}

func operate(t *testing.T, w *world, m *Manager, names []string, random *rand.Rand) {
	for range 100 {
		name := names[random.IntN(len(names))]
		switch random.IntN(12) {
		case 0:
			w.mu.Lock()
			w.fails[name] = status.New(status.Internal, "bad luck")
			w.mu.Unlock()
		case 1:
			w.mu.Lock()
			clear(w.fails)
			w.files += "x"
			w.mu.Unlock()
			m.Changed()
		case 2:
			target, _ := w.Target(t.Context(), name)
			if target.Known {
				_ = m.WithRoom(t.Context(), name, target, func() error { return w.Load(t.Context(), name) })
			}
		case 3:
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(200))*time.Millisecond)
			_, _ = w.request(ctx, m, name, time.Millisecond)
			cancel()
		default:
			_, err := w.request(t.Context(), m, name, time.Duration(random.IntN(30))*time.Millisecond)
			if err != nil && !errors.Is(err, ErrUnknown) && !strings.Contains(err.Error(), "bad luck") && !strings.Contains(err.Error(), "was not loaded within 5s") {
				require.NoError(t, err)
			}
		}
	}
}
