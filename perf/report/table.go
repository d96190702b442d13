package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"triton/perf"
	"triton/pkg/ui"
)

// WriteTable writes one row for each level, in the order measured, by batch size. The last
// column has the reason why a level does not count. color is for terminals: percentiles of too few
// requests are grey.
func WriteTable(w io.Writer, r *perf.Report, color bool) error {
	levels := r.All()
	if len(levels) == 0 {
		return nil
	}
	columns := []ui.Column{{Title: "Batch", Align: ui.Right}, {Title: label(r.Settings.Mode), Align: ui.Right}, {Title: "Infer/s", Align: ui.Right}, {Title: "±%", Align: ui.Right, Spare: 3}, {Title: "Avg us", Align: ui.Right}}
	titles := percentileTitles(levels)
	for i, p := range titles {
		spare := 1
		if i == 0 || i == len(titles)-1 {
			spare = 0
		}
		columns = append(columns, ui.Column{Title: p, Align: ui.Right, Spare: spare})
	}
	columns = append(columns, ui.Column{Title: "p99.9 us", Align: ui.Right, Spare: 3}, ui.Column{Title: "Max us", Align: ui.Right, Spare: 4},
		ui.Column{Title: "Requests", Align: ui.Right, Spare: 4})
	if r.Settings.Mode.Rate() {
		columns = append(columns,
			ui.Column{Title: "Late %", Align: ui.Right}, ui.Column{Title: "p99 us from schedule", Align: ui.Right})
	}
	if r.Settings.ServerStats {
		columns = append(columns,
			ui.Column{Title: "Server queue us", Align: ui.Right, Spare: 2}, ui.Column{Title: "Server compute us", Align: ui.Right, Spare: 2},
			ui.Column{Title: "Batch executed", Align: ui.Right, Spare: 2})
	}
	columns = append(columns, ui.Column{Title: "Client cores", Align: ui.Right, Spare: 3}, ui.Column{Title: "Grade"}, ui.Column{Title: "Note"})
	var rows [][]string
	for _, batch := range r.Settings.Batches {
		for _, l := range levels {
			if l.Batch == batch {
				rows = append(rows, tableRow(r, l, len(columns), color))
			}
		}
	}
	if err := ui.Table(w, columns, rows); err != nil || !slices.ContainsFunc(levels, hasFew) {
		return err
	}
	_, err := io.WriteString(w, fewMark+" fewer than 10 requests were slower: too few for a reliable percentile\n")
	return err
}

// fewMark marks a percentile of too few requests.
const fewMark = "*"

func hasFew(l *perf.Level) bool {
	return l.Requests > 0 && (l.P999.Few() || slices.ContainsFunc(l.Percentiles, perf.Percentile.Few))
}

// percentileCell is a percentile in microseconds, marked if it has too few requests.
func percentileCell(p perf.Percentile, color bool) string {
	text := fmt.Sprint(usec(p.Latency))
	switch {
	case !p.Few():
		return text
	case color:
		return ui.Faint(text + fewMark)
	}
	return text + fewMark
}

// widthCell is the relative width of an interval in percent.
func widthCell(width float64) string {
	if math.IsInf(width, 1) {
		return "-"
	}
	return fmt.Sprintf("%.2g", 100*width)
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

func tableRow(r *perf.Report, l *perf.Level, width int, color bool) []string {
	row := []string{fmt.Sprint(l.Batch), fmt.Sprintf("%.6g", l.Load.Value)}
	if l.Requests > 0 {
		row = append(row, fmt.Sprintf("%.1f", l.Throughput), widthCell(l.ThroughputInterval.Width(l.Throughput)), fmt.Sprint(usec(l.AvgLatency)))
		for _, p := range l.Percentiles {
			row = append(row, percentileCell(p, color))
		}
		row = append(row, percentileCell(l.P999, color), fmt.Sprint(usec(l.MaxLatency)), fmt.Sprint(l.Requests))
		if t := l.Schedule; t != nil {
			row = append(row, fmt.Sprintf("%.1f", 100*float64(t.Delayed)/float64(l.Requests)), fmt.Sprint(usec(t.Latency(99))))
		}
		if r.Settings.ServerStats {
			row = append(row, serverCells(l.Server)...)
		}
		row = append(row, clientCell(l.Process), string(l.Grade))
	}
	for len(row) < width-1 {
		row = append(row, "-")
	}
	return append(row, note(l))
}

func serverCells(s *perf.ServerStats) []string {
	if s == nil {
		return []string{"-", "-", "-"}
	}
	m := microsOf(s)
	batch := "-"
	if s.Executions > 0 {
		batch = fmt.Sprintf("%.1f", float64(s.Inferences)/float64(s.Executions))
	}
	return []string{fmt.Sprint(m.queue), fmt.Sprint(m.compute), batch}
}

// clientCell is how many of its cores the client used.
func clientCell(p *perf.Process) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f of %g", p.Busy()*p.Cores, p.Cores)
}

// note says why a level does not count or what limited it.
func note(l *perf.Level) string {
	reasons := make([]string, 0, 3)
	if text := l.Problem(); text != "" {
		reasons = append(reasons, text)
	}
	if l.ClientLimit != "" {
		reasons = append(reasons, "the client was the limit")
	}
	if l.Late != "" {
		reasons = append(reasons, "requests started late")
	}
	if l.Errors > 0 {
		reasons = append(reasons, fmt.Sprintf("%d requests failed", l.Errors))
	}
	return strings.Join(reasons, ", ")
}
