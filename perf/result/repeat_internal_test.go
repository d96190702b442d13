package result

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepeatsAreNoOtherLoads: a chart has a line for each repeat of a level, and tables name the repeat.
func TestRepeatsAreNoOtherLoads(t *testing.T) {
	t.Parallel()
	f := &File{Settings: Settings{Model: "m", Mode: Concurrency, Repeats: 2}}
	for i, throughput := range []float64{100, 400, 110, 300} {
		f.Levels = append(f.Levels, Level{
			Number: i + 1, BatchSize: 1, Load: []float64{1, 8}[i%2], Repeat: 1 + i/2, Stable: true,
			Requests: 10, Throughput: throughput, Latency: Latency{AvgUs: 1000},
		})
	}
	runs := []Run{{Name: "r", File: f}}
	var got []string
	for _, s := range dataOf(runs, units[0]).Series {
		for _, l := range s.Levels {
			got = append(got, s.Name+": "+l.Label+" "+significant(l.Throughput))
		}
	}
	require.Equal(t, []string{
		"r, batch size 1: Concurrency 1 105.0", "r, batch size 1: Concurrency 8 350.0",
		"r, batch size 1, repeat 1: Concurrency 1 100.0", "r, batch size 1, repeat 1: Concurrency 8 400.0",
		"r, batch size 1, repeat 2: Concurrency 1 110.0", "r, batch size 1, repeat 2: Concurrency 8 300.0",
	}, got)
	got = nil
	for _, l := range viewOf(&runs[0], units[0]).Levels {
		got = append(got, l.Load+"/"+l.Repeat)
	}
	require.Equal(t, []string{"1/1", "1/2", "8/1", "8/2"}, got, "repeats of a level are one below the other")
	var text, page bytes.Buffer
	require.NoError(t, WriteChart(&text, runs))
	require.Contains(t, text.String(), "│ Repeat │")
	require.NoError(t, WritePage(&page, runs, PageOptions{}))
	require.Contains(t, page.String(), "Repeat</th>")
	require.Contains(t, page.String(), "2 repeats")
}

// TestGradeOfMeans: repeats that agree have a good grade, whatever each of them says of itself; F is kept.
func TestGradeOfMeans(t *testing.T) {
	t.Parallel()
	of := func(limit string, throughput ...float64) string {
		var all []*Level
		for i, v := range throughput {
			l := &Level{Load: 1, Repeat: i + 1, Requests: 9, Stable: true, Grade: "E", Throughput: v, ClientLimit: limit}
			l.Latency.AvgUs = 1e6 / v
			all = append(all, l)
		}
		return new(Settings).meanOf(all).Grade
	}
	require.Equal(t, "A", of("", 1000, 1001, 1000, 1001, 1000))
	require.Equal(t, "E", of("", 1000, 1500, 1000, 1500, 1000))
	require.Equal(t, "F", of("slow", 1000, 1001, 1000, 1001, 1000))
}
