package isolated_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/isolated"
)

// pidOf returns the process of the model, by its log.
func (x *rig) pid() int {
	all := regexp.MustCompile(`pid=(\d+)`).FindAllStringSubmatch(x.log.String(), -1)
	require.NotEmpty(x, all)
	n, err := strconv.Atoi(all[len(all)-1][1])
	require.NoError(x, err)
	return n
}

// The end of a child is the error of its requests, with the cause, and the model serves again.
func TestEndsOfAChild(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"segv":            `^the process of model 'm' ended: the process exited with code 2\. Its last lines on the standard error:\nunexpected fault address 0x10000000000\nfatal error: fault\n\[signal SIGSEGV: segmentation violation`,
		"write-input":     `^the process of model 'm' ended: .*\n(.*\n)*\[signal SIGSEGV: segmentation violation`,
		"goroutine-panic": `^the process of model 'm' ended: the process exited with code 2\. Its last lines on the standard error:\npanic: of a goroutine$`,
		"abort":           `^the process of model 'm' ended: the process exited with code 2\. Its last lines on the standard error:\nSIGABRT: abort$`,
		"kill":            `^the process of model 'm' ended: the process was ended by signal 9 \(killed\), perhaps because the system had no more memory$`,
		"exit":            `^the process of model 'm' ended: the process exited with code 3\. Its last lines on the standard error:\nlast words$`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			x := newRig(t, "mortal").start()
			_, err := x.call("", 5000, 1)
			require.NoError(t, err)
			_, err = x.call(what, 5000, 1) // not in the frame
			require.Regexp(t, want, err)
			require.Equal(t, status.Unavailable, status.CodeOf(err))
			require.ErrorIs(t, err, backend.ErrBroken)
			x.again()
			require.True(t, x.group.Ready())
		})
	}
}

// A panic on the goroutine of an instance breaks the instance, not the child.
func TestPanic(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal").start()
	pid := x.pid()
	_, err := x.call("panic", 1, 1)
	require.EqualError(t, err, "instance 'm_0' of model 'm' broke down during execution")
	x.again()
	require.Equal(t, pid, x.pid())
	require.Contains(t, x.log.String(), "panic=mortal")
}

// All instances of a model share a child: its end breaks all of them, and one new child
// replaces it.
func TestInstancesShareAChild(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal")
	x.instances = 3
	x.start()
	require.Equal(t, 1, strings.Count(x.log.String(), "msg=loaded"))
	_, err := x.call("kill", 1, 1)
	require.Error(t, err)
	require.Eventually(t, func() bool {
		return strings.Count(x.log.String(), "a broken instance was restarted") == 3
	}, waitFor, tick)
	require.Equal(t, 2, strings.Count(x.log.String(), "msg=loaded"))
}

// A limit of time, and a limit of memory, end a child; the errors name them.
func TestLimits(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal")
	x.limits = extension.Process{Execute: 200 * time.Millisecond}
	x.start()
	_, err := x.call("loop", 1, 1)
	require.EqualError(t, err, "the process of model 'm' ended: the process was ended by signal 9 (killed): "+
		"the execution of a batch took longer than 200ms (isolation_execute_limit_milliseconds)")
	x.again()

	x = newRig(t, "mortal")
	x.limits = extension.Process{Memory: 512 << 20, Nice: 3, CPUs: []int{0}}
	x.start()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.pid()))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(20-own+3), fields[16], "nice") // the system call returns 20 minus the nice value
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", x.pid()))
	require.NoError(t, err)
	require.Contains(t, string(text), "Cpus_allowed_list:\t0\n")
	_, err = x.call("eat", 1, 1)
	require.Regexp(t, "out of memory|failed to allocate", err) // the latter is the race detector's
	x.again()
}

// A cancelled request is known in the child; a drain that gives up interrupts a batch.
func TestCancelAndInterrupt(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal").start()
	r := x.request("until-cancelled", 1, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := x.group.Infer(ctx, r)
	require.Error(t, err)
	r.Release()
	x.again()

	pid := x.pid()
	go func() { _, _ = x.call("until-interrupted", 1, 1) }()
	require.Eventually(t, func() bool { return strings.Contains(x.log.String(), "msg=waits") }, waitFor, tick)
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.Error(t, x.group.Drain(ctx))
	require.NoError(t, x.group.Drain(context.Background()))
	require.False(t, alive(pid))
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A load, or the completion of a configuration, that ends its child fails with the cause.
func TestLoadThatEndsTheChild(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal")
	x.config.Parameters["load"] = &inferencepb.ModelParameter{StringValue: "exit"}
	require.ErrorContains(t, x.load(), "the process exited with code 3. Its last lines on the standard error:\nlast words")

	b, err := x.isolation.Wrap("mortal", extension.Process{})
	require.NoError(t, err)
	spec := x.spec()
	require.NoError(t, b.(backend.AutoCompleter).AutoComplete(t.Context(), spec))
	require.Equal(t, "COMPLETED", x.config.GetOutput()[1].GetName())
	x.config.Parameters["complete"] = &inferencepb.ModelParameter{StringValue: "segv"}
	require.ErrorContains(t, b.(backend.AutoCompleter).AutoComplete(t.Context(), spec), "SIGSEGV")
	require.Zero(t, x.pool.Outstanding())
}

// Memory returns with the child, and nothing of it is left: no process, no descriptor, no
// memory in this process.
func TestNothingIsLeft(t *testing.T) { // alone: it counts what this process has open
	if testing.Short() {
		t.Skip("-short: loads a model twenty times, one after the other")
	}
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all)
	}
	x := newRig(t, "mortal")
	require.NoError(t, x.load())
	require.NoError(t, x.model.Close())
	before := open()
	for range 20 {
		require.NoError(t, x.load())
		pid := x.pid()
		require.True(t, alive(pid))
		require.NoError(t, x.model.Close())
		require.False(t, alive(pid))
	}
	require.Equal(t, before, open())
	require.Zero(t, x.pool.Outstanding())
}

// TestKills kills children at random moments, in random manners, under load. Each request
// ends once, with the right answer or with a cause, and the model serves again.
//
// TRITON_KILLS is the number of kills, TRITON_KILLS_SEED what makes a run again.
func TestKills(t *testing.T) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	kills, seed := number("TRITON_KILLS", 8), number("TRITON_KILLS_SEED", 1)
	t.Logf("TRITON_KILLS=%d TRITON_KILLS_SEED=%d", kills, seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	var right, failed atomic.Int64
	for done := 0; done < kills; { // the back-off of an instance doubles with each kill
		x := newRig(t, "mortal")
		x.instances = 2
		x.start()
		var stop atomic.Bool
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				sizes := rand.New(rand.NewPCG(uint64(seed), uint64(c)))
				for n := 0; !stop.Load(); n++ {
					switch _, err := x.call("", 1+sizes.IntN(100_000), int32(n)); {
					case err == nil:
						right.Add(1)
					case status.CodeOf(err) == status.Unavailable:
						failed.Add(1)
						time.Sleep(time.Millisecond)
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		for range min(4, kills-done) {
			x.again()
			time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
			signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGTERM}
			_ = syscall.Kill(x.pid(), signals[rng.IntN(len(signals))]) // it may have ended
			done++
		}
		x.again()
		stop.Store(true)
		clients.Wait()
	}
	require.Positive(t, right.Load())
	t.Logf("%d answers, %d requests failed", right.Load(), failed.Load())
}

// Children that ask for more memory than all of them may have get an error for their outputs, and serve on
// with small ones. What a child gives back, and what it has when it ends, counts no more.
func TestOutputMemoryIsBounded(t *testing.T) {
	t.Parallel()
	x := newRig(t, "mortal")
	x.isolation = isolated.New(isolated.Options{Program: []string{"/proc/self/exe", inChild}, Pool: x.pool, MemoryLimit: 4 << 20})
	x.start()
	for range 3 {
		_, err := x.call("copy", 8<<20, 1)
		require.ErrorContains(t, err, "the server has no more memory for tensors")
		_, err = x.call("copy", 2000, 1)
		require.NoError(t, err)
	}
}
