package host

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"triton/pkg/modelconfig/extension"
)

// impose sets the limits of this process and starts the program again, so that all its
// threads, and what it derives from the number of processors, have them from the beginning. It
// returns only if there are no limits, or with an error.
func impose(s Start, environ []string) error {
	l := s.Limits
	if l.Memory == 0 && l.CPUs == nil && l.Nice == 0 && l.Threads == 0 {
		return nil
	}
	runtime.LockOSThread() // affinity and priority are those of the thread that executes the program
	defer runtime.UnlockOSThread()
	if l.CPUs != nil {
		var set unix.CPUSet
		for _, n := range l.CPUs {
			set.Set(n)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("isolation_cpus: %w", err)
		}
	}
	if l.Nice != 0 {
		// The kernel returns 20 minus the nice value.
		now, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-now+l.Nice)
		}
		if err != nil {
			return fmt.Errorf("isolation_nice: %w", err)
		}
	}
	if l.Memory != 0 {
		n := uint64(l.Memory)
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("isolation_memory_limit_bytes: %w", err)
		}
	}
	s.Limits = extension.Process{}
	argument, err := json.Marshal(s)
	if err != nil {
		return err
	}
	args := slices.Clone(os.Args)
	args[len(args)-1] = string(argument)
	return unix.Exec("/proc/self/exe", args, environment(l, environ))
}

// environment returns the environment of a limited process. Go's collector works harder before
// the limit of memory ends the process.
func environment(l extension.Process, environ []string) []string {
	env := slices.Clone(environ)
	if l.Threads > 0 {
		env = set(env, "GOMAXPROCS", strconv.Itoa(l.Threads))
		env = set(env, "OMP_NUM_THREADS", strconv.Itoa(l.Threads))
	}
	own := func(v string) bool { return strings.HasPrefix(v, "GOMEMLIMIT=") }
	if l.Memory > 0 && !slices.ContainsFunc(env, own) {
		env = set(env, "GOMEMLIMIT", strconv.FormatInt(l.Memory/2, 10))
	}
	return env
}

func set(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	return append(env, name+"="+value)
}
