package search_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"triton/analyzer/metric"
	"triton/analyzer/search"
	"triton/analyzer/trial"
)

func TestDebug(t *testing.T) {
	for _, f := range strings.Split(os.Getenv("SEEDS"), ",") {
		seed, _ := strconv.Atoi(f)
		s := newSurface(uint64(seed))
		o := search.Options{Mode: search.Planned, Space: defaults(server), Compare: byThroughput}
		o.Passes, o.Violation = p99Below(s.budget)
		g, _ := search.New(o)
		var last *trial.Result
		t.Logf("--- seed %d law %s budget %.1f best %.1f", seed, s.law, s.budget, s.best())
		for {
			p, ok := g.Next(last)
			if !ok {
				break
			}
			last = s.run(p)
			k, b := server.Shape(p.Members[0].Patch)
			if last.Measurement != nil {
				v := last.Measurement.Members[0]
				t.Logf("k=%d B=%d c=%d prec %.3f: x=%.1f p99=%.1f pass=%v", k, b, p.Members[0].Load.Concurrency, p.Precision, v[metric.Throughput], v[metric.LatencyP99], o.Passes(last.Measurement))
			} else {
				t.Logf("k=%d B=%d c=%d failed", k, b, p.Members[0].Load.Concurrency)
			}
		}
		t.Log(g.Reason())
		top, at := 0.0, [3]int{}
		for k := 1; k <= 5; k++ {
			for b := 1; b <= 128 && s.memory(k, b); b *= 2 {
				for c := 1.0; c <= 1024; c *= 1.4142 {
					if x, p99 := s.truth(k, b, int(c)); p99 <= s.budget && x > top {
						top, at = x, [3]int{k, b, int(c)}
					}
				}
			}
		}
		t.Log("best at", at, top)
	}
}
