package bench

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"triton/analyzer/trial"
)

// csvColumn is what a column of perf_analyzer's CSV is a metric of. Its unit is factor times the
// metric's.
type csvColumn struct {
	tag    trial.Metric
	factor float64
}

const (
	microseconds = 1e-3 // in milliseconds
	megabytes    = 1e-6 // in decimal megabytes
)

var csvColumns = map[string]csvColumn{
	"Inferences/Second":     {trial.Throughput, 1},
	"Avg latency":           {trial.LatencyAvg, microseconds},
	"p90 latency":           {trial.LatencyP90, microseconds},
	"p95 latency":           {trial.LatencyP95, microseconds},
	"p99 latency":           {trial.LatencyP99, microseconds},
	"request/response":      {trial.ClientSendRecv, microseconds}, // over gRPC
	"send/recv":             {trial.ClientSendRecv, microseconds}, // over HTTP
	"response wait":         {trial.ClientWait, microseconds},
	"Server Queue":          {trial.ServerQueue, microseconds},
	"Server Compute Input":  {trial.ServerInput, microseconds},
	"Server Compute Infer":  {trial.ServerInfer, microseconds},
	"Server Compute Output": {trial.ServerOutput, microseconds},
}

// deviceColumns have cells such as "GPU-1:0.5;GPU-2:0.25;".
var deviceColumns = map[string]csvColumn{
	"Avg GPU Utilization":  {trial.GPUUtilization, 100},
	"Avg GPU Power Usage":  {trial.GPUPower, 1},
	"Max GPU Memory Usage": {trial.GPUUsedMemory, megabytes},
	"Total GPU Memory":     {trial.GPUTotalMemory, megabytes},
}

// readCSV reads the first level of perf_analyzer's report.
func readCSV(r io.Reader) (Figures, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil {
		return Figures{}, fmt.Errorf("the report of perf_analyzer has no header: %w", err)
	}
	row, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return Figures{}, errNoLevel
	}
	if err != nil {
		return Figures{}, fmt.Errorf("the report of perf_analyzer: %w", err)
	}
	f := Figures{Values: trial.Values{}, GPUs: map[string]trial.Values{}, Stable: true}
	for i, name := range header {
		if i >= len(row) || row[i] == "" {
			continue
		}
		if c, ok := csvColumns[name]; ok {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				return Figures{}, fmt.Errorf("the report of perf_analyzer: column %q: %w", name, err)
			}
			f.Values[c.tag] = v * c.factor
		}
		if c, ok := deviceColumns[name]; ok {
			if err := readDevices(f.GPUs, row[i], c); err != nil {
				return Figures{}, fmt.Errorf("the report of perf_analyzer: column %q: %w", name, err)
			}
		}
	}
	for _, v := range f.GPUs {
		total, hasTotal := v[trial.GPUTotalMemory]
		if used, ok := v[trial.GPUUsedMemory]; ok && hasTotal {
			v[trial.GPUFreeMemory] = total - used
		}
	}
	return f, nil
}

func readDevices(into map[string]trial.Values, cell string, c csvColumn) error {
	for entry := range strings.SplitSeq(strings.TrimSuffix(cell, ";"), ";") {
		// UUIDs of MIG devices may contain colons and slashes.
		i := strings.LastIndexByte(entry, ':')
		if i <= 0 {
			return fmt.Errorf("%q is not a device and its value", entry)
		}
		v, err := strconv.ParseFloat(entry[i+1:], 64)
		if err != nil {
			return fmt.Errorf("device %s: %w", entry[:i], err)
		}
		if into[entry[:i]] == nil {
			into[entry[:i]] = trial.Values{}
		}
		into[entry[:i]][c.tag] = v * c.factor
	}
	return nil
}
