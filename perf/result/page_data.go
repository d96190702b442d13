package result

import (
	"math"
	"slices"
	"strconv"
)

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

// seriesData are the levels of one batch size of a run; each repeat is a series of its own.
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
	var levels []Level
	for _, r := range runs {
		levels = append(levels, r.File.Levels...)
	}
	ps := percentiles(levels)
	d := pageData{Unit: u.Short, Metrics: []metricData{{"avg", "average"}}, Series: []seriesData{}}
	for _, p := range ps {
		d.Metrics = append(d.Metrics, metricData{"p" + sixDigits(p), "p" + sixDigits(p)})
	}
	for _, r := range runs {
		d.Series = append(d.Series, seriesOf(&r, ps, u)...)
	}
	return d
}

func seriesOf(r *Run, ps []float64, u unit) []seriesData {
	var all []seriesData
	for _, size := range batchSizes(r.File.Levels) {
		for _, repeat := range repeatsOf(r.File.Levels) {
			s := seriesData{Name: r.Name, LoadName: loadName(r.File.Settings.Mode)}
			if size > 0 {
				s.Name += ", batch size " + strconv.Itoa(size)
			}
			if repeat > 0 {
				s.Name += ", repeat " + strconv.Itoa(repeat)
			}
			for i := range r.File.Levels {
				if l := &r.File.Levels[i]; l.BatchSize == size && l.Repeat == repeat && l.Requests > 0 {
					s.Levels = append(s.Levels, dataOfLevel(r.File.Settings.Mode, l, ps, u))
				}
			}
			if len(s.Levels) > 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

func batchSizes(levels []Level) []int {
	return distinct(levels, func(l *Level) int { return l.BatchSize })
}

// repeatsOf returns the repeats of levels, 0 for those that were measured once.
func repeatsOf(levels []Level) []int { return distinct(levels, func(l *Level) int { return l.Repeat }) }

// distinct returns the numbers that levels have, in the order of their first.
func distinct(levels []Level, of func(l *Level) int) []int {
	var all []int
	for i := range levels {
		if v := of(&levels[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// repeated reports whether a file has repeats of levels.
func (f *File) repeated() bool {
	return slices.ContainsFunc(f.Levels, func(l Level) bool { return l.Repeat > 0 })
}

// repeatText is the repeat of a level in a table.
func repeatText(l *Level) string {
	if l.Repeat == 0 {
		return "-"
	}
	return strconv.Itoa(l.Repeat)
}

func dataOfLevel(m Mode, l *Level, ps []float64, u unit) levelData {
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
func values(l Latency, ps []float64, u unit, any bool, each func(key string, v float64)) {
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
		each("p"+sixDigits(p), v)
	}
}

// rounded limits a figure to the digits that a chart can show.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }
