package result

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// runView is a run as the page shows it.
type runView struct {
	Name, Model, Measured, Program, Machine, Settings string
	LoadName                                          string
	Percentiles                                       []string
	Parts                                             []part // names
	HasServer, HasBatches, HasRepeats                 bool
	Levels                                            []levelView
	Means                                             []levelView // of repeats; nil without
}

type levelView struct {
	Batch, Load, Repeat, Throughput, Avg, Note string // Repeat is empty if the file has none
	Range, Grade                               string // interval of the throughput
	Requests                                   int
	Percentiles                                []percentileView
	Parts                                      []part
	Executed                                   []executedView
	Moments                                    []momentView
	Buckets                                    []bucketView
}

type percentileView struct {
	Text string
	Few  bool
}

type executedView struct {
	Size, Executions uint64
	Percent, Compute string
}

type momentView struct {
	Start, Duration, Avg string
	Requests             int
	Percentiles          []string
}

type bucketView struct {
	Low, High string
	Count     uint64
}

func viewOf(r *Run, u unit) runView {
	f := r.File
	v := runView{
		Name: r.Name, Model: f.Settings.Model, LoadName: loadName(f.Settings.Mode),
		Program: joinWords(f.Program.Name, f.Program.Version), Machine: machineText(&f.Machine), Settings: settingsText(&f.Settings),
	}
	v.Model = cmp.Or(v.Model, "not known")
	if s := f.Settings.ModelVersion; s != "" {
		v.Model += " version " + s
	}
	if !f.Created.IsZero() {
		v.Measured = f.Created.UTC().Format(time.DateTime) + " UTC"
	}
	for i, name := range partNames {
		v.Parts = append(v.Parts, part{Name: name, Class: i})
	}
	v.HasRepeats = f.repeated()
	ps := percentiles(f.Levels)
	for _, p := range ps {
		v.Percentiles = append(v.Percentiles, sixDigits(p))
	}
	for _, one := range f.byLoad() {
		l := viewOfLevel(f.Settings.Mode, one, ps, u)
		if v.HasRepeats {
			l.Repeat = repeatText(one)
		}
		v.HasServer, v.HasBatches = v.HasServer || l.Parts != nil, v.HasBatches || l.Executed != nil
		v.Levels = append(v.Levels, l)
	}
	if !v.HasRepeats {
		return v
	}
	for _, m := range f.means() {
		l := viewOfLevel(f.Settings.Mode, &m.Level, ps, u)
		l.Repeat = strconv.Itoa(m.repeats)
		v.Means = append(v.Means, l)
	}
	return v
}

func viewOfLevel(m Mode, l *Level, ps []float64, u unit) levelView {
	v := levelView{
		Batch: batchText(l.BatchSize), Load: loadText(m, l), Throughput: significant(l.Throughput),
		Requests: l.Requests, Avg: u.text(l.Latency.AvgUs), Note: noteOf(l), Parts: split(l, u),
		Range: rangeText(l.ThroughputInterval, 1), Grade: l.Grade,
	}
	if l.Requests == 0 {
		v.Throughput, v.Avg = "-", "-"
	}
	for _, p := range ps {
		us, ok := l.Latency.Us(p)
		if !ok {
			v.Percentiles = append(v.Percentiles, percentileView{Text: "-"})
			continue
		}
		v.Percentiles = append(v.Percentiles, percentileView{u.text(us), hasFew(l, p)})
	}
	if l.Server != nil {
		v.Executed = executed(l.Server.Batches, u)
	}
	for i := range l.Timeline {
		moment := &l.Timeline[i]
		x := momentView{Start: fixed(moment.StartS), Duration: fixed(moment.DurationS), Requests: moment.Requests, Avg: "-"}
		if moment.Requests > 0 {
			x.Avg = u.text(moment.Latency.AvgUs)
		}
		for _, p := range ps {
			us, ok := moment.Latency.Us(p)
			x.Percentiles = append(x.Percentiles, map[bool]string{true: u.text(us), false: "-"}[ok])
		}
		v.Moments = append(v.Moments, x)
	}
	for _, b := range l.Histogram {
		v.Buckets = append(v.Buckets, bucketView{u.text(b.LowUs), u.text(b.HighUs), b.Count})
	}
	return v
}

func executed(batches []BatchSize, u unit) []executedView {
	var total uint64
	for _, b := range batches {
		total += b.Executions
	}
	var all []executedView
	for _, b := range batches {
		all = append(all, executedView{
			Size: b.Size, Executions: b.Executions, Percent: fmt.Sprintf("%.1f", 100*float64(b.Executions)/float64(max(1, total))),
			Compute: u.text(b.ComputeInputUs + b.ComputeInferUs + b.ComputeOutputUs),
		})
	}
	return all
}

func fixed(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// joinWords joins the texts that are not empty.
func joinWords(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

func machineText(m *Machine) string {
	cpus := ""
	if m.CPUs > 0 {
		cpus = fmt.Sprintf("%d × %s", m.CPUs, joinWords(m.CPU, m.Arch))
	}
	return joinWords(m.Host, m.OS, cpus)
}

func settingsText(s *Settings) string {
	var all []string
	add := func(format string, v any, set bool) {
		if set {
			all = append(all, fmt.Sprintf(format, v))
		}
	}
	add("%s", s.Protocol, s.Protocol != "")
	add("%s", s.URL, s.URL != "")
	add("%s", "streaming", s.Streaming)
	add("%s requests", s.Distribution, s.Distribution != "")
	add("windows of %g ms", s.IntervalMs, s.Windows == "time")
	add("windows of %d requests", s.Samples, s.Windows == "count")
	add("stable within %g %%", s.Stability, s.Stability > 0)
	add("%d repeats", s.Repeats, s.Repeats > 1)
	add("latency limit %g ms", s.LimitMs, s.LimitMs > 0)
	add("input data: %s", s.Input, s.Input != "")
	add("seed %d", s.Seed, s.Input != "")
	return strings.Join(all, ", ")
}
