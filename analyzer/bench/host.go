package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
)

// HostReader reads the memory of processes and of the machine from Linux's /proc.
type HostReader struct {
	// Root is the folder with proc; empty means "/".
	Root string
}

var errNoProcess = errors.New("the memory of the server cannot be read: its process is not known, or this system has no /proc/PID/smaps_rollup")

// Memory returns a reader of the memory that processes and their descendants use alone (USS), and of
// the memory that is available on the machine.
func (h HostReader) Memory(pids func() []int) func(context.Context) (Reading, error) {
	return func(context.Context) (Reading, error) {
		var used uint64
		found := false
		for _, root := range pids() {
			for _, pid := range (meter.FS{Root: h.Root}).Tree(root) {
				n, err := h.unshared(pid)
				if err == nil {
					used, found = used+n, true
				}
			}
		}
		if !found {
			return Reading{}, errNoProcess
		}
		v := trial.Values{trial.CPUUsedRAM: float64(used) / megabyte}
		if available, err := h.kilobytes("MemAvailable", "meminfo"); err == nil {
			v[trial.CPUAvailableRAM] = float64(available) / megabyte
		}
		return Reading{Host: v}, nil
	}
}

// unshared returns the unique set size of a process in bytes.
func (h HostReader) unshared(pid int) (uint64, error) {
	return h.kilobytes("Private_Clean Private_Dirty Private_Hugetlb", strconv.Itoa(pid), "smaps_rollup")
}

// kilobytes returns the sum of some lines of a file, such as "Private_Dirty:  12 kB", in bytes.
func (h HostReader) kilobytes(names string, path ...string) (uint64, error) {
	root := h.Root
	if root == "" {
		root = "/"
	}
	b, err := os.ReadFile(filepath.Join(append([]string{root, "proc"}, path...)...))
	if err != nil {
		return 0, err
	}
	wanted := strings.Fields(names)
	var sum uint64
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		for _, w := range wanted {
			if f[0] != w+":" {
				continue
			}
			n, err := strconv.ParseUint(f[1], 10, 54)
			if err != nil {
				return 0, err
			}
			sum += n << 10
		}
	}
	return sum, nil
}
