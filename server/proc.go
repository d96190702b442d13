package server

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"
	"strings"
)

// cpuTicks are the machine's processor times since its start: user nice system
// idle iowait irq softirq steal.
type cpuTicks [8]uint64

// utilization returns the busy fraction since an earlier reading; 0 if there is none. A
// counter that decreased, as iowait may, counts as unchanged.
func (t cpuTicks) utilization(before cpuTicks) float64 {
	var busy, idle uint64
	for i, now := range t {
		passed := now - min(now, before[i])
		if i == 3 || i == 4 {
			idle += passed
		} else {
			busy += passed
		}
	}
	if before == (cpuTicks{}) || busy+idle == 0 {
		return 0
	}
	return float64(busy) / float64(busy+idle)
}

var errProc = errors.New("unexpected form of a file below /proc")

// readTicks reads the first line of /proc/stat: cpu and the times.
func readTicks(root fs.FS) (cpuTicks, error) {
	var t cpuTicks
	b, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return t, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := strings.Fields(string(line))
	if len(f) <= len(t) || f[0] != "cpu" {
		return t, errProc
	}
	for i := range t {
		if t[i], err = strconv.ParseUint(f[i+1], 10, 64); err != nil {
			return t, errProc
		}
	}
	return t, nil
}

// readMemory reads the total and the used bytes. Used is everything that is not
// available.
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
	if kib["MemTotal"] == 0 || kib["MemAvailable"] > kib["MemTotal"] {
		return 0, 0, errProc
	}
	return kib["MemTotal"] * 1024, (kib["MemTotal"] - kib["MemAvailable"]) * 1024, nil
}
