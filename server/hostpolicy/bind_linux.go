package hostpolicy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"triton/pkg/status"
)

// Supported reports whether threads can be bound on this system.
const Supported = true

// mpolBind is MPOL_BIND of <linux/mempolicy.h>: memory comes from these nodes only.
const mpolBind = 2

func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// bind binds the calling thread.
func (p Policy) bind() error {
	cores, err := p.cores()
	if err != nil {
		return err
	}
	node, remote, err := p.node()
	if err != nil {
		return err
	}
	if cores != nil {
		if err := p.bindCores(cores); err != nil {
			return err
		}
	}
	if remote {
		return p.bindMemory(node)
	}
	return nil
}

func (p Policy) bindCores(cores []int) error {
	var set, now unix.CPUSet
	for _, n := range cores {
		set.Set(n)
	}
	err := unix.SchedSetaffinity(0, &set)
	if err == nil {
		return nil
	}
	why := err.Error()
	if errors.Is(err, unix.EINVAL) && unix.SchedGetaffinity(0, &now) == nil {
		why = "this process may use processors " + ranges(&now)
	}
	return status.New(status.Internal, "Unable to set NUMA thread affinity: host policy '%s' has cpu-cores=%s; %s", p.Name, p.Settings[Cores], why)
}

func (p Policy) bindMemory(node int) error {
	err := error(unix.EINVAL)
	if node >= 0 && node < maxCores {
		var set unix.CPUSet // a set of nodes has the same form
		set.Set(node)
		err = unix.SetMemPolicy(mpolBind, &set)
	}
	if err == nil {
		return nil
	}
	var why string
	switch {
	case errors.Is(err, unix.EINVAL):
		why = "this machine has " + nodes()
	case errors.Is(err, unix.EPERM):
		why = "the system does not permit it; a container needs the capability SYS_NICE (docker run --cap-add=sys_nice)"
	case errors.Is(err, unix.ENOSYS):
		why = "this kernel has no NUMA support; remove the setting"
	default:
		why = err.Error()
	}
	return status.New(status.Internal, "Unable to set NUMA memory policy: host policy '%s' has numa-node=%s; %s", p.Name, p.Settings[Node], why)
}

// nodes describes the nodes of the machine that have memory.
func nodes() string {
	text, err := os.ReadFile("/sys/devices/system/node/has_memory")
	if list := string(bytes.TrimSpace(text)); err == nil && list != "" {
		return "NUMA nodes " + list
	}
	return "no such NUMA node"
}

// ranges formats a set as the kernel does: "0-3,8".
func ranges(set *unix.CPUSet) string {
	var all []string
	for n := 0; n < maxCores; n++ {
		if !set.IsSet(n) {
			continue
		}
		first := n
		for set.IsSet(n + 1) {
			n++
		}
		if text := fmt.Sprint(first); first == n {
			all = append(all, text)
		} else {
			all = append(all, fmt.Sprintf("%s-%d", text, n))
		}
	}
	return strings.Join(all, ",")
}
