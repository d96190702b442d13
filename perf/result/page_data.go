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

// seriesData are the levels of one batch size of a run. With repeats it has their means, and each repeat is another
// series of the same group.
type seriesData struct {
	Name     string      `json:"name"`
	Group    int         `json:"group"`
	Repeat   int         `json:"repeat,omitempty"`
	LoadName string      `json:"loadName"`
	Levels   []levelData `json:"levels"`
}

type levelData struct {
	Label      string             `json:"label"` // equal for equal levels of several runs
	Load       float64            `json:"load"`
	Throughput float64            `json:"throughput"`
	Latency    map[string]float64 `json:"latency"` // by metric
	// Range has the ends of the 95 % intervals, by metric and for "throughput".
	Range   map[string][2]float64 `json:"range,omitempty"`
	Seconds []float64             `json:"seconds"`
	Over    map[string][]float64  `json:"over"`  // time, by metric; -1 without requests
	Edges   []float64             `json:"edges"` // upper ends of the buckets
	Counts  []uint64              `json:"counts"`
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
	groups := 0
	for _, r := range runs {
		series := seriesOf(&r, ps, u, groups)
		if len(series) > 0 {
			groups = series[len(series)-1].Group + 1
		}
		d.Series = append(d.Series, series...)
	}
	return d
}

// seriesOf returns the series of a run; group is the number of the first group.
func seriesOf(r *Run, ps []float64, u unit, group int) []seriesData {
	var all []seriesData
	means := r.File.means()
	mode := r.File.Settings.Mode
	for _, size := range batchSizes(r.File.Levels) {
		name := r.Name
		if size > 0 {
			name += ", batch size " + strconv.Itoa(size)
		}
		s := seriesData{Name: name, LoadName: loadName(mode), Group: group}
		for i := range means {
			if l := &means[i].Level; l.BatchSize == size && l.Requests > 0 {
				s.Levels = append(s.Levels, dataOfLevel(mode, l, ps, u))
			}
		}
		if len(s.Levels) == 0 {
			continue
		}
		all = append(all, s)
		for _, repeat := range repeatsOf(r.File.Levels) {
			one := seriesData{Name: name + ", repeat " + strconv.Itoa(repeat), LoadName: s.LoadName, Group: group, Repeat: repeat}
			for i := range r.File.Levels {
				if l := &r.File.Levels[i]; repeat > 0 && l.BatchSize == size && l.Repeat == repeat && l.Requests > 0 {
					one.Levels = append(one.Levels, dataOfLevel(mode, l, ps, u))
				}
			}
			if len(one.Levels) > 0 {
				all = append(all, one)
			}
		}
		group++
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
	d.Range = map[string][2]float64{}
	keep := func(key string, i *Interval, unit float64) {
		if i != nil && i.High != nil {
			d.Range[key] = [2]float64{rounded(i.Low / unit), rounded(*i.High / unit)}
		}
	}
	keep("throughput", l.ThroughputInterval, 1)
	keep("avg", l.Latency.AvgInterval, u.us)
	for _, p := range l.Latency.Percentiles {
		keep("p"+sixDigits(p.P), p.Interval, u.us)
	}
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
