package analyze

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/pkg/sharedtest"
)

// TestView follows an analysis on a terminal: the view shows what runs and what is known, the lines
// stay above it, and nothing is left of it at the end.
func TestView(t *testing.T) {
	t.Parallel()
	screen := sharedtest.NewScreen(78, 24)
	o := &options{Config: memory.DefaultConfig("bert")}
	o.Space = memory.Space{Instances: []int{1, 2}, Batches: []int{1}, Concurrencies: []int{4}}
	o.Footprint.Budget = time.Hour
	p := startProgress(screen, true, o)
	shows := func(texts ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			text := screen.String()
			for _, want := range texts {
				if !strings.Contains(text, want) {
					return false
				}
			}
			return true
		}, time.Minute, 10*time.Millisecond, "%q in\n%s", texts, screen)
	}
	shows("bert  0 servers, 0 of 2 settings, ", ", no new server after ", "now   preparing")
	result := &footprint.Result{Anchors: []footprint.Anchor{{}}}
	p.observe(memory.Step{Event: footprint.Event{Instances: 4, Why: "asked for", Result: result}})
	shows("starting a server for instance count 4: asked for", "now   starting a server for instance count 4, for ")
	p.observe(memory.Stressing{Instances: 4, Batch: 8})
	shows("now   measuring memory while 4 instances execute batches of 8, for")
	result.Limits = []footprint.Limit{
		{Place: footprint.Host, Room: footprint.Room{Total: 4 << 30, Usable: 4 << 30}, Costs: true, Instances: 17, Law: &footprint.Law{
			PerInstance: footprint.Estimate{Value: 200 << 20, Low: 190 << 20, High: 210 << 20},
		}},
		{Place: "GPU-1", Room: footprint.Room{Usable: 1 << 30}, Law: &footprint.Law{}},
		{Place: "GPU-2"},
	}
	p.observe(memory.Step{Event: footprint.Event{Instances: 4, Done: &footprint.Anchor{Peak: footprint.Reading{footprint.Host: 900 << 20}}, Result: result}})
	shows("bert  1 server, ", "instance count 4: peak 900.0 MiB (host); 200.0 MiB for each instance",
		"host  an instance takes 200.0 MiB (190.0 to 210.0) of 4096 MiB",
		"GPU-1  an instance takes 0.0 MiB (0.0 to 0.0), not more than the noise",
		"GPU-2  what an instance takes is known after three counts and a repeat")
	load := memory.Load{Batch: 1, Concurrency: 4}
	p.observe(memory.Measured{Point: memory.Point{Instances: 4, Load: load, Err: errors.New("refused")}})
	p.observe(memory.Measured{Point: memory.Point{Instances: 4, Load: load, Measurement: memory.Measurement{Throughput: 12.5, P99: 3 * time.Millisecond}}})
	shows("[1/2] instances 4, batch 1, concurrency 4: refused", "2 of 2 settings", "12.5 inferences/s, p99 3.00 ms  █")
	require.NoError(t, p.stop())
	text := screen.String()
	require.NotContains(t, text, "now ")
	require.Contains(t, text, "[2/2] instances 4, batch 1, concurrency 4: 12.5 inferences/s, p99 3.00 ms")
}
