package memory

import (
	"io"
	"slices"
	"strconv"

	"triton/pkg/ui"
)

// WriteText prints the answer, the settings as a table, and what was read of the memory as another. The lines fit
// the terminal.
func WriteText(w io.Writer, r *Result) error {
	d := Report(r)
	if err := ui.WriteLines(w, d.Lead); err != nil {
		return err
	}
	for _, part := range []ui.Document{{Columns: d.Columns, Rows: d.Rows, Notes: d.Notes}, ServersReport(r)} {
		if err := writePart(w, part); err != nil {
			return err
		}
	}
	return nil
}

// writePart prints a table with its title and its notes, if there is anything to print.
func writePart(w io.Writer, d ui.Document) error {
	head := []string{""}
	if d.Title != "" {
		head = append(head, d.Title)
	}
	if len(d.Rows) > 0 {
		if err := ui.WriteLines(w, head); err != nil {
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
		if err := ui.WriteLines(w, p.lines); err != nil {
			return err
		}
		if err := writePart(w, ServersReport(r)); err != nil {
			return err
		}
		p.lines = nil
		for _, text := range slices.Concat(r.Footprint.Answer.Doubts, r.Warnings) {
			p.line("note: %s", text)
		}
		if err := ui.WriteLines(w, p.lines); err != nil {
			return err
		}
	}
	return nil
}

// WriteMarkdown prints the answer, the tables and their notes as Markdown.
func WriteMarkdown(w io.Writer, r *Result) error {
	if err := ui.WriteMarkdown(w, Report(r)); err != nil {
		return err
	}
	m := ServersReport(r)
	if len(m.Rows)+len(m.Notes) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return ui.WriteMarkdown(w, m)
}

// Report is the table of the measurements that decide and of the settings, with the answer above.
func Report(r *Result) ui.Document {
	var columns []ui.Column
	for _, title := range []string{"Instances", "Batch", "Concurrency", "Servers", "Throughput/s", "p50 ms", "p99 ms"} {
		spare := map[string]int{"p50 ms": 2, "Servers": 1}[title]
		columns = append(columns, ui.Column{Title: title, Align: ui.Right, Spare: spare})
	}
	var rows [][]string
	servers := map[int]int{}
	for _, c := range r.Footprint.Answer.Choice.Counts {
		servers[c.Instances] = c.Servers
	}
	for _, p := range r.Deciding() {
		rows = append(rows, settingRow(p, "* ", isRecommended(r, p), servers[p.Instances]))
	}
	for _, p := range r.Points {
		if _, is := decides(r, p); !is {
			rows = append(rows, settingRow(p, "", isRecommended(r, p), 1))
		}
	}
	return ui.Document{Title: "Analysis of model " + r.Model, Lead: answerLines(r), Columns: columns, Rows: rows, Notes: notes(r)}
}

func settingRow(p Point, mark string, recommended bool, servers int) []string {
	if recommended {
		mark = "→ " + mark
	}
	cells := []string{mark + strconv.Itoa(p.Instances), strconv.Itoa(p.Batch), strconv.Itoa(p.Concurrency), strconv.Itoa(servers)}
	if p.Err != nil {
		return append(cells, "failed", "", "")
	}
	throughput := decimal(p.Throughput, 1)
	if !p.Stable {
		throughput = "~" + throughput
	}
	return append(cells, throughput, decimal(milliseconds(p.P50), 2), decimal(milliseconds(p.P99), 2))
}

func isRecommended(r *Result, p Point) bool {
	best := recommendedPoint(r)
	return best != nil && best.Instances == p.Instances && best.Load == p.Load
}

// notes returns the lines below the table.
func notes(r *Result) []string {
	p := printer{r: r}
	if len(r.Deciding()) > 0 {
		p.line("* decides between instance counts: the mean of the servers. The others are your settings, measured once")
	}
	unstable := slices.ContainsFunc(r.Deciding(), func(p Point) bool { return !p.Stable })
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
