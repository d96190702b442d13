package result

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"triton/pkg/ui"
)

// answerHTML is the beginning of the page: the most that each run reached, and of two runs which one is better.
func answerHTML(runs []Run, u unit) g.Node {
	var lines []g.Node
	for i := range runs {
		name := ""
		if len(runs) > 1 {
			name = runs[i].Name + ": "
		}
		lines = append(lines, html.Li(g.Text(name), html.Strong(g.Text(mostText(&runs[i]))), g.Text(together(sureText(&runs[i], u)))))
	}
	parts := []g.Node{html.H2(g.Text("Result"))}
	if len(runs) == 2 {
		parts = append(parts, differenceHTML(runs[0], runs[1])...)
	}
	parts = append(parts, html.Ul(ui.PageLines(lines...)),
		html.P(html.Class("soft"), g.Text("A grade says how far a figure can be trusted: A to C are narrow intervals, D is a wide one, E is not stable, and with F the client or failed requests spoil it.")))
	return html.Section(ui.PageLines(parts...))
}

// most returns the level with the highest throughput, of those that count if there are some; nil without levels.
func most(r *Run) *meanLevel {
	var best *meanLevel
	for _, l := range r.File.means() {
		if l.Requests == 0 {
			continue
		}
		if best == nil || best.Problem != "" && l.Problem == "" || (best.Problem == "") == (l.Problem == "") && l.Throughput > best.Throughput {
			best = &l
		}
	}
	return best
}

func mostText(r *Run) string {
	l := most(r)
	if l == nil {
		return "no level was measured"
	}
	return significant(l.Throughput) + " inferences/s"
}

// sureText says how sure the highest throughput is, and where it was reached.
func sureText(r *Run, u unit) string {
	l := most(r)
	if l == nil {
		return ""
	}
	var b strings.Builder
	if i := l.ThroughputInterval; i != nil && i.High != nil {
		fmt.Fprintf(&b, " (95 %% interval %s)", rangeText(i, 1))
	}
	batch := 0
	if len(batchSizes(r.File.Levels)) > 1 {
		batch = l.BatchSize
	}
	m := r.File.Settings.Mode
	if m == FixedSchedule || m == Intervals {
		fmt.Fprintf(&b, " with the %s", loadText(m, &l.Level))
	} else {
		fmt.Fprintf(&b, " at %s", levelText(m, batch, l.Load))
	}
	if us, ok := l.Latency.Us(99); ok {
		fmt.Fprintf(&b, ", p99 %s %s", u.text(us), u.Short)
	} else {
		fmt.Fprintf(&b, ", average %s %s", u.text(l.Latency.AvgUs), u.Short)
	}
	if l.Grade != "" {
		fmt.Fprintf(&b, ", grade %s", l.Grade)
	}
	if l.repeats > 1 {
		fmt.Fprintf(&b, ", mean of %d repeats", l.repeats)
	}
	if note := noteOf(&l.Level); note != "" {
		b.WriteString(": " + note)
	}
	return b.String()
}

// together keeps numbers and their units on one line.
func together(text string) string {
	for _, unit := range []string{"%", "µs", "ms", "s,"} {
		text = strings.ReplaceAll(text, " "+unit, "\u00a0"+unit)
	}
	return text
}

// rangeText is an interval in a unit; - if it is not known.
func rangeText(i *Interval, unit float64) string {
	if i == nil || i.High == nil {
		return "-"
	}
	return significant(i.Low/unit) + " to " + significant(*i.High/unit)
}

// differenceHTML compares two runs as `triton perf compare` does.
func differenceHTML(a, b Run) []g.Node {
	c, err := Compare(Side{a.Name, []Run{a}}, Side{b.Name, []Run{b}}, DefaultCompareOptions())
	if err != nil {
		return []g.Node{html.P(g.Text("The two runs are not compared: " + err.Error() + "."))}
	}
	answer := []g.Node{html.Strong(g.Text(together(c.Headline)))}
	if c.Next != "" {
		answer = append(answer, g.Text(" "+together(c.Next)))
	}
	var heads g.Group
	all := columns(c)
	text := func(i int) g.Node { return g.If(all[i].Align == ui.Left, html.Class("text")) }
	for i, column := range all {
		heads = append(heads, ui.PageColumnHead(text(i), g.Text(column.Title)))
	}
	var rows []g.Node
	for k, row := range c.rows() {
		var cells g.Group
		for i, cell := range row {
			if last := i == len(row)-1; last && c.Differences[k].Verdict == Worse {
				cells = append(cells, html.Td(text(i), html.Strong(g.Text(cell))))
			} else {
				cells = append(cells, html.Td(text(i), g.Text(cell)))
			}
		}
		rows = append(rows, html.Tr(cells))
	}
	notes := g.Map(c.notes(), func(s string) g.Node { return html.Li(g.Text(together(s))) })
	return []g.Node{
		html.P(answer...),
		html.P(g.Text(c.sides())),
		scrollTable("Difference of the two runs", heads, rows),
		collapsed("How the runs are compared", html.Ul(ui.PageLines(notes...))),
	}
}
