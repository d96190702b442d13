package result

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"triton/pkg/ui"
)

// barWidth is the width of the bars of a text chart.
const barWidth = 12

// WriteChart writes a table with bars for each run. Equal lengths are equal figures in all runs.
func WriteChart(w io.Writer, runs []Run) error {
	if len(runs) == 0 {
		return errNoRuns
	}
	u := unitOf(runs)
	var top struct{ throughput, latency float64 }
	p := highest(runs)
	for _, r := range runs {
		for i := range r.File.Levels {
			l := &r.File.Levels[i]
			top.throughput = max(top.throughput, l.Throughput)
			top.latency = max(top.latency, deciding(l, p))
		}
	}
	for i, r := range runs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := writeRun(w, &r, u, p, top.throughput, top.latency); err != nil {
			return err
		}
	}
	return nil
}

// highest returns the percentile of the bars: p99 if all runs have it, else the highest that
// all have; 0 is the average.
func highest(runs []Run) float64 {
	var common []float64
	for _, r := range runs {
		ps := percentiles(r.File.Levels)
		switch {
		case len(ps) == 0:
		case common == nil:
			common = ps
		default:
			common = slices.DeleteFunc(common, func(p float64) bool { return !slices.Contains(ps, p) })
		}
	}
	switch {
	case slices.Contains(common, 99):
		return 99
	case len(common) > 0:
		return common[len(common)-1]
	}
	return 0
}

func deciding(l *Level, p float64) float64 {
	if us, ok := l.Latency.Us(p); ok {
		return us
	}
	return l.Latency.AvgUs
}

func writeRun(w io.Writer, r *Run, u unit, p, mostThroughput, mostLatency float64) error {
	f := r.File
	fmt.Fprintln(w, joinWords(r.Name+":", f.Settings.Model, f.Settings.Protocol))
	latency := "Average " + u.Short
	if p > 0 {
		latency = "p" + sixDigits(p) + " " + u.Short
	}
	columns := []ui.Column{{Title: "Batch", Align: ui.Right}, {Title: loadName(f.Settings.Mode), Align: ui.Right}}
	repeated := f.repeated()
	if repeated {
		columns = append(columns, ui.Column{Title: "Repeat", Align: ui.Right})
	}
	columns = append(columns,
		ui.Column{Title: "Infer/s", Align: ui.Right},
		ui.Column{Title: "", Spare: 2},
		ui.Column{Title: latency, Align: ui.Right},
		ui.Column{Title: "", Spare: 1},
		ui.Column{Title: "Over time", Spare: 3},
		ui.Column{Title: "Note"},
	)
	var rows [][]string
	for _, l := range f.byLoad() {
		row := []string{batchText(l.BatchSize), loadText(f.Settings.Mode, l)}
		if repeated {
			row = append(row, repeatText(l))
		}
		if l.Requests == 0 {
			rows = append(rows, append(row, "-", "", "-", "", "", noteOf(l)))
			continue
		}
		rows = append(rows, append(row,
			significant(l.Throughput), textBar(l.Throughput, mostThroughput),
			u.text(deciding(l, p)), textBar(deciding(l, p), mostLatency), course(l, p), noteOf(l),
		))
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "No level was measured.")
		return nil
	}
	return ui.Table(w, columns, rows)
}

// byLoad returns the levels in the order measured, with the repeats of a level one below the other.
func (f *File) byLoad() []*Level {
	levels := f.Levels
	type setting struct {
		batch int
		load  float64
	}
	at := func(l *Level) setting { return setting{l.BatchSize, l.Load} }
	first := map[setting]int{}
	all := make([]*Level, len(levels))
	for i := range levels {
		l := &levels[i]
		all[i] = l
		if _, ok := first[at(l)]; !ok {
			first[at(l)] = i
		}
	}
	if f.repeated() {
		slices.SortStableFunc(all, func(a, b *Level) int { return cmp.Compare(first[at(a)], first[at(b)]) })
	}
	return all
}

func textBar(v, most float64) string {
	if most <= 0 {
		return ""
	}
	return ui.Bar(v/most, barWidth)
}

// course draws the latency over time.
func course(l *Level, p float64) string {
	var values []float64
	for i := range l.Timeline {
		m := &l.Timeline[i]
		us, ok := m.Latency.Us(p)
		if !ok {
			us = m.Latency.AvgUs
		}
		values = append(values, us)
	}
	return ui.Sparkline(values, 30)
}
