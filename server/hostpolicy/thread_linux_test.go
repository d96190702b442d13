package hostpolicy_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/status"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
)

func TestProcessors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"0-0": 1, "0-3": 4, "0-1,4-5": 4, "0-2,1-3": 4, "3-0": 0, "0-999999999": 1024, "5000-6000": 0, "0": 0, "x": 0,
	} {
		require.Equal(t, want, hostpolicy.Policy{Settings: map[string]string{hostpolicy.Cores: text}}.Processors(), text)
	}
	require.Zero(t, hostpolicy.Policy{Settings: map[string]string{hostpolicy.Node: "0"}}.Processors())
	require.Zero(t, hostpolicy.Policy{}.Processors())
}

// TestBoundThread: only the thread is bound, and it stays the same one.
func TestBoundThread(t *testing.T) {
	t.Parallel()
	settings, bound := hostpolicytest.Narrow(t)
	before := hostpolicytest.Of("/proc/self")
	for range 20 { // a new goroutine may run on the main thread too
		thread, err := hostpolicy.Policy{Name: "p", Settings: settings}.Start()
		require.NoError(t, err)
		var ids [2]int
		var states [2]hostpolicytest.State
		var other hostpolicytest.State
		for i := range ids {
			thread.Do(func() {
				ids[i], states[i] = unix.Gettid(), hostpolicytest.Here()
				done := make(chan struct{})
				go func() {
					defer close(done)
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					other = hostpolicytest.Here()
				}()
				<-done
			})
			require.Equal(t, bound, states[i])
			require.Equal(t, before, other, "a goroutine is not bound")
		}
		require.Equal(t, ids[0], ids[1])
		require.NotEqual(t, unix.Getpid(), ids[0], "the main thread is not bound")
		thread.Close()
	}
	require.Equal(t, before, hostpolicytest.Of("/proc/self"))
}

func TestUnboundThread(t *testing.T) {
	t.Parallel()
	thread, err := hostpolicy.Policy{Name: "p"}.Start()
	require.NoError(t, err)
	defer thread.Close()
	var state hostpolicytest.State
	thread.Do(func() { state = hostpolicytest.Here() })
	require.Equal(t, hostpolicytest.Of("/proc/self"), state)
}

// TestWrongSettings: the first sentence is Triton's.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	const format = "host policy setting 'cpu-cores' format is '<lower_cpu_core_id>-<upper_cpu_core_id>'. Got "
	const affinity = "^Unable to set NUMA thread affinity: host policy 'p' has cpu-cores=%s; this process may use processors [0-9,-]+$"
	const memory = "^Unable to set NUMA memory policy: host policy 'p' has numa-node=%s; "
	for _, c := range []struct {
		setting, value string
		code           status.Code
		want           string
	}{
		{hostpolicy.Cores, "0", status.InvalidArg, "^" + format + "0$"},
		{hostpolicy.Cores, "", status.InvalidArg, "^" + format + "$"},
		{hostpolicy.Cores, "0-0,", status.InvalidArg, "^" + format + "$"},
		{hostpolicy.Cores, "0-0,x", status.InvalidArg, "^" + format + "x$"},
		{hostpolicy.Cores, "a-b", status.InvalidArg, "^Parsing 'cpu-cores' value: Can't parse 'a' to integer$"},
		{hostpolicy.Cores, "0-b", status.InvalidArg, "^Parsing 'cpu-cores' value: Can't parse 'b' to integer$"},
		{hostpolicy.Cores, "-1-0", status.InvalidArg, "^Parsing 'cpu-cores' value: Can't parse '' to integer$"},
		{hostpolicy.Cores, "0-4294967296", status.InvalidArg, "^Parsing 'cpu-cores' value: Can't parse '4294967296' to integer$"},
		{hostpolicy.Cores, "1-0", status.Internal, affinity},
		{hostpolicy.Cores, "2000-3000", status.Internal, affinity},
		{hostpolicy.Node, "x", status.InvalidArg, "^Parsing 'numa-node' value: Can't parse 'x' to integer$"},
		{hostpolicy.Node, "-1", status.Internal, memory + "this machine has "},
		{hostpolicy.Node, "1023", status.Internal, memory},
		{hostpolicy.Node, "100000", status.Internal, memory + "this machine has "},
	} {
		_, err := hostpolicy.Policy{Name: "p", Settings: map[string]string{c.setting: c.value}}.Start()
		require.Error(t, err, c.value)
		require.Equal(t, c.code, status.CodeOf(err), c.value)
		require.Regexp(t, replaced(c.want, c.value), err.Error())
	}
}

func replaced(pattern, value string) string { return strings.Replace(pattern, "%s", value, 1) }
