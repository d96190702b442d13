package memory

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"triton/analyzer/memory/footprint"
)

// WriteCSV prints one line per setting. Memory is in bytes, latency in milliseconds;
// unknown values are empty.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	lines := [][]string{{
		"model", "instances", "batch", "concurrency", "throughput", "avg_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms",
		"stable", "host_bytes", "gpu_bytes", "recommended", "error",
	}}
	for i := range r.Points {
		lines = append(lines, settingRecord(r, i))
	}
	return out.WriteAll(lines)
}

func settingRecord(r *Result, i int) []string {
	p := r.Points[i]
	line := []string{r.Model, strconv.Itoa(p.Instances), strconv.Itoa(p.Batch), strconv.Itoa(p.Concurrency)}
	failure := ""
	if p.Err != nil {
		failure = p.Err.Error()
		line = append(line, "", "", "", "", "", "", "")
	} else {
		line = append(line, decimal(p.Throughput, 3))
		for _, d := range []time.Duration{p.Avg, p.P50, p.P90, p.P95, p.P99} {
			line = append(line, decimal(milliseconds(d), 3))
		}
		line = append(line, strconv.FormatBool(p.Stable))
	}
	return append(line, bytesAt(p.Memory, true), bytesAt(p.Memory, false), strconv.FormatBool(isRecommended(r, p)), failure)
}

// bytesAt returns the memory on the host, or on the fullest GPU.
func bytesAt(m footprint.Reading, host bool) string {
	var most uint64
	found := false
	for _, place := range slices.Sorted(maps.Keys(m)) {
		if (place == footprint.Host) == host {
			most, found = max(most, m[place]), true
		}
	}
	if !found {
		return ""
	}
	return strconv.FormatUint(most, 10)
}
