package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"triton/perf"
	"triton/pkg/ui"
)

// WriteTable writes one row for each level, in the order measured, by batch size. The last
// column has the reason why a level does not count.
func WriteTable(w io.Writer, r *perf.Report) error {
	levels := inOrder(r)
	if len(levels) == 0 {
		return nil
	}
	columns := []ui.Column{{Title: "Batch", Align: ui.Right}, {Title: label(r.Settings.Mode), Align: ui.Right}, {Title: "Infer/s", Align: ui.Right}, {Title: "Avg us", Align: ui.Right}}
	titles := percentileTitles(levels)
	for i, p := range titles {
		spare := 1
		if i == 0 || i == len(titles)-1 {
			spare = 0
		}
		columns = append(columns, ui.Column{Title: p, Align: ui.Right, Spare: spare})
	}
	if r.Settings.Mode.Rate() {
		columns = append(columns,
			ui.Column{Title: "Late %", Align: ui.Right}, ui.Column{Title: "p99 us from schedule", Align: ui.Right})
	}
	if r.Settings.ServerStats {
		columns = append(columns,
			ui.Column{Title: "Server queue us", Align: ui.Right, Spare: 2}, ui.Column{Title: "Server compute us", Align: ui.Right, Spare: 2},
			ui.Column{Title: "Batch executed", Align: ui.Right, Spare: 2})
	}
	columns = append(columns, ui.Column{Title: "Note"})
	var rows [][]string
	for _, batch := range r.Settings.Batches {
		for _, l := range levels {
			if l.Batch == batch {
				rows = append(rows, tableRow(r, l, len(columns)))
			}
		}
	}
	return ui.Table(w, columns, rows)
}

// inOrder returns all levels in the order measured.
func inOrder(r *perf.Report) []*perf.Level {
	all := make([]*perf.Level, 0, len(r.Levels)+len(r.Failed))
	for _, levels := range [][]perf.Level{r.Levels, r.Failed} {
		for i := range levels {
			all = append(all, &levels[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *perf.Level) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

func percentileTitles(levels []*perf.Level) []string {
	var titles []string
	for _, l := range levels {
		if len(l.Percentiles) == 0 {
			continue
		}
		for _, p := range l.Percentiles {
			titles = append(titles, fmt.Sprintf("p%g us", p.P))
		}
		return titles
	}
	return nil
}

func tableRow(r *perf.Report, l *perf.Level, width int) []string {
	row := []string{fmt.Sprint(l.Batch), fmt.Sprintf("%.6g", l.Load.Value)}
	if l.Requests > 0 {
		row = append(row, fmt.Sprintf("%.1f", l.Throughput), fmt.Sprint(usec(l.AvgLatency)))
		for _, p := range l.Percentiles {
			row = append(row, fmt.Sprint(usec(p.Latency)))
		}
		if t := l.Schedule; t != nil {
			row = append(row, fmt.Sprintf("%.1f", 100*float64(t.Delayed)/float64(l.Requests)), fmt.Sprint(usec(t.Latency(99))))
		}
		if s := l.Server; r.Settings.ServerStats && s != nil {
			m := microsOf(s)
			row = append(row, fmt.Sprint(m.queue), fmt.Sprint(m.compute))
			if s.Executions > 0 {
				row = append(row, fmt.Sprintf("%.1f", float64(s.Inferences)/float64(s.Executions)))
			}
		}
	}
	for len(row) < width-1 {
		row = append(row, "-")
	}
	return append(row, failureReason(l))
}

func failureReason(l *perf.Level) string {
	switch {
	case l.Incomplete:
		return "interrupted"
	case !l.Stable:
		return "not stable"
	case l.OverLimit:
		return "over the latency limit"
	}
	return ""
}
