package perf_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	measurement "triton/pkg/measure"
)

// TestLight: the process is told which levels are light, and when one turns out not to be.
func TestLight(t *testing.T) {
	rates := func(c *perf.Config, r perf.Range) { c.Mode, c.Range = perf.RequestRate, r }
	for name, c := range map[string]struct {
		config func(*perf.Config)
		cores  float64 // used
		want   []bool
	}{
		"one request at a time": {func(c *perf.Config) {}, 0.1, []bool{true, false}},
		"several":               {func(c *perf.Config) { c.Range = perf.Range{Start: 8, End: 8, Step: 1} }, 0.1, nil},
		"first one":             {func(c *perf.Config) { c.Range = perf.Range{List: []float64{1, 8}} }, 0.1, []bool{true, false}},
		"a low rate":            {func(c *perf.Config) { rates(c, perf.Range{Start: 500, End: 500, Step: 1}) }, 0.1, []bool{true, false}},
		"a high rate":           {func(c *perf.Config) { rates(c, perf.Range{Start: 5000, End: 5000, Step: 1}) }, 0.1, nil},
		"a busy client":         {func(c *perf.Config) { c.Range = perf.Range{List: []float64{1, 1}} }, 0.6, []bool{true, false, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := perf.DefaultConfig("simple")
				config.Interval = 200 * time.Millisecond
				c.config(&config)
				begin := time.Now()
				var told []bool
				_, err := perf.Run(t.Context(), config, perf.Deps{
					Dial:      newFake(2 * time.Millisecond).dial,
					OneThread: func(light bool) { told = append(told, light) },
					Usage: func() measurement.Usage {
						return measurement.Usage{CPU: time.Duration(c.cores * float64(time.Since(begin))), Cores: 2}
					},
				})
				require.NoError(t, err)
				require.Equal(t, c.want, told)
			})
		})
	}
}
