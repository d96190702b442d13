package memory

import (
	"io"
	"slices"
	"strconv"

	"triton/pkg/ui"
)

// WriteText prints the answer, the settings as a table, and below it what was read of the memory. The lines fit
// the terminal.
func WriteText(w io.Writer, r *Result) error {
	d := Report(r)
	if err := ui.WriteLines(w, d.Lead); err != nil {
		return err
	}
	if len(d.Rows) > 0 {
		if err := ui.WriteLine(w, ""); err != nil {
			return err
		}
		if err := ui.Table(w, d.Columns, d.Rows); err != nil {
			return err
		}
	}
	return ui.WriteLines(w, d.Notes)
}

// WriteMemory prints what was found of the memory of models.
func WriteMemory(w io.Writer, results []*Result) error {
	for _, r := range results {
		p := printer{r: r}
		p.line("model %s", r.Model)
		p.failures()
		p.memory()
		for _, text := range slices.Concat(r.Footprint.Answer.Doubts, r.Warnings) {
			p.line("note: %s", text)
		}
		if err := ui.WriteLines(w, p.lines); err != nil {
			return err
		}
	}
	return nil
}

// WriteMarkdown prints the answer, the table and what was read as Markdown.
func WriteMarkdown(w io.Writer, r *Result) error { return ui.WriteMarkdown(w, Report(r)) }

// Report is the table of the settings, with the answer above and what was read below.
func Report(r *Result) ui.Document {
	var columns []ui.Column
	for _, title := range []string{"Instances", "Batch", "Concurrency", "Throughput/s", "p50 ms", "p99 ms", "Memory"} {
		spare := map[string]int{"p50 ms": 2, "Memory": 1}[title]
		columns = append(columns, ui.Column{Title: title, Align: ui.Right, Spare: spare})
	}
	var rows [][]string
	for i := range r.Points {
		rows = append(rows, settingRow(r, i))
	}
	return ui.Document{Title: "Analysis of model " + r.Model, Lead: answerLines(r), Columns: columns, Rows: rows, Notes: notes(r)}
}

func settingRow(r *Result, i int) []string {
	p, mark := r.Points[i], ""
	if isRecommended(r, i) {
		mark = "→ "
	}
	cells := []string{mark + strconv.Itoa(p.Instances), strconv.Itoa(p.Batch), strconv.Itoa(p.Concurrency)}
	if p.Err != nil {
		return append(cells, "failed", "", "", "")
	}
	throughput := decimal(p.Throughput, 1)
	if !p.Stable {
		throughput = "~" + throughput
	}
	return append(cells, throughput, decimal(milliseconds(p.P50), 2), decimal(milliseconds(p.P99), 2), readingText(r, p.Memory))
}

func isRecommended(r *Result, i int) bool {
	return r.Recommended != nil && r.Recommended.Point != nil && r.Recommended.Point.Instances == r.Points[i].Instances &&
		r.Recommended.Point.Load == r.Points[i].Load
}

// notes returns the lines below the table.
func notes(r *Result) []string {
	p := printer{r: r}
	unstable := false
	for _, pt := range r.Points {
		if pt.Err != nil {
			p.line("failed: instances %d, batch %d, concurrency %d: %v", pt.Instances, pt.Batch, pt.Concurrency, pt.Err)
		}
		unstable = unstable || pt.Err == nil && !pt.Stable
	}
	if unstable {
		p.line("~ not stable within the allowed number of windows")
	}
	p.failures()
	p.memory()
	for _, text := range r.Warnings {
		p.line("note: %s", text)
	}
	return p.lines
}

// failures prints why servers failed.
func (p *printer) failures() {
	for _, a := range p.r.Footprint.Anchors {
		if a.Failure != nil && !p.r.Interrupted {
			p.line("failed: instance count %d: %v", a.Instances, a.Failure)
		}
	}
}
