package repository

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// BenchmarkLoadEnsemble loads and unloads ensembles while a server has n others over the same two models:
// what one load costs must not depend on them. load-us and unload-us are the means of one call.
func BenchmarkLoadEnsemble(b *testing.B) {
	for _, clients := range []int{1, 4} {
		for _, n := range []int{100, 1000, 3000} {
			b.Run(fmt.Sprintf("clients=%d/n=%d", clients, n), func(b *testing.B) { loadBeside(b, clients, n) })
		}
	}
}

func loadBeside(b *testing.B, clients, n int) {
	files := map[string]string{"p/config.pbtxt": identity, "p/1/": "", "q/config.pbtxt": identity, "q/1/": ""}
	for i := range n {
		files[fmt.Sprintf("e%d/config.pbtxt", i)] = chainOf("p", "q")
		files[fmt.Sprintf("e%d/1/", i)] = ""
	}
	r, _, err := open(b, func(o *Options) { o.Control, o.Startup = ControlExplicit, []string{"*"} }, tree(b, files))
	require.NoError(b, err)
	loads, unloads := make([]time.Duration, clients), make([]time.Duration, clients)
	rounds := 0
	for b.Loop() {
		rounds++
		var all sync.WaitGroup
		for c := range clients {
			all.Go(func() {
				name := fmt.Sprint("e", c)
				begin := time.Now()
				err := r.Unload(b.Context(), name, false)
				middle := time.Now()
				unloads[c] += middle.Sub(begin)
				if err == nil {
					err = r.Load(b.Context(), name, infer.LoadOptions{})
				}
				loads[c] += time.Since(middle)
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(mean(loads, rounds), "load-us")
	b.ReportMetric(mean(unloads, rounds), "unload-us")
}

func mean(all []time.Duration, rounds int) float64 {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return float64(sum.Microseconds()) / float64(rounds*len(all))
}
