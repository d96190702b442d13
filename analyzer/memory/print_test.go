package memory_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
	"triton/pkg/sharedtest"
)

func hostReading(bytes uint64) footprint.Reading {
	return footprint.Reading{footprint.Host: bytes * mib}
}

func measuredPoint(instances, batch, concurrency int, throughput float64, p99 time.Duration, used uint64) memory.Point {
	return memory.Point{
		Instances: instances,
		Load:      memory.Load{Batch: batch, Concurrency: concurrency},
		Measurement: memory.Measurement{
			Requests: 100, Throughput: throughput, Avg: p99 / 2, P50: p99 / 2, P90: p99 - 2, P95: p99 - 1, P99: p99, Stable: true,
		},
		Memory: hostReading(used),
	}
}

func anchorAt(instances int, peak uint64) footprint.Anchor {
	return footprint.Anchor{
		Instances: instances, Why: "asked for", Loaded: hostReading(peak - 40), Warm: hostReading(peak - 30), Retained: hostReading(peak - 5), Peak: hostReading(peak),
		Worked: hostReading(peak + 20), Proof: footprint.Counted, Work: footprint.Work{Throughput: 30, P99: time.Second},
	}
}

// limitOf returns a limit of a place with the law of the anchors.
func limitOf(place footprint.Place, peaks ...uint64) footprint.Limit {
	l := footprint.Limit{
		Place: place, Headroom: 256 * mib, Costs: true, Instances: 30,
		Room: footprint.Room{Total: 4096 * mib, Usable: 4096 * mib, Origin: "available memory of this machine"},
	}
	var points []footprint.LawPoint
	for i, peak := range peaks {
		points = append(points, footprint.LawPoint{Instances: max(1, i), Bytes: float64(peak * mib)})
	}
	if fit, err := footprint.FitLaw(points); err == nil {
		l.Law = &fit
	}
	return l
}

var placeNames = map[footprint.Place]memory.PlaceName{
	footprint.Host: {Name: "host memory", Source: "anonymous and shared memory of the server's processes"},
	"GPU-1":        {Name: "GPU GPU-1 (A100)", Source: "memory of the server's processes"},
}

// full is an analysis with successful results and one failure of each kind.
func full() *memory.Result {
	r := &memory.Result{
		Model: "resnet50", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Batch: 8, Places: placeNames,
		Points: []memory.Point{
			measuredPoint(1, 1, 1, 20.5, 51*time.Millisecond, 320),
			measuredPoint(1, 8, 4, 31.25, 900*time.Millisecond, 340),
			measuredPoint(2, 1, 1, 20, 60*time.Millisecond, 450),
			measuredPoint(2, 8, 4, 33, 800*time.Millisecond, 460),
		},
		Compared: []memory.Point{
			measuredPoint(1, 8, 8, 32.1, 420*time.Millisecond, 350), measuredPoint(2, 8, 8, 30.84, 440*time.Millisecond, 470),
			measuredPoint(1, 8, 8, 32.9, 410*time.Millisecond, 351),
		},
		Footprint: footprint.Result{
			Base:    hostReading(40),
			Anchors: []footprint.Anchor{anchorAt(1, 340), anchorAt(2, 461), anchorAt(3, 580), anchorAt(1, 339), {Instances: 4, Failure: &footprint.Failure{Class: trial.OutOfHostMemory, Err: errors.New("ended under load: signal: killed")}}},
			Limits:  []footprint.Limit{limitOf(footprint.Host, 339, 340, 461, 580)},
			Answer: footprint.Answer{
				Instances: 1, Status: footprint.ThroughputLimited, Run: true, Memory: 30, MemoryLimits: true, MemoryStatus: footprint.Predicted,
				Useful: 1, UsefulKnown: true, Choice: footprint.Choice{
					Instances: 1, Best: 1, Noise: 0.03, Repeats: 2, Error: 0.042,
					Counts: []footprint.CountThroughput{{Instances: 1, Servers: 3, Throughput: 32.5}, {Instances: 2, Servers: 1, Throughput: 30.84}, {Instances: 3, Servers: 1}},
					More:   footprint.Change{Instances: 2, Value: -0.051, Low: -0.09, High: -0.012},
				},
			},
		},
		Host:        []memory.HostReading{{Instances: 1, Memory: meter.Memory{Anonymous: 300 * mib, Shared: 10 * mib, Files: 56 * mib}}},
		Recommended: &memory.Recommendation{Instances: 1, MaxBatchSize: 8, DynamicBatching: true, File: "analyze-results/resnet50/config.pbtxt", Config: []byte("name: \"resnet50\"\n"), Diff: []string{" name: \"resnet50\"", "-instance_group { count: 4 }", "+instance_group { count: 1 }"}},
		Reason:      "more instances lower the throughput: 2 instances gave 5.1 % less", Warnings: []string{"something was changed"},
	}
	r.Footprint.Anchors[0].Batches = []footprint.BatchPoint{{Batch: 1, Peak: hostReading(305)}, {Batch: 8, Peak: hostReading(340)}}
	r.Footprint.Anchors = append(r.Footprint.Anchors, anchorAt(1, 340))
	r.Recommended.Point = &r.Points[1]
	r.Points[2].Stable = false
	r.Points[3].Err = errors.New("connection reset")
	return r
}

// bare is an analysis that was interrupted early, on a system without memory
// readings.
func bare() *memory.Result {
	p := measuredPoint(1, 1, 1, 5, time.Millisecond, 0)
	p.Memory = nil
	return &memory.Result{
		Model: "simple", Points: []memory.Point{p}, Interrupted: true,
		Reason:    "no setting meets the latency budget of 1µs; the lowest p99 measured is 1ms",
		Footprint: footprint.Result{Anchors: []footprint.Anchor{{Instances: 1, Failure: &footprint.Failure{Class: trial.Other, Err: errors.New("interrupted")}}}},
	}
}

// onDevice is an analysis on a GPU of which only one count was measured, and does not fit.
func onDevice() *memory.Result {
	r := full()
	r.Points, r.Host, r.Warnings = r.Points[:1], nil, nil
	l := limitOf("GPU-1", 700)
	l.Room.Origin, l.Shortfall, l.Room.Foreign = "free on the GPU", 300*mib, "process 7"
	a := anchorAt(1, 100)
	a.Peak["GPU-1"], r.Points[0].Memory["GPU-1"] = 700*mib, 690*mib
	r.Footprint = footprint.Result{
		Anchors: []footprint.Anchor{a}, Limits: []footprint.Limit{l},
		Answer: footprint.Answer{Status: footprint.Unfit, MemoryLimits: true, MemoryStatus: footprint.Unfit, Doubts: []string{"GPU-1 is shared with process 7"}},
	}
	r.Recommended, r.Reason = nil, "one instance does not fit in memory"
	return r
}

// noise is an analysis of a small model: an instance costs less than the noise.
func noise() *memory.Result {
	r := full()
	l := limitOf(footprint.Host, 50, 51, 50, 51)
	l.Costs, l.Instances = false, 0
	r.Footprint.Limits, r.Footprint.Answer.MemoryLimits, r.Footprint.Answer.Memory = []footprint.Limit{l}, false, 0
	return r
}

// delay is a quick analysis of a model whose batcher waits for requests that do not come. The recommended setting is
// that of the comparison.
func delay() *memory.Result {
	r := full()
	r.Quick, r.Warnings = true, nil
	r.Points = []memory.Point{measuredPoint(1, 1, 4, 38.9, 105*time.Millisecond, 340), measuredPoint(2, 1, 4, 33.2, 105*time.Millisecond, 340)}
	r.Recommended.Point = &r.Points[0]
	r.Compared = []memory.Point{measuredPoint(1, 1, 8, 2904, 6*time.Millisecond, 350), measuredPoint(2, 1, 8, 2876.4, 6*time.Millisecond, 350), measuredPoint(1, 1, 8, 2904, 6*time.Millisecond, 350)}
	r.Delay = &memory.DelayFinding{
		Delay: 100 * time.Millisecond, Size: 8, Load: memory.Load{Batch: 1, Concurrency: 4}, Waited: 100961 * time.Microsecond, Latency: 102530 * time.Microsecond,
		Shorter: 2 * time.Millisecond, Fuller: &r.Compared[0],
	}
	r.Reason = "more instances are not better beyond noise: 2 instances gave 0.9 % less, and less than 31 % more may be noise"
	r.Footprint.Anchors = []footprint.Anchor{anchorAt(1, 340), anchorAt(2, 461), anchorAt(1, 339)}
	r.Footprint.Limits = []footprint.Limit{limitOf(footprint.Host, 340)}
	r.Footprint.Answer.Choice = footprint.Choice{
		Instances: 1, Best: 1, Noise: 0.06, Repeats: 1, Error: 0.13,
		Counts: []footprint.CountThroughput{{Instances: 1, Servers: 2, Throughput: 2904}, {Instances: 2, Servers: 1, Throughput: 2876.4}},
		More:   footprint.Change{Instances: 2, Value: -0.009, Low: -0.247, High: 0.303},
	}
	return r
}

func TestGolden(t *testing.T) {
	t.Parallel()
	results := map[string]*memory.Result{"full": full(), "bare": bare(), "gpu": onDevice(), "noise": noise(), "delay": delay()}
	printers := map[string]func(io.Writer, *memory.Result) error{
		"txt": memory.WriteText, "csv": memory.WriteCSV, "json": memory.WriteJSON, "md": memory.WriteMarkdown,
	}
	for name, r := range results {
		for form, print := range printers {
			var b bytes.Buffer
			require.NoError(t, print(&b, r))
			sharedtest.GoldenFile(t, name+"."+form, b.String())
		}
	}
}

func TestNothingMeasured(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, memory.WriteText(&b, &memory.Result{Reason: "no setting was measured"}))
	require.Equal(t, "nothing is recommended: no setting was measured\n", b.String())
}

// TestSmallModelHasNoCount checks that a cost below the noise gives no number of instances, and that
// no line claims that instances are free and limited at once.
func TestSmallModelHasNoCount(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, memory.WriteText(&b, noise()))
	require.Contains(t, b.String(), "so memory is not what limits")
	require.NotContains(t, b.String(), "holds")
	require.NotContains(t, b.String(), "fit")
	require.NotContains(t, b.String(), "off by at most")
}

// TestWidths checks that the whole report fits terminals of usual widths, without words that are cut.
func TestWidths(t *testing.T) {
	t.Parallel()
	quick := noise()
	quick.Quick, quick.Footprint.Answer.Choice.Repeats = true, 1
	quick.Footprint.Answer.Status, quick.Footprint.Answer.Choice.Contested = footprint.Uncertain, 2
	quick.Footprint.Answer.Doubts = []string{"2 instances may be better than 1: the difference is not larger than what servers with the same count differ by"}
	undecided := noise()
	undecided.Recommended, undecided.Undecided = nil, true
	undecided.Reason = "servers with the same count differ by about 27 % in throughput (4 repeats), so 1 and 2 instances cannot be told apart"
	undecided.Footprint.Answer.Status = footprint.Uncertain
	undecided.Footprint.Answer.Choice = footprint.Choice{
		Instances: 1, Best: 2, Contested: 2, Noise: 0.27, Repeats: 4, More: footprint.Change{Instances: 2, Value: 0.2, Low: -0.3, High: 1},
		Counts: []footprint.CountThroughput{{Instances: 1, Servers: 3, Throughput: 1000}, {Instances: 2, Servers: 3, Throughput: 1200}},
	}
	for name, r := range map[string]*memory.Result{"full": full(), "quick": quick, "gpu": onDevice(), "undecided": undecided, "delay": delay()} {
		sharedtest.GoldenWidths(t, name, func(w io.Writer) error { return memory.WriteText(w, r) })
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for _, print := range []func(io.Writer, *memory.Result) error{memory.WriteText, memory.WriteCSV, memory.WriteJSON, memory.WriteMarkdown} {
		require.ErrorContains(t, print(brokenWriter{}, full()), "disk full")
	}
}
