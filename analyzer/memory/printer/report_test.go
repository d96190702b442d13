package printer_test

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
	"triton/analyzer/footprint"
	hostmem "triton/analyzer/footprint/host"
	"triton/analyzer/footprint/law"
	"triton/analyzer/footprint/sweep"
	"triton/analyzer/memory/printer"
	"triton/analyzer/trial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const mib = 1 << 20

func host(bytes uint64) footprint.Reading { return footprint.Reading{footprint.Host: bytes * mib} }

func point(instances, batch, concurrency int, throughput float64, p99 time.Duration, memory uint64) analyzer.Point {
	return analyzer.Point{
		Instances: instances,
		Load:      sweep.Load{Batch: batch, Concurrency: concurrency},
		Measurement: analyzer.Measurement{
			Requests: 100, Throughput: throughput, Avg: p99 / 2, P50: p99 / 2, P90: p99 - 2, P95: p99 - 1, P99: p99, Stable: true,
		},
		Memory: host(memory),
	}
}

func anchor(instances int, peak uint64) footprint.Anchor {
	return footprint.Anchor{
		Instances: instances, Why: "asked for", Loaded: host(peak - 40), Warm: host(peak - 30), Retained: host(peak - 5), Peak: host(peak),
		Proof: footprint.Counted, Work: footprint.Work{Throughput: 30, P99: time.Second},
	}
}

// limit returns a limit of a place with the law of the anchors.
func limit(place footprint.Place, peaks ...uint64) footprint.Limit {
	l := footprint.Limit{
		Place: place, Headroom: 256 * mib, Costs: true, Instances: 30,
		Room: footprint.Room{Total: 4096 * mib, Usable: 4096 * mib, Origin: "available memory of this machine"},
	}
	var points []law.Point
	for i, peak := range peaks {
		points = append(points, law.Point{Instances: max(1, i), Bytes: float64(peak * mib)})
	}
	if fit, err := law.Fit(points); err == nil {
		l.Law = &fit
	}
	return l
}

var places = map[footprint.Place]analyzer.PlaceName{
	footprint.Host: {Name: "host memory", Source: "anonymous and shared memory of the server's processes"},
	"GPU-1":        {Name: "GPU GPU-1 (A100)", Source: "memory of the server's processes"},
}

// full is an analysis with successful results and one failure of each kind.
func full() *analyzer.Result {
	r := &analyzer.Result{
		Model: "resnet50", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Batch: 8, Places: places,
		Points: []analyzer.Point{
			point(1, 1, 1, 20.5, 51*time.Millisecond, 320),
			point(1, 8, 4, 31.25, 900*time.Millisecond, 340),
			point(2, 1, 1, 20, 60*time.Millisecond, 450),
			point(2, 8, 4, 33, 800*time.Millisecond, 460),
		},
		Footprint: footprint.Result{
			Base:    host(40),
			Anchors: []footprint.Anchor{anchor(1, 340), anchor(2, 461), anchor(3, 580), anchor(1, 339), {Instances: 4, Failure: &footprint.Failure{Class: trial.OutOfHostMemory, Err: errors.New("ended under load: signal: killed")}}},
			Limits:  []footprint.Limit{limit(footprint.Host, 339, 340, 461, 580)},
			Answer: footprint.Answer{
				Instances: 1, Status: footprint.ThroughputLimited, Run: true, Memory: 30, MemoryLimits: true, MemoryStatus: footprint.Predicted,
				Useful: 1, UsefulKnown: true, Gain: 0.012,
			},
		},
		Host:        []analyzer.HostReading{{Instances: 1, Memory: hostmem.Memory{Anonymous: 300 * mib, Shared: 10 * mib, Files: 56 * mib}}},
		Recommended: &analyzer.Recommendation{Instances: 1, MaxBatchSize: 8, DynamicBatching: true, Config: []byte("name: \"resnet50\"\n")},
		Reason:      "one more than 1 raised the throughput by 1.2 %, less than 5 %", Warnings: []string{"something was changed"},
	}
	r.Footprint.Anchors[0].Batches = []footprint.BatchPoint{{Batch: 1, Peak: host(305)}, {Batch: 8, Peak: host(340)}}
	r.Footprint.Anchors = append(r.Footprint.Anchors, anchor(1, 340))
	r.Recommended.Point = &r.Points[1]
	r.Points[2].Stable = false
	r.Points[3].Err = errors.New("connection reset")
	return r
}

// bare is an analysis that was interrupted early, on a system without memory
// readings.
func bare() *analyzer.Result {
	p := point(1, 1, 1, 5, time.Millisecond, 0)
	p.Memory = nil
	return &analyzer.Result{
		Model: "simple", Points: []analyzer.Point{p}, Interrupted: true,
		Reason:    "no setting meets the latency budget of 1µs; the lowest p99 measured is 1ms",
		Footprint: footprint.Result{Anchors: []footprint.Anchor{{Instances: 1, Failure: &footprint.Failure{Class: trial.Other, Err: errors.New("interrupted")}}}},
	}
}

// gpu is an analysis on a GPU of which only one count was measured, and does not fit.
func gpu() *analyzer.Result {
	r := full()
	r.Points, r.Host, r.Warnings = r.Points[:1], nil, nil
	l := limit("GPU-1", 700)
	l.Room.Origin, l.Shortfall, l.Room.Foreign = "free on the GPU", 300*mib, "process 7"
	a := anchor(1, 100)
	a.Peak["GPU-1"], r.Points[0].Memory["GPU-1"] = 700*mib, 690*mib
	r.Footprint = footprint.Result{
		Anchors: []footprint.Anchor{a}, Limits: []footprint.Limit{l},
		Answer: footprint.Answer{Status: footprint.Unfit, MemoryLimits: true, MemoryStatus: footprint.Unfit, Doubts: []string{"GPU-1 is shared with process 7"}},
	}
	r.Recommended, r.Reason = nil, "one instance does not fit in memory"
	return r
}

// noise is an analysis of a small model: an instance costs less than the noise.
func noise() *analyzer.Result {
	r := full()
	l := limit(footprint.Host, 50, 51, 50, 51)
	l.Costs, l.Instances = false, 0
	r.Footprint.Limits, r.Footprint.Answer.MemoryLimits, r.Footprint.Answer.Memory = []footprint.Limit{l}, false, 0
	return r
}

func TestGolden(t *testing.T) {
	t.Parallel()
	results := map[string]*analyzer.Result{"full": full(), "bare": bare(), "gpu": gpu(), "noise": noise()}
	printers := map[string]func(io.Writer, *analyzer.Result) error{
		"txt": printer.Text, "csv": printer.CSV, "json": printer.JSON, "md": printer.Markdown, "html": printer.HTML,
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
	require.NoError(t, printer.Text(&b, &analyzer.Result{Reason: "no setting was measured"}))
	require.Equal(t, "recommended: nothing; no setting was measured\n", b.String())
}

// TestSmallModelHasNoCount checks that a cost below the noise gives no number of instances, and that
// no line claims that instances are free and limited at once.
func TestSmallModelHasNoCount(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, printer.Text(&b, noise()))
	require.Contains(t, b.String(), "so memory is not what limits")
	require.NotContains(t, b.String(), "fits:")
	require.NotContains(t, b.String(), "instances in")
	require.NotContains(t, b.String(), "off by at most")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for _, print := range []func(io.Writer, *analyzer.Result) error{printer.Text, printer.CSV, printer.JSON, printer.Markdown, printer.HTML} {
		require.ErrorContains(t, print(brokenWriter{}, full()), "disk full")
	}
}
