package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// nice returns the nice value of a process.
func nice(t *testing.T, pid int) int {
	t.Helper()
	n, err := niceOf(pid)
	require.NoError(t, err)
	return n
}

// A child has a low priority until it is in the foreground. The process that it has started is raised
// with it. What it does to its priority later stays.
func TestBackground(t *testing.T) {
	t.Parallel()
	if !mayRaise() {
		t.Skip("needs CAP_SYS_NICE, or an RLIMIT_NICE that permits this program's own nice value")
	}
	usual := nice(t, os.Getpid())
	low := min(usual+backgroundNice, maxNice)
	p, lines := start(t, "", func(s *Spec) {
		s.Path, s.Args, s.Background = "/bin/sh", []string{"-c", "read go <&3; sleep 3600 & echo $!; exec sleep 3600"}, time.Hour
	})
	var m Message
	m.Begin(frameEcho).Raw([]byte("\n"))
	require.NoError(t, p.Control().Send(&m))
	require.Eventually(t, func() bool { return len(lines()) > 0 }, time.Minute, time.Millisecond)
	started, err := strconv.Atoi(strings.TrimPrefix(lines()[0], "false "))
	require.NoError(t, err)
	require.Equal(t, low, nice(t, p.PID()))
	require.Equal(t, low, nice(t, started))
	p.Foreground()
	require.Equal(t, usual, nice(t, p.PID()))
	require.Equal(t, usual, nice(t, started))

	require.NoError(t, unix.Setpriority(unix.PRIO_PROCESS, p.PID(), low))
	p.Foreground()
	require.Equal(t, low, nice(t, p.PID()), "it is in the foreground already")
}

// A child that is not told to is in the foreground after the limit.
func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	usual := nice(t, os.Getpid())
	p, _ := start(t, "", func(s *Spec) { s.Path, s.Args, s.Background = "/bin/sleep", []string{"3600"}, time.Nanosecond })
	require.Eventually(t, func() bool { return nice(t, p.PID()) == usual }, time.Minute, time.Millisecond)
}

// A server that could not raise the priority again does not lower it.
func TestBackgroundWithoutPermission(t *testing.T) {
	t.Parallel()
	usual := nice(t, os.Getpid())
	p, lines := start(t, "unprivileged")
	require.Zero(t, p.Exit().Code, lines())
	require.Contains(t, lines(), fmt.Sprintf("false the child has the nice value %d", usual))
}

// unprivileged gives up the permission to raise priorities, starts a child in the background and prints its
// nice value.
func unprivileged() int {
	err := unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{})
	if os.Getuid() == 0 {
		err = errors.Join(err, syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p, err := Start(Spec{Path: "/bin/sleep", Args: []string{"3600"}, Background: time.Hour})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := niceOf(p.PID())
	fmt.Println("the child has the nice value", n)
	p.Kill()
	p.Exit()
	if err != nil {
		return 1
	}
	return 0
}
