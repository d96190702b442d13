package chart

import (
	"crypto/sha256"
	_ "embed" // the files of the page
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/perf/result"
)

//go:embed uplot/uPlot.iife.min.js
var library string

//go:embed uplot/uPlot.min.css
var libraryStyle string

//go:embed uplot/LICENSE
var libraryLicense string

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is the template of the HTML page. The library comes with its license.
var page = template.Must(template.New("page").Parse(pageText))

// Options describe a report.
type Options struct {
	Title   string // empty: the names of the models
	Version string // of the program
}

// errNoRuns reports a page without content.
var errNoRuns = errors.New("a report needs at least one result")

// WriteHTML writes one page that needs no network: its policy allows none.
func WriteHTML(w io.Writer, runs []Run, o Options) error {
	if len(runs) == 0 {
		return errNoRuns
	}
	u := unitOf(runs)
	script := "/*\n" + strings.ReplaceAll(libraryLicense, "*/", "* /") + "*/\n" + library
	v := pageView{
		Title: o.Title, Version: o.Version, Unit: u,
		// Browsers run only the two scripts with these hashes. uPlot and the bars set styles.
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src " + hash(script) + " " + hash(pageScript),
		Style:  template.CSS(libraryStyle + pageStyle), Library: template.JS(script), Script: template.JS(pageScript),
		Data: dataOf(runs, u),
	}
	if v.Title == "" {
		v.Title = title(runs)
	}
	for i := range runs {
		v.Runs = append(v.Runs, viewOf(&runs[i], u))
	}
	return page.Execute(w, v)
}

// hash returns a script's source expression for a content security policy.
func hash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func title(runs []Run) string {
	var models []string
	for _, r := range runs {
		if m := r.File.Settings.Model; m != "" && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		return "Measurement"
	}
	return "Measurement of " + strings.Join(models, ", ")
}

type pageView struct {
	Title, Version, Policy string
	Unit                   unit
	Style                  template.CSS
	Library, Script        template.JS
	Runs                   []runView
	Data                   pageData
}

type runView struct {
	Name, Model, Measured, Program, Machine, Settings string
	LoadName                                          string
	Percentiles                                       []string
	Parts                                             []part // names
	HasServer, HasBatches                             bool
	Levels                                            []levelView
}

type levelView struct {
	Batch, Load, Throughput, Avg, Note string
	Requests                           int
	Percentiles                        []percentileView
	Parts                              []part
	Executed                           []executedView
	Moments                            []momentView
	Buckets                            []bucketView
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
		Program: words(f.Program.Name, f.Program.Version), Machine: machineText(&f.Machine), Settings: settingsText(&f.Settings),
	}
	if v.Model == "" {
		v.Model = "not known"
	}
	if s := f.Settings.ModelVersion; s != "" {
		v.Model += " version " + s
	}
	if !f.Created.IsZero() {
		v.Measured = f.Created.UTC().Format(time.DateTime) + " UTC"
	}
	for i, name := range partNames {
		v.Parts = append(v.Parts, part{Name: name, Class: i})
	}
	ps := percentiles(f.Levels)
	for _, p := range ps {
		v.Percentiles = append(v.Percentiles, number(p))
	}
	for i := range f.Levels {
		l := viewOfLevel(f.Settings.Mode, &f.Levels[i], ps, u)
		v.HasServer, v.HasBatches = v.HasServer || l.Parts != nil, v.HasBatches || l.Executed != nil
		v.Levels = append(v.Levels, l)
	}
	return v
}

func viewOfLevel(m result.Mode, l *result.Level, ps []float64, u unit) levelView {
	v := levelView{
		Batch: batchText(l.BatchSize), Load: loadText(m, l), Throughput: significant(l.Throughput),
		Requests: l.Requests, Avg: u.text(l.Latency.AvgUs), Note: note(l), Parts: split(l, u),
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
		v.Percentiles = append(v.Percentiles, percentileView{u.text(us), few(l, p)})
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

func executed(batches []result.BatchSize, u unit) []executedView {
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

// words joins the texts that are not empty.
func words(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

func machineText(m *result.Machine) string {
	cpus := ""
	if m.CPUs > 0 {
		cpus = fmt.Sprintf("%d × %s", m.CPUs, words(m.CPU, m.Arch))
	}
	return words(m.Host, m.OS, cpus)
}

func settingsText(s *result.Settings) string {
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
	add("latency limit %g ms", s.LimitMs, s.LimitMs > 0)
	add("input data: %s", s.Input, s.Input != "")
	add("seed %d", s.Seed, s.Input != "")
	return strings.Join(all, ", ")
}

// pageData is what the script draws.
type pageData struct {
	Unit    string       `json:"unit"`
	Metrics []metricData `json:"metrics"`
	Series  []seriesData `json:"series"`
}

type metricData struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// seriesData are the levels of one batch size of a run.
type seriesData struct {
	Name     string      `json:"name"`
	LoadName string      `json:"loadName"`
	Levels   []levelData `json:"levels"`
}

type levelData struct {
	Label      string               `json:"label"` // equal for equal levels of several runs
	Load       float64              `json:"load"`
	Throughput float64              `json:"throughput"`
	Latency    map[string]float64   `json:"latency"` // by metric
	Seconds    []float64            `json:"seconds"`
	Over       map[string][]float64 `json:"over"`  // time, by metric; -1 without requests
	Edges      []float64            `json:"edges"` // upper ends of the buckets
	Counts     []uint64             `json:"counts"`
}

func dataOf(runs []Run, u unit) pageData {
	var levels []result.Level
	for _, r := range runs {
		levels = append(levels, r.File.Levels...)
	}
	ps := percentiles(levels)
	d := pageData{Unit: u.Short, Metrics: []metricData{{"avg", "average"}}, Series: []seriesData{}}
	for _, p := range ps {
		d.Metrics = append(d.Metrics, metricData{"p" + number(p), "p" + number(p)})
	}
	for _, r := range runs {
		d.Series = append(d.Series, seriesOf(&r, ps, u)...)
	}
	return d
}

func seriesOf(r *Run, ps []float64, u unit) []seriesData {
	var all []seriesData
	for _, size := range batchSizes(r.File.Levels) {
		s := seriesData{Name: r.Name, LoadName: loadName(r.File.Settings.Mode)}
		if size > 0 {
			s.Name += ", batch size " + strconv.Itoa(size)
		}
		for i := range r.File.Levels {
			if l := &r.File.Levels[i]; l.BatchSize == size && l.Requests > 0 {
				s.Levels = append(s.Levels, dataOfLevel(r.File.Settings.Mode, l, ps, u))
			}
		}
		if len(s.Levels) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func batchSizes(levels []result.Level) []int {
	var sizes []int
	for i := range levels {
		if !slices.Contains(sizes, levels[i].BatchSize) {
			sizes = append(sizes, levels[i].BatchSize)
		}
	}
	return sizes
}

func dataOfLevel(m result.Mode, l *result.Level, ps []float64, u unit) levelData {
	d := levelData{
		Label: loadName(m) + " " + loadText(m, l), Load: l.Load, Throughput: l.Throughput,
		Latency: map[string]float64{}, Over: map[string][]float64{},
	}
	values(l.Latency, ps, u, true, func(key string, v float64) { d.Latency[key] = v })
	for i := range l.Timeline {
		moment := &l.Timeline[i]
		d.Seconds = append(d.Seconds, moment.StartS+moment.DurationS/2)
		values(moment.Latency, ps, u, moment.Requests > 0, func(key string, v float64) { d.Over[key] = append(d.Over[key], v) })
	}
	for _, b := range l.Histogram {
		d.Edges, d.Counts = append(d.Edges, rounded(b.HighUs/u.us)), append(d.Counts, b.Count)
	}
	return d
}

// values calls each with all metrics of a latency, -1 for those that it does not have.
func values(l result.Latency, ps []float64, u unit, any bool, each func(key string, v float64)) {
	avg := -1.0
	if any {
		avg = rounded(l.AvgUs / u.us)
	}
	each("avg", avg)
	for _, p := range ps {
		v := -1.0
		if us, ok := l.Us(p); ok {
			v = rounded(us / u.us)
		}
		each("p"+number(p), v)
	}
}

// rounded limits a figure to the digits that a chart can show.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }
