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
	load := ""
	if len(c.Differences) > 0 {
		load = loadName(c.Differences[0].Mode)
	}
	return []ui.Column{
		{Title: load, Align: ui.Right},
		{Title: "Figure"},
		{Title: "A", Align: ui.Right},
		{Title: "B", Align: ui.Right},
		{Title: "Change in %", Align: ui.Right},
		{Title: "Verdict"},
	}
}

func (c *Comparison) severalBatches() bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.BatchSize != c.Differences[0].BatchSize })
}

func (c *Comparison) row(d *Difference) []string {
	load := strconv.FormatFloat(d.Load, 'f', -1, 64)
	if c.severalBatches() && d.BatchSize > 0 {
		load += fmt.Sprintf(" (batch %d)", d.BatchSize)
	}
	figure := d.Figure + " us"
	if d.Figure == Throughput {
		figure = "infer/s"
	}
	return []string{load, figure, short(d.A), short(d.B), changeText(d), string(d.Verdict)}
}

// changeText is a change in percent with its interval, such as -10 (-13 to -8.0).
func changeText(d *Difference) string {
	if d.Low == nil {
		return percentNumber(d.Change)
	}
	return percentNumber(d.Change) + " (" + intervalText(d) + ")"
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

// notes are below the table: what decides, how sure the whole is, and what is remarkable about levels.
func (c *Comparison) notes() []string {
	all := []string{
		fmt.Sprintf("Change is B relative to A, with an interval. All intervals hold together with %g %%: they are corrected for the number of tests, %d.", 100*(1-c.Significance), c.Tests),
		c.rule(),
		c.counts(),
	}
	if c.Probability != nil {
		all = append(all, fmt.Sprintf("How sure: comparing equal servers shows a difference in any row in about %g of 100 comparisons; one as clear as the clearest row here %s.",
			100*c.Significance, chance(*c.Probability)))
	}
	if c.Probability != nil && c.paceUnknown {
		all = append(all, "That holds if the machine was as fast for A as for B, which these results do not say: measure both with --repeat 5 or more, or with --live.")
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

// rule says how an interval decides.
func (c *Comparison) rule() string {
	limit := fmt.Sprintf("%g %%", 100*c.Threshold)
	small := ""
	if c.Small > 0 {
		small = "small, if it excludes 0 and the change is not; "
	}
	return "The interval decides each row: same, if all of it is within " + limit + "; better or worse, if it excludes 0 and the change is beyond " + limit +
		"; " + small + "else undecided."
}

// counts says how many figures have each verdict.
func (c *Comparison) counts() string {
	text := fmt.Sprintf("%d worse, %d better, %d same, ", c.Worse, c.Better, c.Same)
	if c.Small > 0 {
		text += fmt.Sprintf("%d small, ", c.Small)
	}
	return text + fmt.Sprintf("%d undecided, %d without a verdict.", c.Undecided, c.NoVerdict)
}

// chance says how often something happens, from its probability.
func chance(p float64) string {
	switch {
	case p < 0.001:
		return "less than once in 1000 comparisons (p < 0.001)"
	case p > 0.5:
		return fmt.Sprintf("in most comparisons (p = %.2f)", p)
	}
	return fmt.Sprintf("in %.3g of 100 comparisons (p = %.3g)", 100*p, p)
}

func (c *Comparison) sides() string {
	if len(c.Differences) == 0 {
		return ""
	}
	runs := [2]int{}
	for i := range c.Differences {
		runs[0], runs[1] = max(runs[0], c.Differences[i].RunsA), max(runs[1], c.Differences[i].RunsB)
	}
	role := "the baseline, "
	if c.Paired {
		role = ""
	}
	return fmt.Sprintf("A is %s (%s%s), B is %s (%s).", c.A, role, ui.Plural(runs[0], "run"), c.B, ui.Plural(runs[1], "run"))
}

func writeText(w io.Writer, c *Comparison) error {
	d := ui.Document{Columns: columns(c), Rows: c.rows(), Lead: []string{c.Headline}}
	for _, text := range []string{c.Next, c.Gate} {
		if text != "" {
			d.Lead = append(d.Lead, text)
		}
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
	for _, text := range []string{c.Next, c.Gate} {
		if text != "" {
			b.WriteString("\n\n" + ui.MarkdownText(text))
		}
	}
	b.WriteString("\n\n")
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	if sides := c.sides(); sides != "" {
		b.WriteString(ui.MarkdownText(sides) + "\n\n")
	}
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
	for _, n := range c.notes() {
		fmt.Fprintf(&b, "- %s\n", ui.MarkdownText(n))
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
