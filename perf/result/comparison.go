package result

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/ui"
)

// ComparisonFormats are the forms of WriteComparison.
func ComparisonFormats() []string { return []string{"text", "json", "markdown", "junit"} }

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
	case "junit":
		return writeJUnit(w, c)
	}
	return fmt.Errorf("there is no format %q; the formats are %s", format, strings.Join(ComparisonFormats(), ", "))
}

// columns are those of the table: it fits 80 columns, so that the probabilities are only in JSON.
func columns(c *Comparison) []ui.Column {
	all := []ui.Column{
		{Title: "Load", Align: ui.Right},
		{Title: "Figure"},
		{Title: "A", Align: ui.Right},
		{Title: "B", Align: ui.Right},
		{Title: "Change in %", Align: ui.Right},
		{Title: "Verdict"},
	}
	if c.severalBatches() {
		all = slices.Insert(all, 0, ui.Column{Title: "Batch", Align: ui.Right})
	}
	return all
}

func (c *Comparison) severalBatches() bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.BatchSize != c.Differences[0].BatchSize })
}

func (c *Comparison) row(d *Difference) []string {
	figure := d.Figure + " us"
	if d.Figure == Throughput {
		figure = "infer/s"
	}
	change := percentNumber(d.Change)
	if d.Low != nil {
		change += " (" + intervalText(d) + ")"
	}
	cells := []string{strconv.FormatFloat(d.Load, 'f', -1, 64), figure, short(d.A), short(d.B), change, string(d.Verdict)}
	if c.severalBatches() {
		batch := "-"
		if d.BatchSize > 0 {
			batch = strconv.Itoa(d.BatchSize)
		}
		cells = slices.Insert(cells, 0, batch)
	}
	return cells
}

// short writes a figure with four digits or as a whole number.
func short(v float64) string {
	decimals := 0
	if v < 1000 {
		decimals = max(0, min(2, 3-int(math.Floor(math.Log10(max(v, 1))))))
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func (c *Comparison) rows() [][]string {
	var all [][]string
	for i := range c.Differences {
		all = append(all, c.row(&c.Differences[i]))
	}
	return all
}

// notes are below the table: what the columns mean, how sure the whole is, and what is remarkable about levels.
func (c *Comparison) notes() []string {
	load := "concurrency"
	if len(c.Differences) > 0 {
		load = strings.ReplaceAll(string(c.Differences[0].Mode), "_", " ")
	}
	all := []string{fmt.Sprintf("Load is the %s. Change is B relative to A, with its %g %% interval.", load, 100*(1-c.Significance))}
	counts := fmt.Sprintf("%d worse, %d better, %d same, %d unclear, %d without a verdict; changes up to %g %% count as the same.",
		c.Worse, c.Better, c.Same, c.Unclear, c.NoVerdict, 100*c.Threshold)
	all = append(all, counts)
	if c.Probability != nil {
		all = append(all, "Equal servers show a difference as clear as the clearest one here "+chance(*c.Probability)+".")
	}
	if c.Paired {
		all = append(all, "The repeats of A and B were measured in turn and are compared in pairs.")
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		if d.Note != "" && (i == 0 || c.Differences[i-1].Note != d.Note || c.Differences[i-1].Load != d.Load || c.Differences[i-1].BatchSize != d.BatchSize) {
			all = append(all, fmt.Sprintf("No verdict at %s: %s.", levelText(d.Mode, d.BatchSize, d.Load), d.Note))
		}
	}
	return append(all, c.Notes...)
}

// chance says how often something happens, from its probability.
func chance(p float64) string {
	switch {
	case p < 0.001:
		return "less than once in 1000 comparisons (p < 0.001)"
	case p > 0.5:
		return fmt.Sprintf("in most comparisons (p = %.2f)", p)
	}
	return fmt.Sprintf("in %.2g of 100 comparisons (p = %.2g)", 100*p, p)
}

func (c *Comparison) sides() string {
	if len(c.Differences) == 0 {
		return ""
	}
	runs := [2]int{}
	for i := range c.Differences {
		runs[0], runs[1] = max(runs[0], c.Differences[i].RunsA), max(runs[1], c.Differences[i].RunsB)
	}
	return fmt.Sprintf("A is %s (%s), B is %s (%s).", c.A, ui.Plural(runs[0], "run"), c.B, ui.Plural(runs[1], "run"))
}

func writeText(w io.Writer, c *Comparison) error {
	d := ui.Document{Columns: columns(c), Rows: c.rows(), Lead: []string{c.Headline}}
	if c.Next != "" {
		d.Lead = append(d.Lead, c.Next)
	}
	d.Lead = append(d.Lead, "", c.sides())
	for _, n := range c.notes() {
		d.Notes = append(d.Notes, "- "+n)
	}
	return ui.WriteText(w, d)
}

// writeMarkdown writes a comment for a pull request: the answer, the table, and the rest folded.
func writeMarkdown(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", ui.MarkdownText(c.Headline))
	if c.Next != "" {
		b.WriteString(" " + ui.MarkdownText(c.Next))
	}
	b.WriteString("\n\n")
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	var titles, rules []string
	for _, column := range columns(c) {
		titles = append(titles, column.Title)
		if column.Align == ui.Right {
			rules = append(rules, "--:")
		} else {
			rules = append(rules, "---")
		}
	}
	line(titles)
	line(rules)
	for i := range c.Differences {
		cells := c.row(&c.Differences[i])
		if last := len(cells) - 1; c.Differences[i].Verdict == Worse {
			cells[last] = "**" + cells[last] + "**"
		}
		line(cells)
	}
	b.WriteString("\n<details><summary>Details</summary>\n\n")
	for _, n := range append([]string{c.sides()}, c.notes()...) {
		fmt.Fprintf(&b, "- %s\n", ui.MarkdownText(n))
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
