package server

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// cpuTicks are the machine's processor times since its start.
type cpuTicks struct{ busy, idle uint64 }

// utilization is the busy share since an earlier reading; 0 without one.
func (t cpuTicks) utilization(before cpuTicks) float64 {
	busy, idle := t.busy-before.busy, t.idle-before.idle
	if before == (cpuTicks{}) || busy+idle == 0 {
		return 0
	}
	return float64(busy) / float64(busy+idle)
}

var errProc = errors.New("unexpected form of a file below /proc")

// readTicks reads the first line of /proc/stat:
// cpu user nice system idle iowait irq softirq steal ...
func readTicks(root fs.FS) (cpuTicks, error) {
	b, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return cpuTicks{}, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := strings.Fields(string(line))
	if len(f) < 9 || f[0] != "cpu" {
		return cpuTicks{}, errProc
	}
	var v [8]uint64
	for i := range v {
		if v[i], err = strconv.ParseUint(f[i+1], 10, 64); err != nil {
			return cpuTicks{}, errProc
		}
	}
	return cpuTicks{busy: v[0] + v[1] + v[2] + v[5] + v[6] + v[7], idle: v[3] + v[4]}, nil
}

// readMemory reads total and used bytes, the latter what is not available.
func readMemory(root fs.FS) (total, used float64, err error) {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, 0, err
	}
	kib := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) > 0 {
			kib[name], _ = strconv.ParseFloat(f[0], 64)
		}
	}
	if kib["MemTotal"] == 0 {
		return 0, 0, errProc
	}
	return kib["MemTotal"] * 1024, (kib["MemTotal"] - kib["MemAvailable"]) * 1024, nil
}
