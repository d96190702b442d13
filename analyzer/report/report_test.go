package report_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer"
	"triton/analyzer/report"
	"triton/analyzer/search"
	"triton/pkg/gpu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const mib = 1 << 20

func host(pss uint64) analyzer.Memory {
	return analyzer.Memory{Host: gpu.Some(analyzer.HostMemory{PSS: pss * mib, RSS: (pss + 20) * mib})}
}

func point(instances, batch, concurrency int, throughput float64, p99 time.Duration, pss uint64) analyzer.Point {
	return analyzer.Point{
		Instances: instances,
		Load:      search.Load{Batch: batch, Concurrency: concurrency},
		Measurement: analyzer.Measurement{
			Requests: 100, Throughput: throughput, Avg: p99 / 2, P50: p99 / 2, P90: p99 - 2, P95: p99 - 1, P99: p99, Stable: true,
		},
		Memory: host(pss),
	}
}

// full is an analysis with successful results and one failure of each kind.
func full() *analyzer.Result {
	line, _ := search.Fit([]search.Sample{{Instances: 1, Bytes: 300 * mib}, {Instances: 2, Bytes: 420 * mib}, {Instances: 3, Bytes: 550 * mib}})
	r := &analyzer.Result{
		Model: "resnet50", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Source: analyzer.HostPSS, Batch: 8, Base: host(40),
		Points: []analyzer.Point{
			point(1, 1, 1, 20.5, 51*time.Millisecond, 320),
			point(1, 8, 4, 31.25, 900*time.Millisecond, 340),
			point(2, 1, 1, 20, 60*time.Millisecond, 450),
			point(2, 8, 4, 33, 800*time.Millisecond, 460),
		},
		Variants: []analyzer.Variant{
			{Instances: 1, Loaded: host(200), Peak: host(340), Complete: true},
			{Instances: 2, Loaded: host(300), Peak: host(460)},
		},
		Fit:         &line,
		Capacity:    analyzer.Capacity{Memory: 1024 * mib, Usable: 450 * mib, Origin: "as given", Known: true, Limited: true, Instances: 1},
		Recommended: 1, Reason: "it is the best", Config: []byte("name: \"resnet50\"\n"), Warnings: []string{"something was changed"},
	}
	r.Points[2].Stable = false
	r.Points[3].Err = errors.New("connection reset")
	r.Variants[1].Err = errors.New("instance count 2: ended under load: signal: killed")
	return r
}

// bare is an analysis that was interrupted early, on a system without memory
// readings.
func bare() *analyzer.Result {
	p := point(1, 1, 1, 5, time.Millisecond, 0)
	p.Memory = analyzer.Memory{}
	return &analyzer.Result{
		Model: "simple", Source: analyzer.NoSource, Points: []analyzer.Point{p},
		Recommended: -1, Reason: "no setting meets the latency budget of 1µs; the lowest p99 measured is 1ms", Interrupted: true,
		Variants: []analyzer.Variant{{Instances: 1, Err: errors.New("interrupted")}},
	}
}

// flat is an analysis on a GPU of which only one count was measured.
func flat() *analyzer.Result {
	p := point(1, 1, 1, 5, time.Millisecond, 100)
	p.Memory.GPU, p.Memory.Devices = gpu.Some[uint64](700*mib), gpu.Some[uint64](720*mib)
	return &analyzer.Result{
		Model: "simple", Source: analyzer.GPUProcesses, Base: analyzer.Memory{GPU: gpu.Some[uint64](0)}, Points: []analyzer.Point{p},
		Capacity: analyzer.Capacity{Memory: 40 << 30, Usable: 38 << 30, Origin: "free on the GPUs at the start"},
		Reason:   "it is the only one",
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	unlimited := full()
	unlimited.Capacity.Limited = false
	unlimited.Fit = &search.Line{PerModel: 300 * mib, PerInstance: -mib, Residual: mib}
	results := map[string]*analyzer.Result{"full": full(), "bare": bare(), "flat": flat(), "unlimited": unlimited}
	printers := map[string]func(io.Writer, *analyzer.Result) error{
		"txt": report.Text, "csv": report.CSV, "json": report.JSON, "md": report.Markdown, "html": report.HTML,
	}
	for name, r := range results {
		for form, print := range printers {
			var b bytes.Buffer
			require.NoError(t, print(&b, r))
			golden := filepath.Join("testdata", name+"."+form)
			if *update {
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String(), golden)
		}
	}
}

func TestNothingMeasured(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, &analyzer.Result{Recommended: -1, Reason: "no setting was measured"}))
	require.Equal(t, "memory: could not be read on this system\nrecommended: nothing; no setting was measured\n", b.String())
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for _, print := range []func(io.Writer, *analyzer.Result) error{report.Text, report.CSV, report.JSON, report.Markdown, report.HTML} {
		require.ErrorContains(t, print(brokenWriter{}, full()), "disk full")
	}
}
