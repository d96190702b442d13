package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/backend/python"
	"triton/server/infer"
	"triton/server/repository"
	"triton/server/servertest"
)

// kills is the state of TestPythonKills.
type kills struct {
	t        *testing.T
	server   *servertest.Server
	client   *http.Client
	backend  *python.Backend
	rng      *rand.Rand
	files    string         // folder of the process IDs
	restarts map[string]int // by model
	paused   sync.RWMutex   // locked while clients must not call
	ended    atomic.Bool
	right    sync.Map // *atomic.Int64 by model
	failed   atomic.Int64
	wrong    atomic.Value
}

// TestPythonKills kills the processes of Python models at random moments, in random
// manners, under load. Each request ends exactly once, with the right answer or with the
// cause; the model serves again; nothing is left of the killed processes.
//
// TRITON_KILLS is the number of kills, TRITON_KILLS_SEED what makes a run again.
func TestPythonKills(t *testing.T) { // alone: it counts what this process has open
	servertest.NeedsInProcess(t, "the pool of the server is a memory file, which the test takes for a leak")
	n, seed := number("TRITON_KILLS", 5), number("TRITON_KILLS_SEED", 1)
	t.Logf("TRITON_KILLS=%d TRITON_KILLS_SEED=%d", n, seed)
	t.Setenv("TMPDIR", t.TempDir())
	dir, files := t.TempDir(), t.TempDir()
	for name, m := range mortals {
		writePython(t, dir, name, m[0]+"instance_group { kind: KIND_CPU count: 1 }\n", fmt.Sprintf(mortal, files)+m[1])
	}
	x := &kills{t: t, backend: python.New(), rng: rand.New(rand.NewPCG(uint64(seed), 0)), files: files, restarts: map[string]int{}}
	x.server = startPython(t, dir, servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, nil
		o.Backends[python.Name] = x.backend
	}))
	x.client = newClient(t)
	x.load("unary", "callee")
	x.restarted("unary")
	x.unload("unary", "callee")
	before := resources(t)
	before["mapped"] += 3    // the pool keeps some memory after load
	before["goroutine"] += 3 // of connections

	all := slices.Sorted(maps.Keys(mortals))
	for done := 0; done < n; {
		x.load(all...)
		var clients sync.WaitGroup
		x.ended.Store(false)
		for _, name := range all {
			for range 2 {
				seed := x.rng.Uint64()
				clients.Go(func() { x.calls(name, rand.New(rand.NewPCG(seed, 1))) })
			}
		}
		for range min(n-done, 12) { // the back-off of an instance doubles with each kill
			x.kill(done)
			done++
		}
		requireNoSharedMemoryFiles(t)
		x.ended.Store(true)
		clients.Wait()
		require.Nil(t, x.wrong.Load())
		x.unload(all...)
		require.Zero(t, x.backend.Outstanding(), "pieces of memory")
	}
	for name := range mortals {
		require.Positive(t, x.answered(name).Load(), name)
	}
	t.Logf("%d requests failed", x.failed.Load())
	var after map[string]int
	require.Eventually(t, func() bool { after = resources(t); return !more(before, after) }, time.Minute, 20*time.Millisecond,
		"before %v, after %v", before, later{func() any { return after }})
	t.Logf("resources before the first kill and after the last one: %v, %v", before, after)

	x.load(all...) // the end of the server
	x.server.Interrupt()
	for name := range mortals {
		_ = syscall.Kill(x.pid(name, "ready"), syscall.SIGKILL)
	}
	require.NoError(t, x.server.Wait())
	require.Empty(t, childIDs(t))
	require.Empty(t, names(t, os.TempDir()))
}

func number(variable string, other int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil { //nolint:forbidigo // tests are told how much to do
		return n
	}
	return other
}

// later is formatted when a test has failed.
type later struct{ value func() any }

func (l later) String() string { return fmt.Sprint(l.value()) }

func (x *kills) load(models ...string) {
	x.t.Helper()
	for _, m := range models { // the callee may come after its caller
		require.NoError(x.t, x.server.Service().Load(x.t.Context(), m, infer.LoadOptions{}))
		x.restarts[m] = 0
	}
}

// unload returns when nothing of the processes is left.
func (x *kills) unload(models ...string) {
	x.t.Helper()
	for _, m := range models {
		require.NoError(x.t, x.server.Service().Unload(x.t.Context(), m, false))
	}
	require.Eventually(x.t, func() bool {
		left := len(childIDs(x.t)) + int(x.backend.Outstanding())
		return left == 0 && (len(models) < len(mortals) || len(names(x.t, os.TempDir())) == 0)
	}, time.Minute, 5*time.Millisecond, "processes, memory or files are left")
}

// The phases of a child in which it is killed, and what that needs.
const (
	whileStarting = iota // the next two: a restart is interrupted
	whileInitializing
	whileIdle
	whileRunning // the process dies at any moment
	whileStopped // it does not run for a while before
	inside       // it kills itself at a place in model.py
	whileUnloading
	phases
)

// kill kills one child and waits until its model serves again.
func (x *kills) kill(i int) {
	x.t.Helper()
	all := slices.Sorted(maps.Keys(mortals))
	model, phase := all[x.rng.IntN(len(all))], (i+x.rng.IntN(2))%phases
	manner := []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT}[x.rng.IntN(3)]
	delay := time.Duration(x.rng.IntN(20_000)) * time.Microsecond
	x.t.Logf("kill %d: %s, phase %d, %v, after %v", i, model, phase, manner, delay)
	pid := x.pid(model, "ready")
	switch phase {
	case whileStarting, whileInitializing:
		known := childIDs(x.t)
		x.signal(pid, syscall.SIGKILL)
		next := 0
		require.Eventually(x.t, func() bool {
			if phase == whileInitializing {
				next = x.pid(model, "imported")
				return next != pid && next != 0
			}
			for p := range childIDs(x.t) {
				if !known[p] {
					next = p
				}
			}
			return next != 0
		}, time.Minute, time.Millisecond)
		time.Sleep(delay / 2)
		_ = syscall.Kill(next, manner) // it may be ready; then there is one more restart
		x.serves(model, 1, 2)
		return
	case whileIdle:
		x.paused.Lock()
		x.signal(pid, manner)
		x.serves(model, 1, 1)
		x.paused.Unlock()
		return
	case whileRunning:
		time.Sleep(delay)
		x.signal(pid, manner)
	case whileStopped:
		x.signal(pid, syscall.SIGSTOP)
		time.Sleep(delay)
		x.signal(pid, syscall.SIGKILL)
	case inside:
		places := map[string][]int{"stream": {1, 2, 3}, "caller": {1, 2, 4, 5}}[model]
		if places == nil {
			places = []int{1, 2}
		}
		at := places[x.rng.IntN(len(places))]
		if at == 5 { // the callee dies
			model = "callee"
			x.ask("caller", float32(10*at+x.rng.IntN(4)), x.rng.Uint64())
		} else {
			x.ask(model, float32(10*at+x.rng.IntN(4)), x.rng.Uint64())
		}
	case whileUnloading:
		unloaded := make(chan error, 1)
		go func() { unloaded <- x.server.Service().Unload(x.t.Context(), model, false) }()
		time.Sleep(delay)
		_ = syscall.Kill(pid, manner) // unless it has ended
		require.NoError(x.t, <-unloaded)
		x.load(model)
		x.serves(model, 0, 0)
		return
	}
	x.serves(model, 1, 1)
}

// signal sends a signal to a process that lives.
func (x *kills) signal(pid int, s syscall.Signal) {
	x.t.Helper()
	require.NotZero(x.t, pid)
	require.NoError(x.t, syscall.Kill(pid, s))
}

// pid returns what the model has noted.
func (x *kills) pid(model, event string) int {
	text, err := os.ReadFile(filepath.Join(x.files, model+"."+event))
	require.True(x.t, err == nil || os.IsNotExist(err))
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// serves waits until a model has been restarted so often, and answers.
func (x *kills) serves(model string, least, most int) {
	x.t.Helper()
	least, most = least+x.restarts[model], most+x.restarts[model]
	require.Eventually(x.t, func() bool {
		restarts := x.restarted(model)
		require.LessOrEqual(x.t, restarts, most, "%s: a restart without a kill", model)
		ready, err := x.server.Service().ModelReady(model, "")
		x.restarts[model] = restarts
		return restarts >= least && err == nil && ready && x.ask(model, 0, 1<<40)
	}, time.Minute, 5*time.Millisecond, "%s does not serve; %v", model, later{x.wrong.Load})
}

// restarted returns what /metrics says.
func (x *kills) restarted(model string) int {
	_, page := get(x.t, x.client, "http://"+x.server.Metrics+"/metrics")
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(line, "} ")
		if strings.HasPrefix(name, "triton_backend_restarts_total{") && strings.Contains(name, `model="`+model+`"`) {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			require.NoError(x.t, err)
			return n
		}
	}
	return 0
}
