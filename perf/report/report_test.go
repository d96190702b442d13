package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/perf"
	"triton/pkg/sharedtest"
	"triton/pkg/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSizes(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]int{"1": {1}, "1,2": {1, 2}, "1:3": {1, 2, 3}, "1,4,16": {1, 4, 16}, "1:4,8,10:12": {1, 2, 3, 4, 8, 10, 11, 12}, "": nil} {
		require.Equal(t, want, formatSizes(list))
	}
}

func level(throughput float64) perf.Level {
	l := perf.Level{Batch: 1, Load: perf.Load{Value: 4}, Stable: true}
	l.Requests, l.Throughput, l.AvgLatency = 100, throughput, 1500*time.Microsecond
	l.Percentiles = []perf.Percentile{{P: 50, Latency: time.Millisecond}, {P: 99, Latency: 2 * time.Millisecond}}
	return l
}

func gpus(n int) *perf.GPUStats {
	g := &perf.GPUStats{Utilization: map[string]float64{}, Power: map[string]float64{}, MemoryUsed: map[string]float64{}, MemoryTotal: map[string]float64{}}
	for i := range n {
		id := fmt.Sprintf("GPU-%02d", i)
		g.Utilization[id], g.Power[id], g.MemoryUsed[id], g.MemoryTotal[id] = 0.255, 71.123456, 1.6e10, 2.5e10
	}
	return g
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	r := &perf.Report{}
	r.Settings.Repeats, r.Settings.Batches = 3, []int{1}
	for i, throughput := range []float64{10776, 41036, 10800, 57122, 10850, 50500} {
		l := level(throughput)
		l.Number, l.Repeat = i+1, 1+i/2
		l.Load.Value = []float64{1, 8}[i%2]
		l.AvgLatency = time.Duration(l.Load.Value / throughput * 1e9)
		l.Percentiles = []perf.Percentile{{P: 99, Latency: 2 * l.AvgLatency, Samples: 5000}}
		l.ThroughputInterval = perf.Interval{Low: 0.97 * throughput, High: 1.03 * throughput}
		r.Levels = append(r.Levels, l)
	}
	sharedtest.GoldenWidths(t, "repeats", func(w io.Writer) error { return writeRepeats(w, r) })

	r.Settings.Batches, r.Settings.Mode = []int{1, 16}, perf.RequestRate
	for i := range r.Levels {
		r.Levels[i].Batch = 16
	}
	r.Levels[2].Incomplete = true
	sharedtest.GoldenWidths(t, "repeats-of-batches", func(w io.Writer) error { return writeRepeats(w, r) })
}

func TestMetricsBlockAndCells(t *testing.T) {
	t.Parallel()
	l := level(10)
	l.GPU = gpus(2)
	rep := &perf.Report{Levels: []perf.Level{l}}
	rep.Settings.Batches, rep.Settings.CollectMetrics = []int{1}, true
	var out bytes.Buffer
	c := NewConsole(&out, &out, false)
	c.settings = rep.Settings
	c.metrics(l.GPU)
	require.Equal(t, `  Server Prometheus Metrics: 
    Avg GPU Utilization:
      GPU-00 : 25.5%
      GPU-01 : 25.5%
    Avg GPU Power Usage:
      GPU-00 : 71.1235 watts
      GPU-01 : 71.1235 watts
    Max GPU Memory Usage:
      GPU-00 : 16000000000 bytes
      GPU-01 : 16000000000 bytes
    Total GPU Memory:
      GPU-00 : 25000000000 bytes
      GPU-01 : 25000000000 bytes
`, out.String())
	out.Reset()
	c.metrics(gpus(17))
	require.Equal(t, "  Server Prometheus Metrics: \nToo many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.\n", out.String())
	out.Reset()
	require.NoError(t, WriteCSV(&out, rep, CSVOptions{Verbose: true}))
	require.Equal(t, `Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p99 latency,Avg latency,request/response,response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory,p99.9 latency,Max latency,Request count,Throughput low,Throughput high,Latency low,Latency high,Grade,Client cores,Client delay,Late,Errors,Warm-up,Seed
4,10,0,0,1000,2000,1500,0,0,GPU-00:0.255;GPU-01:0.255;,GPU-00:71.1235;GPU-01:71.1235;,GPU-00:16000000000;GPU-01:16000000000;,GPU-00:25000000000;GPU-01:25000000000;,0,0,100,,,,,,,,,0,0,0
`, out.String())
}

func TestRowsRiseInThroughput(t *testing.T) {
	t.Parallel()
	rep := &perf.Report{Levels: []perf.Level{level(1234567), level(5), level(99.25)}}
	rep.Settings.Batches = []int{1}
	var out bytes.Buffer
	require.NoError(t, WriteCSV(&out, rep, CSVOptions{}))
	require.Equal(t, []string{"5", "99.25", "1.23457e+06"}, func() (column []string) {
		for _, row := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
			column = append(column, strings.Split(row, ",")[1])
		}
		return column
	}())
}

func TestNothingUnderflows(t *testing.T) {
	t.Parallel()
	s := perf.Summary{Client: perf.ClientTimes{Request: 5000, Send: 4000, Receive: 4000}}
	_, _, _, wait := clientMicros(&s)
	require.Zero(t, wait)
	require.Zero(t, subtract(3, 2, 2))
	require.Zero(t, average(perf.Statistic{Ns: 5}))
}

func TestServerWithoutRequests(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	NewConsole(&out, &out, false).serverBlock(&perf.ServerStats{}, 2, false)
	require.Equal(t, "    Request count: 0\n", out.String())
}

func TestOverheadWarning(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := NewConsole(&out, &out, false)
	l := level(1)
	l.Overhead = 50.1
	c.Observe(perf.LevelDone{Level: &l})
	require.Contains(t, out.String(), "\n[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.\n")
}

func TestDataLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := NewConsole(&out, &out, false)
	c.Observe(perf.DataRead{Streams: 1, Steps: 3})
	c.Observe(perf.DataRead{Streams: 2, Steps: 3})
	require.Equal(t, " Successfully read data for 1 stream/streams with 3 step/steps.\n Successfully read data for 2 stream/streams.\n", out.String())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreKept(t *testing.T) {
	t.Parallel()
	s := NewScreen(ScreenOptions{Out: full{}, Notes: full{}})
	s.Observe(perf.Notice{Text: "x"})
	require.EqualError(t, s.Close(), "disk full")
	require.Error(t, WriteCSV(full{}, &perf.Report{Levels: []perf.Level{level(1)}}, CSVOptions{}))
}

func TestTableNamesFailedLevels(t *testing.T) {
	t.Parallel()
	rep := &perf.Report{Levels: []perf.Level{level(10)}}
	rep.Settings.Batches = []int{1}
	slow, cut := level(20), level(5)
	slow.OverLimit, cut.Incomplete = true, true
	shaky := perf.Level{Batch: 1, Load: perf.Load{Value: 9}}
	rep.Levels, rep.Failed = append(rep.Levels, cut), []perf.Level{slow, shaky}
	var out bytes.Buffer
	require.NoError(t, WriteTable(&out, rep, false))
	for _, want := range []string{"interrupted", "over the latency limit", "│     1 │           9 │       - │       - │       - │       - │        - │\n", "concurrency 4: over the latency limit\nconcurrency 9: not stable\n"} {
		require.Contains(t, out.String(), want)
	}
	out.Reset()
	require.NoError(t, WriteTable(&out, &perf.Report{}, false))
	require.Empty(t, out.String())
}

func TestQualityOfAnUnknownInterval(t *testing.T) {
	t.Parallel()
	var out, notes bytes.Buffer
	c := NewConsole(&out, &notes, true)
	c.settings.Stability = 0.1
	l := level(10)
	l.AvgInterval = perf.Interval{Low: 1.4e6, High: math.Inf(1)}
	l.WarmUp = perf.WarmUp{Requests: 3, Duration: 1500 * time.Microsecond, Limit: true}
	l.Spread = perf.Spread{Throughput: 0.2}
	l.Schedule = &perf.ScheduleStats{MaxLatency: time.Second, AvgLate: time.Millisecond}
	l.Process = &perf.Process{CPU: time.Second, Duration: time.Second, Cores: 4, Delay: 20 * time.Microsecond, Probes: 9}
	l.Errors = 2
	c.Observe(perf.LevelDone{Level: &l})
	for _, want := range []string{
		"Warm-up, not measured: 3 requests in 1.5 msec; not every request in flight was answered by then\n",
		"Throughput: 10 infer/sec, interval not known\n",
		"Avg latency: 1500 usec, 95% interval from 1400\n",
		"Spread of the last windows: throughput 20%, latency 0% (limit 10%)\n",
		"From schedule: avg 0 usec, p99 0 usec, max 1000000 usec; started late: avg 1000 usec, max 0 usec\n",
		"Client: 1.00 of 4 cores; responses noticed 20 usec late on average, p99 0 usec (9 probes)\n",
		"Failed requests: 2\n",
	} {
		require.Contains(t, strings.Join(strings.Fields(notes.String()), " "), strings.TrimSpace(want))
	}
	require.NotContains(t, out.String(), "Warm-up", "scripts parse the standard output")
}

// fullReport is a report with a value in every column.
func fullReport() *perf.Report {
	l := level(1930.64)
	l.Percentiles = []perf.Percentile{{P: 50, Latency: 1200 * time.Microsecond, Samples: 100}, {P: 99, Latency: 2345678, Samples: 100}}
	l.P999, l.MaxLatency = perf.Percentile{P: 99.9, Latency: 4 * time.Millisecond, Samples: 100}, 5*time.Second
	l.ThroughputInterval = perf.Interval{Low: 1892, High: 1950}
	l.Schedule = &perf.ScheduleStats{Delayed: 3, Percentiles: []perf.Percentile{{P: 99, Latency: 3 * time.Millisecond}}}
	l.Server = window().Server
	l.Process = &perf.Process{CPU: time.Second, Duration: time.Second, Cores: 2}
	l.Errors, l.Grade, l.ClientLimit, l.Late = 2, "F", "it is busy", "20 %"
	shaky := perf.Level{Batch: 1, Load: perf.Load{Mode: perf.RequestRate, Value: 9}}
	rep := &perf.Report{Levels: []perf.Level{l}, Failed: []perf.Level{shaky}, Interrupted: true}
	rep.Settings.Model, rep.Settings.Batches, rep.Settings.Mode, rep.Settings.ServerStats = "m|x", []int{1}, perf.RequestRate, true
	rep.Levels[0].Number, rep.Failed[0].Number = 1, 2
	return rep
}

func TestTableForms(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer, *perf.Report) error{
		"table.txt": func(w io.Writer, r *perf.Report) error { return WriteTable(w, r, false) },
		"table.csv": WriteTableCSV, "table.md": WriteMarkdown,
	} {
		var out bytes.Buffer
		require.NoError(t, write(&out, fullReport()))
		golden(t, name, out.String())
		require.Error(t, write(full{}, fullReport()))
	}
	sharedtest.GoldenWidths(t, "table", func(w io.Writer) error { return WriteTable(w, fullReport(), false) })
	sharedtest.GoldenWidths(t, "table-of-levels", func(w io.Writer) error { return WriteTable(w, usualReport(), false) })
}

// usualReport is a sweep over concurrencies as most users do it.
func usualReport() *perf.Report {
	rep := fullReport()
	rep.Settings.Model, rep.Settings.Mode, rep.Interrupted = "simple", perf.Concurrency, false
	rep.Levels, rep.Failed = nil, nil
	for i, concurrency := range []float64{1, 8, 64} {
		l := fullReport().Levels[0]
		l.Number, l.Load, l.Schedule, l.Grade, l.ClientLimit, l.Late, l.Errors = i+1, perf.Load{Value: concurrency}, nil, "A", "", "", 0
		l.Throughput *= concurrency
		l.Percentiles = nil
		for _, p := range []float64{50, 90, 95, 99} {
			l.Percentiles = append(l.Percentiles, perf.Percentile{P: p, Latency: time.Duration(float64(i+1) * p * 1e4), Samples: 5000})
		}
		if concurrency == 64 {
			l.Grade, l.ClientLimit, l.Errors = "F", "it is busy", 3
		}
		rep.Levels = append(rep.Levels, l)
	}
	return rep
}

// TestPercentileOfTheTail: with --percentile 99.9 there is one p99.9.
func TestPercentileOfTheTail(t *testing.T) {
	t.Parallel()
	rep := fullReport()
	l := &rep.Levels[0]
	l.Percentiles = append(l.Percentiles, l.P999)
	var out, notes bytes.Buffer
	require.NoError(t, WriteTableCSV(&out, rep))
	require.Equal(t, 1, strings.Count(out.String(), "p99.9_us"), out.String())
	out.Reset()
	require.NoError(t, WriteCSV(&out, rep, CSVOptions{Verbose: true}))
	require.Equal(t, 1, strings.Count(out.String(), "p99.9 latency"), out.String())
	out.Reset()
	c := NewConsole(&out, &notes, true)
	c.Observe(perf.LevelDone{Level: l})
	require.Equal(t, 1, strings.Count(notes.String(), "p99.9 latency"), notes.String())
}

func TestColorsDoNotMoveColumns(t *testing.T) {
	t.Parallel()
	var without, color bytes.Buffer
	require.NoError(t, WriteTable(&without, fullReport(), false))
	require.NoError(t, WriteTable(&color, fullReport(), true))
	require.NotContains(t, without.String(), "\x1b")
	require.Contains(t, color.String(), ui.Faint("2.35 ms*"))
	require.Equal(t, without.String(), ansi.Strip(color.String()))
}

// TestPlainTable: a report without the figures of quality has no columns for them.
func TestPlainTable(t *testing.T) {
	t.Parallel()
	rep := &perf.Report{Levels: []perf.Level{level(10)}}
	rep.Settings.Batches = []int{1}
	var out bytes.Buffer
	require.NoError(t, WriteTableCSV(&out, rep))
	require.Equal(t, "batch_size,concurrency,inferences_per_second,avg_us,p50_us,p99_us,requests,note\n1,4,10.000,1500.000,1000.000,2000.000,100,\n", out.String())
}

func TestLevelsAreInTheOrderMeasured(t *testing.T) {
	t.Parallel()
	rep := &perf.Report{Levels: []perf.Level{level(10), level(30)}, Failed: []perf.Level{level(20)}}
	rep.Settings.Batches = []int{1}
	rep.Levels[0].Number, rep.Failed[0].Number, rep.Levels[1].Number = 1, 2, 3
	rep.Failed[0].OverLimit = true
	var table, export bytes.Buffer
	require.NoError(t, WriteTable(&table, rep, false))
	require.Regexp(t, `(?s) 10\.00 .* 20\.00 .* 30\.00 `, table.String())
	for i, l := range []*perf.Level{&rep.Levels[0], &rep.Failed[0], &rep.Levels[1]} {
		l.Load.Value = float64(i + 1)
		l.Profile = &perf.Profile{}
	}
	require.NoError(t, WriteExport(&export, rep, ExportOptions{}))
	require.Regexp(t, `"value":1}.*"value":2}.*"value":3}`, export.String())
}

func TestNoLevels(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, WriteCSV(&out, &perf.Report{}, CSVOptions{}))
	require.Empty(t, out.String())
}

func TestScreenOnATerminal(t *testing.T) {
	var out, notes bytes.Buffer
	s := NewScreen(ScreenOptions{Out: &out, Notes: &notes, Live: &out, OutShared: true, NotesShared: true, Table: true})
	rep := &perf.Report{Levels: []perf.Level{level(10)}}
	rep.Settings = perf.Settings{Config: perf.DefaultConfig("m"), Protocol: "HTTP"}
	s.Observe(perf.Started{Settings: rep.Settings, Progress: func() perf.Progress { return perf.Progress{Level: 1, Trial: 1} }})
	s.Observe(perf.LevelStarted{Batch: 1, Load: perf.Load{Value: 4}})
	s.Observe(perf.LevelDone{Level: &rep.Levels[0]})
	s.Print("Interrupt signal (2) received.")
	s.Observe(perf.Finished{Report: rep})
	require.NoError(t, s.Close())
	text := out.String()
	at := -1
	for _, want := range []string{"Measurement Settings", "Request concurrency: 4", "Throughput: 10 infer/sec", "Interrupt signal", "Inferences/Second vs.", "│ Batch │"} {
		i := strings.Index(text, want)
		require.Greater(t, i, at, want)
		at = i
	}
	require.Empty(t, notes.String())
}

func TestScreenWithNotesInAFile(t *testing.T) {
	var out, notes bytes.Buffer
	s := NewScreen(ScreenOptions{Out: &out, Notes: &notes, Live: &out, OutShared: true})
	s.Observe(perf.Started{Settings: perf.Settings{Config: perf.DefaultConfig("m"), Protocol: "HTTP"}, Progress: func() perf.Progress { return perf.Progress{} }})
	s.Observe(perf.Notice{Text: "WARNING: something"})
	require.NoError(t, s.Close())
	require.Contains(t, notes.String(), "WARNING: something")
	require.NotContains(t, out.String(), "WARNING")
}
