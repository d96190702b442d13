package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"triton/analyzer"
	"triton/pkg/ui"
)

// Text prints the settings as a table, and the conclusions below it.
func Text(w io.Writer, r *analyzer.Result) error {
	d := page(r)
	if len(d.Rows) > 0 {
		if err := ui.Table(w, d.Columns, d.Rows); err != nil {
			return err
		}
	}
	for _, line := range d.Notes {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// Markdown prints the table and the conclusions as Markdown.
func Markdown(w io.Writer, r *analyzer.Result) error { return ui.WriteMarkdown(w, page(r)) }

// HTML prints the table and the conclusions as an HTML page.
func HTML(w io.Writer, r *analyzer.Result) error { return ui.WriteHTML(w, page(r)) }

// page is the table of the settings with the conclusions.
func page(r *analyzer.Result) ui.Document {
	columns := []ui.Column{{Title: ""}}
	for _, title := range []string{
		"Instances", "Batch", "Concurrency", "Throughput/s", "p50 ms", "p99 ms", "Memory", "Fits", "Per instance",
	} {
		spare := map[string]int{"Fits": 1, "p50 ms": 2, "Per instance": 3}[title]
		columns = append(columns, ui.Column{Title: title, Align: ui.Right, Spare: spare})
	}
	var rows [][]string
	for i, p := range r.Points {
		rows = append(rows, row(r, i, p))
	}
	return ui.Document{Title: "Analysis of model " + r.Model, Columns: columns, Rows: rows, Notes: conclusions(r)}
}

func row(r *analyzer.Result, i int, p analyzer.Point) []string {
	mark := ""
	if i == r.Recommended {
		mark = "→"
	}
	cells := []string{mark, strconv.Itoa(p.Instances), strconv.Itoa(p.Batch), strconv.Itoa(p.Concurrency)}
	if p.Err != nil {
		cells = append(cells, "failed", "", "")
	} else {
		throughput := fixed(p.Throughput, 1)
		if !p.Stable {
			throughput = "~" + throughput
		}
		cells = append(cells, throughput, fixed(milliseconds(p.P50), 2), fixed(milliseconds(p.P99), 2))
	}
	memory, fits, perInstance := "?", "?", "?"
	if bytes, ok := r.Bytes(p.Memory); ok {
		memory = size(float64(bytes))
	}
	if yes, known := r.Fits(p); known {
		fits = map[bool]string{true: "yes", false: "no"}[yes]
	}
	if r.Fit != nil {
		perInstance = size(max(r.Fit.PerInstance, 0))
	}
	return append(cells, memory, fits, perInstance)
}

// conclusions returns the lines below the table.
func conclusions(r *analyzer.Result) []string {
	var p printer
	for _, pt := range r.Points {
		if pt.Err != nil {
			p.line("failed: instances %d, batch %d, concurrency %d: %v", pt.Instances, pt.Batch, pt.Concurrency, pt.Err)
		} else if !pt.Stable {
			p.unstable = true
		}
	}
	if p.unstable {
		p.line("~ not stable within the allowed number of windows")
	}
	for _, v := range r.Variants {
		if v.Err != nil && !r.Interrupted {
			p.line("failed: %v", v.Err)
		}
	}
	p.memory(r)
	p.exercised(r)
	p.capacity(r)
	p.recommendation(r)
	for _, text := range r.Warnings {
		p.line("note: %s", text)
	}
	if r.Interrupted {
		p.line("interrupted: the results are incomplete")
	}
	return p.lines
}

// printer collects lines.
type printer struct {
	lines    []string
	unstable bool
}

func (p *printer) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *printer) memory(r *analyzer.Result) {
	base, ok := r.Bytes(r.Base)
	switch {
	case !ok:
		p.line("memory: could not be read on this system")
	case r.Fit == nil:
		p.line("memory: %s; the server without models takes %s; the cost of an instance is known only after complete measurements at two instance counts",
			r.Source, size(float64(base)))
	case r.Fit.PerInstance <= 0:
		p.line("memory: %s = %s server + %s model; further instances took no more memory (error at most %s)",
			r.Source, size(float64(base)), size(r.Fit.PerModel+r.Fit.PerInstance), size(r.Fit.Residual))
	default:
		p.line("memory: %s = %s server + %s model + %s per instance (error at most %s)",
			r.Source, size(float64(base)), size(r.Fit.PerModel), size(r.Fit.PerInstance), size(r.Fit.Residual))
	}
}

// exercised prints the peak memory of the servers while all instances executed.
func (p *printer) exercised(r *analyzer.Result) {
	var peaks []string
	for _, v := range r.Variants {
		if bytes, ok := r.Bytes(v.Peak); ok && v.Complete {
			peaks = append(peaks, fmt.Sprintf("%s %s", ui.Plural(v.Instances, "instance"), size(float64(bytes))))
		}
	}
	if len(peaks) > 0 {
		p.line("peak while all instances execute batches of %d: %s", r.Batch, strings.Join(peaks, ", "))
	}
}

func (p *printer) capacity(r *analyzer.Result) {
	c := r.Capacity
	if c.Memory == 0 {
		return
	}
	usable := fmt.Sprintf("%s of %s (%s)", size(float64(c.Usable)), size(float64(c.Memory)), c.Origin)
	switch {
	case !c.Known:
		p.line("usable memory: %s", usable)
	case !c.Limited:
		p.line("fits: further instances took no measurable memory; usable: %s", usable)
	default:
		p.line("fits: %s in %s, at %s for each further one",
			ui.Plural(c.Instances, "instance"), usable, size(r.Fit.MaxPerInstance))
	}
}

func (p *printer) recommendation(r *analyzer.Result) {
	if r.Recommended < 0 {
		p.line("recommended: nothing; %s", r.Reason)
		return
	}
	pt := r.Points[r.Recommended]
	p.line("recommended: %s, batch %d, concurrency %d: %s inferences/s, p99 %s ms; %s",
		ui.Plural(pt.Instances, "instance"), pt.Batch, pt.Concurrency, fixed(pt.Throughput, 1), fixed(milliseconds(pt.P99), 2), r.Reason)
}
