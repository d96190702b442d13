package result_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/result"
	"triton/pkg/sharedtest"
)

func level(batch int, load, throughput, us float64) result.Level {
	l := result.Level{
		Number: 1, BatchSize: batch, Load: load, Stable: true, Requests: 2000, DurationS: 3, Throughput: throughput,
		Latency: latency(us), Grade: "B", ThroughputInterval: interval(throughput),
		Server: &result.Server{
			Model: "simple", Requests: 2000, RequestUs: us * 0.6, QueueUs: us * 0.1, ComputeInputUs: us * 0.05, ComputeInferUs: us * 0.4, ComputeOutputUs: us * 0.02,
			Batches: []result.BatchSize{{Size: 1, Executions: 300, ComputeInferUs: us * 0.4}, {Size: 4, Executions: 100, ComputeInferUs: us}},
		},
	}
	for i := range 10 {
		l.Timeline = append(l.Timeline, result.Moment{StartS: float64(i) * 0.3, DurationS: 0.3, Requests: 200, Latency: latency(us * (1 + float64(i%3)/10))})
	}
	l.Timeline = append(l.Timeline, result.Moment{StartS: 3, DurationS: 0.3})
	for i := range 12 {
		low := us / 2 * (1 + float64(i)/4)
		l.Histogram = append(l.Histogram, result.Bucket{LowUs: low, HighUs: low + us/8, Count: uint64(1500 >> i)})
	}
	return l
}

// interval is 2 % to both sides.
func interval(v float64) *result.Interval {
	high := 1.02 * v
	return &result.Interval{Low: 0.98 * v, High: &high}
}

func latency(us float64) result.Latency {
	return result.Latency{AvgUs: us, AvgInterval: interval(us), Percentiles: []result.Percentile{
		{P: 50, Us: us * 0.9, Interval: interval(us * 0.9)}, {P: 90, Us: us * 1.2}, {P: 99, Us: us * 2, Interval: interval(us * 2)}, {P: 99.9, Us: us * 3},
	}}
}

// repeated returns the first two runs with three repeats of each level; the second is that much faster.
func repeated(faster float64) []result.Run {
	all := runs()[:2]
	for k, speed := range []float64{1, faster} {
		f := all[k].File
		f.Settings.Repeats, f.Levels = 3, nil
		for repeat := 1; repeat <= 3; repeat++ {
			for _, load := range []float64{1, 4, 16} {
				l := level(1, load, speed*900*load/(1+load/8)*(1+float64(repeat)/100), (1000+200*load)/speed)
				l.Repeat, l.Number = repeat, len(f.Levels)+1
				f.Levels = append(f.Levels, l)
			}
		}
	}
	return all
}

// runs are two runs with names that a page must escape, a level that failed, one without
// requests, and a run without levels.
func runs() []result.Run {
	file := func(speed float64) *result.File {
		f := &result.File{
			Format: result.Format, Version: result.Version, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Program: result.Program{Name: "triton perf", Version: "1.2"}, Machine: result.Machine{Host: "host", CPUs: 2, CPU: "cpu"},
			Settings: result.Settings{Model: "simple", Protocol: "HTTP", Mode: result.Concurrency, Windows: "time", IntervalMs: 5000, Input: "random"},
			Levels: []result.Level{
				level(1, 1, 900*speed, 1100/speed), level(1, 2, 1700*speed, 1200/speed), level(1, 4, 2000*speed, 2000/speed), level(1, 8, 1900*speed, 4300/speed),
				level(4, 1, 3000*speed, 1400/speed),
				{Number: 9, BatchSize: 4, Load: 2, Problem: "not stable"},
			},
		}
		f.Levels[3].Stable, f.Levels[3].Problem, f.Levels[3].Requests = false, "not stable", 50
		return f
	}
	empty := &result.File{Format: result.Format, Version: result.Version, Settings: result.Settings{Mode: result.FixedSchedule}}
	return []result.Run{{Name: "before.json", File: file(1)}, {Name: "</script><b>&\"after'.json", File: file(1.3)}, {Name: "empty.json", File: empty}}
}

// contains is require.Contains without a whole page in its message.
func contains(t *testing.T, page, part string) {
	t.Helper()
	require.True(t, strings.Contains(page, part), "the page has no %s", part)
}

func TestPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, result.WritePage(&b, runs(), result.PageOptions{Version: "1.2"}))
	text := b.String()
	contains(t, text, `<html lang="en">`)
	contains(t, text, "<title>Measurement of simple</title>")
	contains(t, text, "default-src &#39;none&#39;")
	contains(t, text, "Permission is hereby granted") // the library's license
	require.False(t, strings.Contains(text, "</script><b>"), "names are escaped")
	for _, load := range []string{"src=", "href=", "@import", "url("} {
		require.False(t, strings.Contains(text, load), "the page loads nothing: %s", load)
	}
	contains(t, text, `<th scope="row">8</th><td>1900</td><td>1862 to 1938</td><td>50</td>`)
	contains(t, text, `<td class="few" title="too few requests for this percentile">8600<span class="note"> (few)</span></td>`)
	contains(t, text, "<p>No level was measured.</p>")
	contains(t, text, `<td>300</td><td class="share"><span class="bar" aria-hidden="true"><i class="part0" style="width:75.0%"></i></span> 75.0 %</td>`)
	require.EqualError(t, result.WritePage(&b, nil, result.PageOptions{}), "a report needs at least one result")
}

// TestAnswer: the page begins with the most that a run reached, and compares two runs as perf compare does.
func TestAnswer(t *testing.T) {
	t.Parallel()
	write := func(runs []result.Run) string {
		var b bytes.Buffer
		require.NoError(t, result.WritePage(&b, runs, result.PageOptions{}))
		return b.String()
	}
	one := write(runs()[:1])
	contains(t, one, "<strong>3000 inferences/s</strong> (95\u00a0% interval 2940 to 3060) at batch size 4, concurrency 1, p99 2.800\u00a0ms, grade B</li>")
	require.NotContains(t, one, "Difference of the two runs")
	require.NotContains(t, write(runs()), "Difference of the two runs", "three runs")
	two := repeated(1.3)
	page := write(two)
	c, err := result.Compare(result.Side{Name: two[0].Name, Runs: two[:1]}, result.Side{Name: two[1].Name, Runs: two[1:]}, result.DefaultCompareOptions())
	require.NoError(t, err)
	contains(t, strings.ReplaceAll(page, "\u00a0", " "), "<strong>"+html.EscapeString(c.Headline)+"</strong>")
	contains(t, page, "mean of 3 repeats")
	contains(t, page, `<th scope="col">Change in %</th>`)
	two[1].File.Settings.Mode = result.RequestRate
	contains(t, write(two), "The two runs are not compared: ")
}

// TestScripts: the policy of the page has the hash of each script, or browsers would not run it.
func TestScripts(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, result.WritePage(&b, runs(), result.PageOptions{}))
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(b.String(), -1)
	require.Len(t, scripts, 2)
	policy := strings.NewReplacer("&#43;", "+", "&#39;", "'").Replace(b.String()[:4000])
	for _, s := range scripts {
		require.Contains(t, policy, result.Hash(s[1]))
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, result.WriteChart(&b, runs()))
	name := filepath.Join("testdata", "chart.txt")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	require.Error(t, result.WriteChart(&b, nil))
	sharedtest.GoldenWidths(t, "chart", func(w io.Writer) error { return result.WriteChart(w, runs()) })
}

func TestReadRuns(t *testing.T) {
	t.Parallel()
	write := func(name string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(`{"format":"triton-perf-result","version":1}`), 0o600))
		return name
	}
	dir := t.TempDir()
	a, b, other := write(filepath.Join(dir, "a", "x.json")), write(filepath.Join(dir, "b", "x.json")), write(filepath.Join(dir, "y.json"))
	list, err := result.ReadRuns([]string{a, other})
	require.NoError(t, err)
	require.Equal(t, "x.json", list[0].Name)
	list, err = result.ReadRuns([]string{a, b})
	require.NoError(t, err)
	require.Equal(t, []string{a, b}, []string{list[0].Name, list[1].Name})
	_, err = result.ReadRuns([]string{filepath.Join(dir, "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestLibrary: the files of the library are those that uplot/README.md names.
func TestLibrary(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("uplot", "README.md"))
	require.NoError(t, err)
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join("uplot", name))
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Contains(t, string(readme), "| `"+name+"`, SHA-256 | `"+hex.EncodeToString(sum[:])+"` |")
	}
}
