package analyze

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/pkg/sharedtest"
)

// analysis is one with three counts, a repeat and a setting that failed.
func analysis() *memory.Result {
	const mib = 1 << 20
	r := &memory.Result{
		Model: "<resnet50>", Batch: 8, Places: map[footprint.Place]memory.PlaceName{footprint.Host: {Name: "host memory"}},
		Reason: "more instances are not better beyond noise: 4 instances gave 1.2 % less, and less than 5 % more may be noise", Warnings: []string{"something was changed"},
	}
	for _, load := range []memory.Load{{Batch: 1, Concurrency: 1}, {Batch: 8, Concurrency: 4}} {
		for i, count := range []int{1, 2, 4} {
			v := float64(30*load.Batch) * []float64{1, 1.8, 1.78}[i]
			r.Points = append(r.Points, memory.Point{
				Instances: count, Load: load, Memory: footprint.Reading{footprint.Host: uint64(200+120*count) * mib},
				Measurement: memory.Measurement{Requests: 100, Throughput: v, Low: 0.95 * v, High: 1.05 * v, P50: 20 * time.Millisecond, P99: time.Duration(30+10*i) * time.Millisecond, Stable: i < 2},
			})
		}
	}
	r.Points = append(r.Points, memory.Point{Instances: 8, Load: memory.Load{Batch: 8, Concurrency: 4}, Err: errors.New("connection reset")})
	var points []footprint.LawPoint
	for _, count := range []int{1, 2, 4, 1} {
		bytes := uint64(200+121*count) * mib
		r.Footprint.Anchors = append(r.Footprint.Anchors, footprint.Anchor{Instances: count, Peak: footprint.Reading{footprint.Host: bytes}, Proof: footprint.Counted})
		points = append(points, footprint.LawPoint{Instances: count, Bytes: float64(bytes)})
	}
	law, err := footprint.FitLaw(points)
	if err != nil {
		panic(err)
	}
	r.Footprint.Limits = []footprint.Limit{{
		Place: footprint.Host, Costs: true, Instances: 30, Law: &law, Headroom: 256 * mib,
		Room: footprint.Room{Total: 4096 * mib, Usable: 4096 * mib, Origin: "available memory of this machine"},
	}}
	r.Footprint.Answer = footprint.Answer{
		Instances: 2, Status: footprint.ThroughputLimited, Run: true, Memory: 30, MemoryLimits: true, Useful: 2, UsefulKnown: true,
		Choice: footprint.Choice{Instances: 2, Best: 2, Noise: 0.03, Repeats: 1, Error: 0.04, Counts: []footprint.CountThroughput{{Instances: 1, Servers: 1, Throughput: 280}, {Instances: 2, Servers: 2, Throughput: 507.5}, {Instances: 4, Servers: 1, Throughput: 501}}, More: footprint.Change{Instances: 4, Value: -0.012, Low: -0.06, High: 0.039}},
	}
	for i, count := range []int{1, 2, 2, 4} {
		v := []float64{280, 505, 510, 501}[i]
		r.Compared = append(r.Compared, memory.Point{
			Instances: count, Load: memory.Load{Batch: 8, Concurrency: 8},
			Measurement: memory.Measurement{Throughput: v, P50: 20 * time.Millisecond, P99: 40 * time.Millisecond, Stable: true},
		})
	}
	r.Delay = &memory.DelayFinding{
		Delay: 20 * time.Millisecond, Size: 64, Load: memory.Load{Batch: 8, Concurrency: 4}, Waited: 20 * time.Millisecond, Latency: 21 * time.Millisecond,
		Shorter: time.Millisecond, Fuller: &r.Compared[1],
	}
	r.Recommended = &memory.Recommendation{
		File:      "results/<resnet50>/config.pbtxt",
		Instances: 2, MaxBatchSize: 8, DynamicBatching: true, Point: &r.Points[4],
		Diff: []string{" instance_group {", "-  count: 4", "+  count: 2", " }"},
	}
	return r
}

// TestPage: the answer with what changes in the configuration comes first, then why, then the charts, then the tables.
func TestPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, pageOf(analysis(), "triton analyze 1.2").WriteHTML(&b))
	text := b.String()
	at := 0
	for _, part := range []string{
		"<strong>recommended:</strong> 2 instances of &lt;resnet50&gt;", "<strong>found:</strong> 20.0 of 21.0 ms", "<pre>  max_queue_delay_microseconds: 1000</pre>", "<pre> instance_group {\n-  count: 4\n+  count: 2\n }</pre>", "<strong>why:</strong>",
		"<h2>Charts</h2>", "Throughput by instances", "p99 latency by instances", "Memory by instances: host memory", "Memory holds 30 instances",
		"<h2>Measurements</h2>", "→ 2", "connection reset", "<h2>Memory</h2>", "each further instance",
	} {
		i := strings.Index(text[at:], part)
		require.GreaterOrEqual(t, i, 0, "%s is not there, or not in its place", part)
		at += i
	}
	sharedtest.GoldenFile(t, "page.html", text)

	bare := &memory.Result{Model: "m", Reason: "no setting could be measured"}
	b.Reset()
	require.NoError(t, pageOf(bare, "").WriteHTML(&b))
	require.NotContains(t, b.String(), "<svg")
}

// TestBrowser opens the page in headless Chromium as the test of package report does.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("TRITON_BROWSER")
	if dir == "" {
		t.Skip("TRITON_BROWSER names no folder with Chromium; make browser-test makes one")
	}
	folder := filepath.Join(t.TempDir(), "analyze")
	require.NoError(t, os.Mkdir(folder, 0o755))
	file := filepath.Join(folder, "page.html")
	var b bytes.Buffer
	require.NoError(t, pageOf(analysis(), "triton analyze 1.2").WriteHTML(&b))
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "analyzer", "report", "testdata", "browser", "check.mjs"))
	require.NoError(t, err)
	at := filepath.Join(dir, "check-page.mjs") // the packages are found beside the script
	require.NoError(t, os.WriteFile(at, script, 0o600))
	screenshots := "-"
	if named := os.Getenv("TRITON_BROWSER_SCREENSHOTS"); named != "" {
		screenshots = named
	}
	text, err := exec.CommandContext(t.Context(), "node", at, screenshots, file).CombinedOutput()
	require.NoError(t, err, "%s", text)
	t.Logf("%s", text)
}
