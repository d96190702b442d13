package result

import (
	_ "embed" // the controls of the charts
	"strconv"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"triton/pkg/ui"
)

// The script fills the charts and their controls.
//
//go:embed charts.html
var chartsHTML string

func runsHTML(runs []runView) g.Node {
	var rows []g.Node
	for i := range runs {
		r := &runs[i]
		rows = append(rows, html.Tr(ui.PageRowHead(g.Text(r.Name)),
			ui.PageCells(r.Model, r.Measured, r.Program, r.Machine, r.Settings)))
	}
	return html.Section(ui.PageLines(
		html.H2(html.ID("runs"), g.Text("Runs")),
		scrollTable("Runs", ui.PageHeads("Run", "Model", "Measured", "By", "Client machine", "Settings"), rows),
	))
}

func scrollTable(label string, heads g.Node, rows []g.Node) g.Node {
	return ui.PageScroll("scroll", label, ui.PageTable(heads, rows))
}

func runHTML(r runView) g.Node {
	if len(r.Levels) == 0 {
		return html.Section(ui.PageLines(html.H2(g.Text(r.Name)), html.P(g.Text("No level was measured."))))
	}
	parts := []g.Node{html.H2(g.Text(r.Name)), html.H3(g.Text("Throughput and latency"))}
	if r.HasRepeats {
		parts = append(parts, r.latencies("Means of repeats, "+r.Name, "Repeats", r.Means),
			collapsed("Throughput and latency of each repeat: table", r.latencies("Throughput and latency of each repeat, "+r.Name, "Repeat", r.Levels)))
	} else {
		parts = append(parts, r.latencies("Throughput and latency, "+r.Name, "", r.Levels))
	}
	if r.HasServer {
		parts = append(parts, html.H3(g.Text("Where the time of a request goes")), r.legend(), r.server())
	}
	if r.HasBatches {
		parts = append(parts, html.H3(g.Text("Batch sizes that the server executed")), r.batches())
	}
	return html.Section(ui.PageLines(append(parts,
		collapsed("Latency over time: table", r.moments()),
		collapsed("Distribution of latencies: table", r.buckets()))...))
}

func collapsed(summary string, content g.Node) g.Node {
	return html.Details(ui.PageLines(html.Summary(g.Text(summary)), content))
}

// heads are the column heads of a table with a row for each level, or more.
func (r *runView) heads(titles ...string) g.Node { return r.headsOf("Repeat", titles...) }

// headsOf has another title for the column of the repeats.
func (r *runView) headsOf(repeat string, titles ...string) g.Node {
	first := []string{"Batch size", r.LoadName}
	if r.HasRepeats {
		first = append(first, repeat)
	}
	return ui.PageHeads(append(first, titles...)...)
}

// row begins with the batch size, the load and the repeat of a level.
func (l *levelView) row(cells ...g.Node) g.Node {
	first := []g.Node{html.Td(g.Text(l.Batch)), ui.PageRowHead(g.Text(l.Load))}
	if l.Repeat != "" {
		first = append(first, html.Td(g.Text(l.Repeat)))
	}
	return html.Tr(append(first, cells...)...)
}

// eachLevel returns the rows of all levels.
func (r *runView) eachLevel(rows func(l *levelView) []g.Node) []g.Node {
	var all []g.Node
	for i := range r.Levels {
		all = append(all, rows(&r.Levels[i])...)
	}
	return all
}

func (r *runView) percentileTitles(before ...string) []string {
	for _, p := range r.Percentiles {
		before = append(before, "p"+p)
	}
	return before
}

func (r *runView) latencies(label, repeat string, levels []levelView) g.Node {
	heads := r.headsOf(repeat, append(r.percentileTitles("Inferences/s", "95 % interval", "Requests", "Average"), "Grade", "Note")...)
	rows := make([]g.Node, len(levels))
	for i := range levels {
		l := &levels[i]
		rows[i] = l.row(g.Group{
			ui.PageCells(l.Throughput, l.Range, strconv.Itoa(l.Requests), l.Avg),
			g.Map(l.Percentiles, percentileHTML),
			html.Td(html.Class("text"), g.Text(l.Grade)), html.Td(html.Class("text"), g.Text(l.Note)),
		})
	}
	return scrollTable(label, heads, rows)
}

func percentileHTML(p percentileView) g.Node {
	if !p.Few {
		return html.Td(g.Text(p.Text))
	}
	return html.Td(html.Class("few"), html.Title("too few requests for this percentile"),
		g.Text(p.Text), html.Span(html.Class("note"), g.Text(" (few)")))
}

func (r *runView) legend() g.Node {
	return html.P(html.Class("legend"), g.Map(r.Parts, func(p part) g.Node {
		return g.Group{html.Span(html.I(p.class(), html.Aria("hidden", "true")), g.Text(p.Name)), g.Text(" ")}
	}))
}

func (p part) class() g.Node { return html.Class("part" + strconv.Itoa(p.Class)) }

func (r *runView) server() g.Node {
	titles := make([]string, 0, len(r.Parts)+1)
	for _, p := range r.Parts {
		titles = append(titles, p.Name)
	}
	return scrollTable("Where the time of a request goes, "+r.Name, r.heads(append(titles, "Shares")...), r.eachLevel(func(l *levelView) []g.Node {
		if len(l.Parts) == 0 {
			return nil
		}
		return []g.Node{l.row(
			g.Map(l.Parts, func(p part) g.Node { return html.Td(g.Text(p.Text)) }),
			html.Td(html.Span(html.Class("bar"), html.Aria("hidden", "true"), g.Map(l.Parts, func(p part) g.Node { return html.I(p.class(), widthStyle(p.Percent)) }))),
		)}
	}))
}

// widthStyle is the length of a bar.
func widthStyle(percent string) g.Node { return html.Style("width:" + percent + "%") }

func (r *runView) batches() g.Node {
	heads := r.heads("Executed", "Executions", "Share", "Compute")
	return scrollTable("Batch sizes that the server executed, "+r.Name, heads, r.eachLevel(func(l *levelView) []g.Node {
		return g.Map(l.Executed, func(e executedView) g.Node {
			bar := html.Span(html.Class("bar"), html.Aria("hidden", "true"), html.I(html.Class("part0"), widthStyle(e.Percent)))
			return l.row(ui.PageCells(strconv.FormatUint(e.Size, 10), strconv.FormatUint(e.Executions, 10)),
				html.Td(html.Class("share"), bar, g.Text(" "+e.Percent+" %")), ui.PageCells(e.Compute))
		})
	}))
}

func (r *runView) moments() g.Node {
	heads := r.heads(r.percentileTitles("From s", "For s", "Requests", "Average")...)
	return scrollTable("Latency over time, "+r.Name, heads, r.eachLevel(func(l *levelView) []g.Node {
		return g.Map(l.Moments, func(m momentView) g.Node {
			return l.row(ui.PageCells(m.Start, m.Duration, strconv.Itoa(m.Requests), m.Avg), ui.PageCells(m.Percentiles...))
		})
	}))
}

func (r *runView) buckets() g.Node {
	return scrollTable("Distribution of latencies, "+r.Name, r.heads("From", "To", "Requests"), r.eachLevel(func(l *levelView) []g.Node {
		return g.Map(l.Buckets, func(b bucketView) g.Node {
			return l.row(ui.PageCells(b.Low, b.High, strconv.FormatUint(b.Count, 10)))
		})
	}))
}
