package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// HostRoom is the memory that a process may still take.
type HostRoom struct {
	Bytes  uint64
	Origin string
}

// Available returns the memory that new processes can take without swapping: what the kernel
// says is available on the machine or, if that is less, what is left in a control group of this
// process or above it. Pages of files that the kernel can drop are not in use.
func (f FS) Available() (HostRoom, error) {
	available, err := f.MachineAvailable()
	if err != nil {
		return HostRoom{}, err
	}
	room := HostRoom{available, "available memory of this machine"}
	for _, g := range f.groups() {
		left, limited, err := f.left(g)
		if err != nil {
			return HostRoom{}, err
		}
		if limited && left < room.Bytes {
			room = HostRoom{left, "what is left in the control group"}
		}
	}
	return room, nil
}

// MachineAvailable returns the memory that the kernel says is available on the machine.
func (f FS) MachineAvailable() (uint64, error) {
	values, err := f.kilobytes("proc", "meminfo")
	if err != nil {
		return 0, err
	}
	available, ok := values["MemAvailable"]
	if !ok {
		return 0, fmt.Errorf("%s has no MemAvailable", f.path("proc", "meminfo"))
	}
	return available, nil
}

// controlGroup is a control group with its files in version 1 or 2.
type controlGroup struct {
	dir                  string
	limit, usage, events string
	inactive             string // key in memory.stat
}

// groups returns the control group of this process and its ancestors, in both versions.
func (f FS) groups() []controlGroup {
	b, err := os.ReadFile(f.path("proc", "self", "cgroup"))
	if err != nil {
		return nil
	}
	var all []controlGroup
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		g := controlGroup{"sys/fs/cgroup", "memory.max", "memory.current", "memory.events", "inactive_file"}
		switch {
		case strings.Contains(","+parts[1]+",", ",memory,"):
			g = controlGroup{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control", "total_inactive_file"}
		case parts[1] != "":
			continue
		}
		top := g.dir
		for name := path.Clean("/" + parts[2]); ; name = path.Dir(name) {
			g.dir = path.Join(top, name)
			all = append(all, g)
			if name == "/" {
				break
			}
		}
	}
	return all
}

// left returns the memory that is left in a group; limited is false for a group without a limit.
// Inactive pages of files count as left: the kernel drops them first.
func (f FS) left(g controlGroup) (bytes uint64, limited bool, err error) {
	limit, limited, err := f.number(g.dir, g.limit)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil || !limited {
		return 0, false, err
	}
	used, _, err := f.number(g.dir, g.usage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	if stat, err := f.keys(g.dir, "memory.stat"); err == nil {
		used -= min(used, stat[g.inactive])
	}
	return limit - min(limit, used), true, nil
}

// Kills returns how many processes the kernel has killed because memory ran out, on the machine or
// in the control groups of this process.
func (f FS) Kills() uint64 {
	var most uint64
	if all, err := f.keys("proc", "vmstat"); err == nil {
		most = all["oom_kill"]
	}
	for _, g := range f.groups() {
		if events, err := f.keys(g.dir, g.events); err == nil {
			most = max(most, events["oom_kill"])
		}
	}
	return most
}
