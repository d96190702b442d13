package search

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// verdict is what a search made of a surface.
type verdict struct {
	trials int
	length float64 // of all measurements, in measurements to a precision of 5 %
	value  float64 // true throughput of its choice
	regret float64 // share of the best throughput that its choice lacks
}

// searchOver runs a search over a surface and judges its choice by the truth.
func searchOver(t *testing.T, s *surface, mode Mode) verdict {
	t.Helper()
	o := Options{
		Mode: mode, Space: defaults(server), Judge: Judge{Score: byThroughput},
		Sweep: SweepOptions{Steps: 5, Top: 3},
		TPE:   TPEOptions{Seed: s.seed, MinPercent: 5, MaxPercent: 10, Patience: 10},
	}
	o.Judge.Passes, o.Judge.Violation = p99Below(s.budget)
	g, err := New(o)
	require.NoError(t, err)
	defer g.Stop()
	var out verdict
	var choice *trial.Result
	var last *trial.Result
	for {
		p, ok := g.Next(last)
		if !ok {
			break
		}
		last = s.run(p)
		out.trials++
		out.length += s.length(last)
		m := last.Measurement
		if m != nil && o.Judge.Passes(m) && (choice == nil || byThroughput(m, choice.Measurement) > 0) {
			choice = last
		}
	}
	if choice != nil {
		out.value = s.value(choice.Proposal)
	}
	return out
}

var surfaces = flag.Uint64("surfaces", 0, "number of simulated servers over which TestSearchTable makes the table of all searches")

// TestSearchTable compares the searches over simulated servers of several laws. The planned search
// must find what quick search finds with a third of its measurements.
func TestSearchTable(t *testing.T) {
	t.Parallel()
	surfaces, whole := *surfaces, true
	searches := []Mode{Brute, Quick, Optuna, Planned}
	if surfaces == 0 {
		surfaces, whole = 40, false
		searches = []Mode{Quick, Planned}
	}
	all := map[Mode]map[string][]verdict{}
	for _, m := range searches {
		all[m] = map[string][]verdict{}
	}
	asGood, measured := 0, 0
	for seed := range surfaces {
		s := newSurface(seed)
		best := 0.0
		if whole { // the true best takes a simulation of every configuration
			if best = s.best(); best == 0 {
				continue // no configuration meets the constraint
			}
		}
		of := map[Mode]verdict{}
		for _, m := range searches {
			v := searchOver(t, s, m)
			if best > 0 {
				v.regret = max(0, 1-v.value/best)
			}
			of[m] = v
			all[m][s.law] = append(all[m][s.law], of[m])
			all[m]["all"] = append(all[m]["all"], of[m])
		}
		if !whole && of[Quick].value == 0 {
			continue
		}
		measured++
		if of[Planned].value >= 0.97*of[Quick].value {
			asGood++
		} else {
			t.Logf("surface %d (%s): planned %+v, quick %+v", seed, s.law, of[Planned], of[Quick])
		}
	}
	t.Logf("%d of %d surfaces: planned as good as quick within 3 %%, in %.1f instead of %.1f measurements of full length", asGood, measured, mean(all[Planned]["all"], lengthOf), mean(all[Quick]["all"], lengthOf))
	if whole {
		t.Log("\n" + table(searches, all))
	}
	require.Greater(t, measured, int(surfaces)/2)
	require.GreaterOrEqual(t, float64(asGood), 0.95*float64(measured))
	require.LessOrEqual(t, mean(all[Planned]["all"], trialsOf), mean(all[Quick]["all"], trialsOf)/3)
}

func trialsOf(o verdict) float64 { return float64(o.trials) }
func lengthOf(o verdict) float64 { return o.length }
func regretOf(o verdict) float64 { return o.regret }

func mean(list []verdict, of func(verdict) float64) float64 {
	var sum float64
	for _, o := range list {
		sum += of(o) / float64(len(list))
	}
	return sum
}

// table returns the comparison as Markdown.
func table(searches []Mode, all map[Mode]map[string][]verdict) string {
	var b strings.Builder
	b.WriteString("| servers | search | measurements | length | mean regret | regret at 90 % |\n|---|---|---|---|---|---|\n")
	for _, law := range append(slices.Clone(laws), "all") {
		for _, m := range searches {
			list := all[m][law]
			if len(list) == 0 {
				continue
			}
			var regrets []float64
			for _, o := range list {
				regrets = append(regrets, o.regret)
			}
			slices.Sort(regrets)
			fmt.Fprintf(&b, "| %s | %s | %.0f | %.0f | %.1f %% | %.1f %% |\n", law, m,
				mean(list, trialsOf), mean(list, lengthOf), 100*mean(list, regretOf), 100*regrets[len(regrets)*9/10])
		}
	}
	return b.String()
}
