package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"triton/analyzer"
)

// CSV prints one line per setting. Memory is in bytes, latency in milliseconds;
// unknown values are empty.
func CSV(w io.Writer, r *analyzer.Result) error {
	out := csv.NewWriter(w)
	lines := [][]string{{
		"model", "instances", "batch", "concurrency", "throughput", "avg_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms",
		"stable", "memory_bytes", "host_pss_bytes", "host_rss_bytes", "gpu_bytes", "per_instance_bytes", "fits", "recommended", "error",
	}}
	for i, p := range r.Points {
		lines = append(lines, record(r, i, p))
	}
	return out.WriteAll(lines)
}

func record(r *analyzer.Result, i int, p analyzer.Point) []string {
	line := []string{r.Model, strconv.Itoa(p.Instances), strconv.Itoa(p.Batch), strconv.Itoa(p.Concurrency)}
	failure := ""
	if p.Err != nil {
		failure = p.Err.Error()
		line = append(line, "", "", "", "", "", "", "")
	} else {
		line = append(line, fixed(p.Throughput, 3))
		for _, d := range []time.Duration{p.Avg, p.P50, p.P90, p.P95, p.P99} {
			line = append(line, fixed(milliseconds(d), 3))
		}
		line = append(line, strconv.FormatBool(p.Stable))
	}
	number := func(v uint64, known bool) string {
		if !known {
			return ""
		}
		return strconv.FormatUint(v, 10)
	}
	bytes, known := r.Bytes(p.Memory)
	fits, perInstance := "", ""
	if yes, known := r.Fits(p); known {
		fits = strconv.FormatBool(yes)
	}
	if r.Fit != nil {
		perInstance = fixed(r.Fit.PerInstance, 0)
	}
	host := p.Memory.Host
	return append(line, number(bytes, known), number(host.Value.PSS, host.Known), number(host.Value.RSS, host.Known),
		number(p.Memory.GPU.Value, p.Memory.GPU.Known), perInstance, fits, strconv.FormatBool(i == r.Recommended), failure)
}
