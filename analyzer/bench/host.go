package bench

import (
	"context"
	"errors"

	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
)

var errNoProcess = errors.New("the memory of the server cannot be read: its process is not known, or this system has no /proc/PID/smaps_rollup")

// ReadHost returns a reader of the memory that processes and their descendants use alone (USS), and of
// the memory that is available on the machine.
func ReadHost(fs meter.FS, pids func() []int) func(context.Context) (Reading, error) {
	return func(context.Context) (Reading, error) {
		var used uint64
		found := false
		for _, root := range pids() {
			for _, pid := range fs.Tree(root) {
				n, err := fs.Unshared(pid)
				if err == nil {
					used, found = used+n, true
				}
			}
		}
		if !found {
			return Reading{}, errNoProcess
		}
		v := trial.Values{trial.CPUUsedRAM: float64(used) / megabyte}
		if available, err := fs.MachineAvailable(); err == nil {
			v[trial.CPUAvailableRAM] = float64(available) / megabyte
		}
		return Reading{Host: v}, nil
	}
}
