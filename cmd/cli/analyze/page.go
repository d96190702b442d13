package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/report/page"
	"triton/pkg/ui"
)

// pageOf returns the page of an analysis: the answer with what changes in the configuration, why, the charts, and then
// the tables. Its words are those of the text.
func pageOf(r *memory.Result, program string) *page.Page {
	d := memory.Report(r)
	p := &page.Page{Title: "Analysis", Subtitle: "Model: " + r.Model, Program: program}
	for _, line := range d.Lead {
		p.Blocks = append(p.Blocks, answerBlock(p.Blocks, line)...)
	}
	if charts := chartsOf(r); len(charts) > 0 {
		p.Blocks = append(p.Blocks, page.Heading("Charts"), page.ChartText("Bars at points are 95 % intervals within the measurement."), charts)
	}
	m := memory.ServersReport(r)
	p.Blocks = append(p.Blocks, tableBlocks("Measurements", "Measurements that decide (*) and settings; → is the recommended one.", d)...)
	p.Blocks = append(p.Blocks, tableBlocks("Memory", "Most memory of servers.", m)...)
	return p
}

// tableBlocks returns a heading, the table of a document and its notes, as far as it has them.
func tableBlocks(heading, caption string, d ui.Document) []page.Block {
	if len(d.Rows)+len(d.Notes) == 0 {
		return nil
	}
	blocks := []page.Block{page.Heading(heading)}
	if len(d.Rows) > 0 {
		t := page.Table{Caption: caption}
		for _, c := range d.Columns {
			t.Columns = append(t.Columns, page.Column{Title: c.Title, Number: c.Align == ui.Right})
		}
		for _, row := range d.Rows {
			var cells []page.Text
			for _, cell := range row {
				cells = append(cells, page.Plain(cell))
			}
			t.Rows = append(t.Rows, cells)
		}
		blocks = append(blocks, t)
	}
	if len(d.Notes) > 0 {
		var list page.List
		for _, note := range d.Notes {
			list = append(list, page.Plain(note))
		}
		blocks = append(blocks, list)
	}
	return blocks
}

// answerBlock returns the block of a line of the answer, of which the part before the colon is bold. Changed lines of the
// configuration, which begin with two blanks, are one block; the last of the blocks so far grows.
func answerBlock(before []page.Block, line string) []page.Block {
	if change, ok := strings.CutPrefix(line, "  "); ok {
		if n := len(before); n > 0 {
			if code, ok := before[n-1].(page.Code); ok {
				before[n-1] = append(code, change)
				return nil
			}
		}
		return []page.Block{page.Code{change}}
	}
	if key, text, ok := strings.Cut(line, ":"); ok {
		return []page.Block{page.Paragraph(page.Mixed("", key+":", text))}
	}
	return []page.Block{page.Paragraph(page.Plain(line))}
}

// chartsOf returns throughput and latency by instances, and for each place its memory by instances.
func chartsOf(r *memory.Result) page.Charts {
	var recommended []page.Target
	if r.Recommended != nil {
		recommended = []page.Target{{Name: "recommended", Value: float64(r.Recommended.Instances), Vertical: true}}
	}
	throughput := page.Lines{Title: "Throughput by instances", X: "instances", Y: "inferences/s", Count: true, Targets: recommended}
	latency := page.Lines{Title: "p99 latency by instances", X: "instances", Y: "p99 latency, ms", Count: true, Targets: recommended}
	add := func(name string, points []memory.Point) {
		speed, wait := page.Series{Name: name}, page.Series{Name: name}
		for _, p := range points {
			x := float64(p.Instances)
			speed.Points = append(speed.Points, page.Point{X: x, Y: p.Throughput, Low: p.Low, High: p.High})
			wait.Points = append(wait.Points, page.Point{X: x, Y: float64(p.P99) / float64(time.Millisecond)})
		}
		speed.Points, wait.Points = page.Sorted(speed.Points), page.Sorted(wait.Points)
		throughput.Series, latency.Series = append(throughput.Series, speed), append(latency.Series, wait)
	}
	if deciding := r.Deciding(); len(deciding) > 0 {
		add("what decides: "+loadName(deciding[0].Load), deciding)
	}
	var loads []memory.Load
	of := map[memory.Load][]memory.Point{}
	for _, p := range r.Points {
		if p.Err != nil {
			continue
		}
		if of[p.Load] == nil {
			loads = append(loads, p.Load)
		}
		of[p.Load] = append(of[p.Load], p)
	}
	for _, load := range loads {
		add(loadName(load), of[load])
	}
	var charts page.Charts
	if len(throughput.Series) > 0 {
		charts = append(charts, page.Figure{Chart: &throughput, Caption: "What the settings gave"}, page.Figure{Chart: &latency, Caption: "What clients waited"})
	}
	for _, l := range r.Footprint.Limits {
		if f, ok := memoryChart(r, l, recommended); ok {
			charts = append(charts, f)
		}
	}
	return charts
}

func loadName(l memory.Load) string {
	return fmt.Sprintf("batch %d, %s in flight", l.Batch, ui.Plural(l.Concurrency, "request"))
}

// memoryChart draws the most memory of servers by instances, with what fits.
func memoryChart(r *memory.Result, l footprint.Limit, targets []page.Target) (page.Figure, bool) {
	name := string(l.Place)
	if n := r.Places[l.Place].Name; n != "" {
		name = n
	}
	peak := page.Series{Name: "most memory of a server"}
	for _, a := range r.Footprint.Anchors {
		if a.Failure == nil && !a.IsCurve() && a.Peak[l.Place] > 0 {
			peak.Points = append(peak.Points, page.Point{X: float64(a.Instances), Y: mib(float64(a.Peak[l.Place]))})
		}
	}
	if len(peak.Points) == 0 {
		return page.Figure{}, false
	}
	peak.Points = page.Sorted(peak.Points)
	c := &page.Lines{
		Title: "Memory by instances: " + name, X: "instances", Y: "MiB", Count: true, Series: []page.Series{peak},
		Targets: append(slices.Clone(targets), page.Target{Name: "usable", Value: mib(l.Bytes() + float64(l.Queued))}),
	}
	caption := "Memory is not what limits"
	if l.Costs {
		caption = "Memory holds " + ui.Plural(l.Instances, "instance")
	}
	return page.Figure{Chart: c, Caption: caption}, true
}
