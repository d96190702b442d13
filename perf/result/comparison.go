package result

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"triton/pkg/ui"
)

// ComparisonFormats are the forms of WriteComparison.
func ComparisonFormats() []string { return []string{"text", "json", "markdown"} }

// WriteComparison writes a comparison in one of the ComparisonFormats.
func WriteComparison(w io.Writer, c *Comparison, format string) error {
	switch format {
	case "text":
		return writeText(w, c)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		return e.Encode(c)
	case "markdown":
		return writeMarkdown(w, c)
	}
	return fmt.Errorf("there is no format %q; the formats are %s", format, strings.Join(ComparisonFormats(), ", "))
}

var titles = []string{"Batch", "Load", "Figure", "A", "B", "Change", "95 % interval", "p", "Verdict", "Note"}

func row(d *Difference) []string {
	interval, p := "-", "-"
	if d.Low != nil && d.High != nil {
		interval = percent(*d.Low) + " to " + percent(*d.High)
	}
	if d.Probability != nil {
		p = fmt.Sprintf("%.3f", *d.Probability)
		if *d.Probability < 0.001 {
			p = "<0.001"
		}
	}
	figure, format := d.Figure+" us", "%.1f"
	if d.Figure == Throughput {
		figure = "infer/s"
	}
	batch := "-"
	if d.BatchSize > 0 {
		batch = fmt.Sprint(d.BatchSize)
	}

	return []string{batch, fmt.Sprintf("%g", d.Load), figure, fmt.Sprintf(format, d.A), fmt.Sprintf(format, d.B), percent(d.Change), interval, p, string(d.Verdict), d.Note}
}

func percent(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }

// head returns the titles, with the confidence and the name of the load.
func head(c *Comparison) []string {
	all := append([]string(nil), titles...)
	all[1] = "Concurrency"
	if len(c.Differences) > 0 && c.Differences[0].Mode.Rate() {
		all[1] = "Request rate"
	}
	all[6] = fmt.Sprintf("%g %% interval", 100*(1-c.Significance))
	return all
}

func writeText(w io.Writer, c *Comparison) error {
	fmt.Fprintf(w, "A: %s\nB: %s\n", c.A, c.B)
	for _, n := range c.Notes {
		fmt.Fprintln(w, "Note:", n)
	}
	var columns []ui.Column
	for i, t := range head(c) {
		column := ui.Column{Title: t, Align: ui.Right}
		if i == 2 || i >= 8 {
			column.Align = ui.Left
		}
		columns = append(columns, column)
	}
	columns[6].Spare, columns[7].Spare = 1, 2
	var rows [][]string
	for i := range c.Differences {
		rows = append(rows, row(&c.Differences[i]))
	}
	if err := ui.Table(w, columns, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, summary(c))
	return err
}

// summary counts the verdicts.
func summary(c *Comparison) string {
	return fmt.Sprintf("%d worse, %d better, %d unclear of %s, by more than %g %%.",
		c.Worse, c.Better, c.Unclear, ui.Plural(len(c.Differences), "figure"), 100*c.Threshold)
}

func writeMarkdown(w io.Writer, c *Comparison) error {
	var b strings.Builder
	cell := func(s string) string {
		return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
	}
	fmt.Fprintf(&b, "A: %s, B: %s\n\n", cell(c.A), cell(c.B))
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "- %s\n", cell(n))
	}
	if len(c.Notes) > 0 {
		b.WriteString("\n")
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head(c))
	b.WriteString("|--:|--:|---|--:|--:|--:|--:|--:|---|---|\n")
	for i := range c.Differences {
		cells := row(&c.Differences[i])
		for k := range cells {
			cells[k] = cell(cells[k])
		}
		if c.Differences[i].Verdict == Worse {
			cells[8] = "**" + cells[8] + "**"
		}
		line(cells)
	}
	b.WriteString("\n" + summary(c) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}
