//go:build linux

// Package hostpolicytest tells bound threads from others. It is for tests only.
package hostpolicytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/server/hostpolicy"
)

// State is what a thread is bound to: "0-3 default", or "3 bind:0". The second word is missing
// where the kernel does not show it.
type State string

// Here returns the state of the calling thread.
func Here() State { return Of("/proc/thread-self") }

// Of returns the state of a thread or a process by its folder in /proc; empty if it has ended.
func Of(folder string) State {
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return ""
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
	list, _, _ = strings.Cut(list, "\n")
	return State(strings.TrimSpace(list + " " + memory(folder)))
}

// memory returns the policy of the first mapping, which is that of the thread. The rest of the
// file is long.
func memory(folder string) string {
	f, err := os.Open(filepath.Join(folder, "numa_maps"))
	if err != nil {
		return ""
	}
	defer f.Close()
	var address, policy string
	if _, err := fmt.Fscan(f, &address, &policy); err != nil {
		return ""
	}
	return policy
}

// Narrow returns settings that bind a thread as differently from others as this machine permits,
// and the state of a bound thread: the last processor of this process, and its first NUMA node.
func Narrow(t testing.TB) (settings map[string]string, bound State) {
	t.Helper()
	var all unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(unix.Getpid(), &all))
	last := 0
	for n := range 1024 {
		if all.IsSet(n) {
			last = n
		}
	}
	settings = map[string]string{hostpolicy.Cores: fmt.Sprintf("%d-%d", last, last)}
	measure := func(s map[string]string) error {
		return hostpolicy.Policy{Name: "narrow", Settings: s}.Go(func() {})
	}
	require.NoError(t, measure(settings))
	node := map[string]string{hostpolicy.Node: "0"}
	if measure(node) == nil {
		settings[hostpolicy.Node] = node[hostpolicy.Node]
	}
	states := make(chan State)
	require.NoError(t, hostpolicy.Policy{Name: "narrow", Settings: settings}.Go(func() { states <- Here() }))
	bound = <-states
	require.True(t, strings.HasPrefix(string(bound), fmt.Sprint(last)), bound)
	return settings, bound
}
