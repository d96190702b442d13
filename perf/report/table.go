package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// column is a column of the closing table.
type column struct {
	title string // for people; empty: the column is only in CSV
	name  string // in CSV, with the unit; empty: the column is not in CSV
	spare int    // as in ui.Column
	left  bool   // aligned
	// text is the cell for people, whose units scale. value is that of CSV, whose units are fixed.
	// An empty text is shown as "-".
	text, value func(l *perf.Level) string
}

// WriteTable writes one row for each level, in the order measured, by batch size; repeats of a level are
// one row with their means. Lines below have the reasons why levels do not count. color is for terminals:
// percentiles of too few requests are gray.
func WriteTable(w io.Writer, r *perf.Report, color bool) error {
	d := document(r, color, true)
	if len(d.Rows) == 0 {
		return nil
	}
	return ui.WriteText(w, d)
}

// WriteMarkdown writes the table as Markdown.
func WriteMarkdown(w io.Writer, r *perf.Report) error {
	return ui.WriteMarkdown(w, document(r, false, false))
}

// WriteTableCSV writes the table as CSV with the units in the names of the columns. Unknown
// values are empty.
func WriteTableCSV(w io.Writer, r *perf.Report) error {
	r = r.Means()
	levels := sorted(r)
	var columns []column
	var header []string
	for _, c := range tableColumns(r, levels) {
		if c.name != "" {
			columns, header = append(columns, c), append(header, c.name)
		}
	}
	lines := [][]string{header}
	for _, l := range levels {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.value(l)
		}
		lines = append(lines, row)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

const noteTitle = "Note"

// fewMark marks a percentile of too few requests.
const fewMark = "*"

// document is the table for people. What is remarkable about levels is below it, or else in its last column.
func document(r *perf.Report, color, below bool) ui.Document {
	r = r.Means()
	levels := sorted(r)
	columns := slices.DeleteFunc(tableColumns(r, levels), func(c column) bool { return c.title == "" || below && c.title == noteTitle })
	d := ui.Document{Title: "Model " + r.Settings.Model}
	for _, c := range columns {
		align := ui.Right
		if c.left {
			align = ui.Left
		}
		d.Columns = append(d.Columns, ui.Column{Title: c.title, Align: align, Spare: c.spare})
	}
	var few []string // columns
	for _, l := range levels {
		row := make([]string, len(columns))
		for i, c := range columns {
			if row[i] = c.text(l); row[i] == "" && !c.left {
				row[i] = "-"
			}
			if strings.HasSuffix(row[i], fewMark) {
				if !slices.Contains(few, c.title) {
					few = append(few, c.title)
				}
				if color {
					row[i] = ui.Faint(row[i])
				}
			}
		}
		d.Rows = append(d.Rows, row)
		if text := note(l); below && text != "" {
			name := l.Load.String()
			if len(r.Settings.Batches) > 1 {
				name = fmt.Sprintf("batch size %d, %s", l.Batch, name)
			}
			d.Notes = append(d.Notes, name+": "+text)
		}
	}
	if len(few) > 0 { // the terminal may have no room for the columns
		d.Notes = append(d.Notes, fewMark+" "+strings.Join(few, ", ")+": fewer than 10 requests were slower, too few for a reliable percentile")
	}
	if r.Interrupted {
		d.Notes = append(d.Notes, "interrupted: the results are incomplete")
	}
	return d
}

// sorted returns the levels by batch size, in the order measured.
func sorted(r *perf.Report) []*perf.Level {
	all := r.All()
	var levels []*perf.Level
	for _, batch := range r.Settings.Batches {
		for _, l := range all {
			if l.Batch == batch {
				levels = append(levels, l)
			}
		}
	}
	return levels
}

// tableColumns returns the columns that the levels have values for.
func tableColumns(r *perf.Report, levels []*perf.Level) []column {
	columns := []column{
		number("Batch", "batch_size", func(l *perf.Level) string { return strconv.Itoa(l.Batch) }),
		number(label(r.Settings.Mode), strings.ReplaceAll(strings.ToLower(label(r.Settings.Mode)), " ", "_"),
			func(l *perf.Level) string { return fmt.Sprintf("%.6g", l.Load.Value) }),
		measured(column{
			title: "Infer/s", name: "inferences_per_second",
			text:  func(l *perf.Level) string { return ui.Number(l.Throughput) },
			value: func(l *perf.Level) string { return decimal(l.Throughput) },
		}),
	}
	columns = append(columns, throughputInterval(levels)...)
	columns = append(columns, duration("Avg", "avg_us", 0, func(l *perf.Level) time.Duration { return l.AvgLatency }))
	columns = append(columns, percentileColumns(levels)...)
	requests := measured(number("Requests", "requests", func(l *perf.Level) string { return strconv.Itoa(l.Requests) }))
	requests.spare = 5
	columns = append(columns, requests)
	if r.Settings.Mode.Rate() {
		columns = append(columns, scheduleColumns()...)
	}
	if r.Settings.ServerStats {
		columns = append(columns, serverColumns()...)
	}
	columns = append(columns, trustColumns(levels)...)
	return append(columns, column{title: noteTitle, name: "note", left: true, text: note, value: note})
}

func number(title, name string, text func(l *perf.Level) string) column {
	return column{title: title, name: name, text: text, value: text}
}

// measured makes the cells of a column empty for levels without requests.
func measured(c column) column {
	text, value := c.text, c.value
	c.text = func(l *perf.Level) string {
		if l.Requests == 0 {
			return ""
		}
		return text(l)
	}
	c.value = func(l *perf.Level) string {
		if l.Requests == 0 {
			return ""
		}
		return value(l)
	}
	return c
}

func duration(title, name string, spare int, of func(l *perf.Level) time.Duration) column {
	return measured(column{
		title: title, name: name, spare: spare,
		text:  func(l *perf.Level) string { return ui.Duration(of(l)) },
		value: func(l *perf.Level) string { return microseconds(of(l)) },
	})
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

func microseconds(d time.Duration) string { return decimal(float64(d) / 1e3) }

// throughputInterval is the confidence interval of the throughput.
func throughputInterval(levels []*perf.Level) []column {
	if !has(levels, func(l *perf.Level) bool { return l.ThroughputInterval.Known() }) {
		return nil
	}
	end := func(name string, of func(perf.Interval) float64) column {
		return measured(column{name: name, value: func(l *perf.Level) string {
			if !l.ThroughputInterval.Known() {
				return ""
			}
			return decimal(of(l.ThroughputInterval))
		}})
	}
	low := end("inferences_per_second_low", func(i perf.Interval) float64 { return i.Low })
	low.title, low.spare = "±%", 1
	low.text = func(l *perf.Level) string {
		if width := l.ThroughputInterval.Width(l.Throughput); !math.IsInf(width, 1) {
			return fmt.Sprintf("%.2g", 100*width)
		}
		return ""
	}
	high := end("inferences_per_second_high", func(i perf.Interval) float64 { return i.High })
	return []column{measured(low), high}
}

// note says why a level does not count or what limited it.
func note(l *perf.Level) string {
	var reasons []string
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
		reasons = append(reasons, ui.Plural(int(l.Errors), "request")+" failed")
	}
	return strings.Join(reasons, ", ")
}
