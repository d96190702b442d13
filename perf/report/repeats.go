package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// repeats writes how much the repeats of the levels differ.
func (c *Console) repeats(r *perf.Report) {
	if c.err == nil {
		c.err = writeRepeats(c.out, r)
	}
}

// writeRepeats writes a table of the means of repeats, and a note for each level whose repeats disagree.
func writeRepeats(w io.Writer, r *perf.Report) error {
	levels := r.Repeated()
	d := ui.Document{}
	several := len(r.Settings.Batches) > 1
	if several {
		d.Columns = append(d.Columns, ui.Column{Title: "Batch", Align: ui.Right})
	}
	d.Columns = append(d.Columns, []ui.Column{
		{Title: label(r.Settings.Mode), Align: ui.Right},
		{Title: "Figure"},
		{Title: "Mean", Align: ui.Right},
		{Title: "±%", Align: ui.Right},
		{Title: "Lowest", Align: ui.Right},
		{Title: "Highest", Align: ui.Right},
	}...)
	for i := range levels {
		l := &levels[i]
		if len(l.Of) == 0 {
			continue
		}
		for k, f := range []struct {
			name string
			mean perf.Mean
			text func(float64) string
		}{
			{"Infer/s", l.Throughput, ui.Number},
			{"Avg", l.AvgLatency, latency},
			{"p99", l.P99, latency},
		} {
			at := []string{strconv.Itoa(l.Batch), fmt.Sprintf("%.6g", l.Load.Value)}
			if !several {
				at = at[1:]
			}
			if k > 0 { // the load stands once
				clear(at)
			}
			d.Rows = append(d.Rows, append(at, f.name, f.text(f.mean.Value), width(f.mean), f.text(f.mean.Lowest), f.text(f.mean.Highest)))
		}
		d.Notes = append(d.Notes, notesOf(l, &r.Settings)...)
	}
	if len(d.Rows) == 0 {
		return nil
	}
	d.Lead = []string{fmt.Sprintf("\nMeans of %d repeats; ±%% is their 95 %% interval, from how much the repeats differ", r.Settings.Repeats)}
	return ui.WriteText(w, d)
}

// notesOf says what is special about the repeats of a level.
func notesOf(l *perf.Repeated, s *perf.Settings) []string {
	name := l.Load.String()
	if len(s.Batches) > 1 {
		name = fmt.Sprintf("batch size %d, %s", l.Batch, name)
	}
	var notes []string
	if n := len(l.Of); n < s.Repeats {
		notes = append(notes, fmt.Sprintf("%s: only %s of %d counted", name, ui.Plural(n, "repeat"), s.Repeats))
	}
	if d, ok := l.Disagreement(); ok {
		span := fmt.Sprintf("%s to %s infer/s", ui.Number(d.Lowest), ui.Number(d.Highest))
		if d.Latency {
			span = fmt.Sprintf("average latency %s to %s", latency(d.Lowest), latency(d.Highest))
		}
		notes = append(notes, fmt.Sprintf("%s: repeats differ by %s %% (%s), more than the ±%s %% that each varied within itself: the machine or the server changed meanwhile. Compare only results of --repeat.",
			name, percent(100*d.Differ()), span, percent(100*d.Within)))
	}
	return notes
}

func latency(ns float64) string { return ui.Duration(time.Duration(math.Round(ns))) }

// width is half the interval of a mean, in percent of it.
func width(m perf.Mean) string {
	w := m.Interval.Width(m.Value)
	if math.IsInf(w, 1) {
		return "-"
	}
	return percent(100 * w)
}

// percent formats a percentage with two digits, and all digits of its whole part.
func percent(v float64) string {
	if v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
