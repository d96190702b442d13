package memory

import (
	"fmt"
	"slices"

	"triton/analyzer/memory/footprint"
	"triton/pkg/ui"
)

// printer collects lines.
type printer struct {
	r     *Result
	lines []string
}

func (p *printer) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// nameOf returns the name of a place for people.
func nameOf(r *Result, place footprint.Place) string {
	if n := r.Places[place].Name; n != "" {
		return n
	}
	return string(place)
}

// ServersReport is the table of what was read of the memory of servers, with a column for each place.
func ServersReport(r *Result) ui.Document {
	p := printer{r: r}
	f := r.Footprint
	if len(f.Limits) == 0 {
		if len(f.Anchors) > 0 {
			p.line("memory: could not be read on this system")
		}
		return ui.Document{Notes: p.lines}
	}
	d := ui.Document{Title: "Memory", Columns: []ui.Column{{Title: "Server"}}}
	for _, l := range f.Limits {
		d.Columns = append(d.Columns, ui.Column{Title: nameOf(r, l.Place), Align: ui.Right})
		p.law(l)
		p.capacity(l)
	}
	d.Rows = p.readings()
	if len(r.Host) > 0 {
		p.line("host memory is anonymous and shared memory of the processes; not counted: %s of files that only they map, which the kernel can drop",
			sizeText(float64(r.Host[0].Files)))
	}
	d.Notes = p.lines
	return d
}

// readings returns the rows of the table: servers in the order of their work, and what each instance adds.
func (p *printer) readings() (rows [][]string) {
	row := func(title string, value func(l footprint.Limit) string) {
		cells, known := []string{title}, false
		for _, l := range p.r.Footprint.Limits {
			cells = append(cells, value(l))
			known = known || cells[len(cells)-1] != ""
		}
		if known {
			rows = append(rows, cells)
		}
	}
	of := func(m footprint.Reading) func(l footprint.Limit) string {
		return func(l footprint.Limit) string { return knownSize(m[l.Place]) }
	}
	row("without models", of(p.r.Footprint.Base))
	if first := p.first(); first != nil {
		name := ui.Plural(first.Instances, "instance")
		row(name+", loaded", of(first.Loaded))
		row(name+", after the first executions", of(first.Warm))
		for _, b := range first.Batches[:max(0, len(first.Batches)-1)] {
			row(fmt.Sprintf("%s, batches of %d", name, b.Batch), of(b.Peak))
		}
	}
	counts := p.counts()
	for _, count := range counts {
		row(fmt.Sprintf("%s, batches of %d", ui.Plural(count, "instance"), p.r.Batch),
			func(l footprint.Limit) string { return knownSize(p.most(l.Place, count)) })
	}
	if rec := p.r.Recommended; rec != nil {
		row(ui.Plural(rec.Instances, "instance")+", under all loads",
			func(l footprint.Limit) string { return knownSize(p.mostOfAll(l.Place, rec.Instances)) })
	}
	row("each further instance", func(l footprint.Limit) string { return p.each(l, counts) })
	return rows
}

// knownSize returns a size, or nothing for none.
func knownSize(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return sizeText(float64(bytes))
}

// each returns what an instance adds: by the law or, without one, from the smallest to the largest count.
func (p *printer) each(l footprint.Limit, counts []int) string {
	switch f := l.Law; {
	case f != nil && !l.Costs:
		return "less than noise"
	case f != nil:
		return sizeText(f.PerInstance.Value)
	case len(counts) < 2:
		return ""
	}
	least, most := counts[0], counts[len(counts)-1]
	grown := float64(p.most(l.Place, most)) - float64(p.most(l.Place, least))
	return "about " + sizeText(max(0, grown)/float64(most-least))
}

// counts returns the counts that were run, in rising order.
func (p *printer) counts() (all []int) {
	for _, a := range p.r.Footprint.Anchors {
		if a.Failure == nil && !a.IsCurve() {
			all = append(all, a.Instances)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// first returns the first server that was measured.
func (p *printer) first() *footprint.Anchor {
	for i, a := range p.r.Footprint.Anchors {
		if a.Failure == nil {
			return &p.r.Footprint.Anchors[i]
		}
	}
	return nil
}

// law says how sure it is what an instance takes.
func (p *printer) law(l footprint.Limit) {
	switch f := l.Law; {
	case f == nil:
	case !l.Costs:
		p.line("%s: an instance takes %s (95 %% interval %s to %s), not more than the noise of %s, so memory is not what limits", nameOf(p.r, l.Place),
			sizeText(f.PerInstance.Value), sizeText(f.PerInstance.Low), sizeText(f.PerInstance.High), sizeText(f.Noise))
	default:
		more := ""
		if f.SuperLinear {
			more = "; those of the larger counts took more than the first ones"
		}
		p.line("%s: an instance takes %s (95 %% interval %s to %s), the rest of the server %s (%s to %s), by %s at most %s off that line%s", nameOf(p.r, l.Place),
			sizeText(f.PerInstance.Value), sizeText(f.PerInstance.Low), sizeText(f.PerInstance.High),
			sizeText(f.Base.Value), sizeText(f.Base.Low), sizeText(f.Base.High), ui.Plural(len(f.Points), "server"), sizeText(f.Residual), more)
	}
}

func (p *printer) capacity(l footprint.Limit) {
	usable := fmt.Sprintf("%s of %s (%s)", sizeText(l.Bytes()), sizeText(l.Bytes()+float64(l.Headroom+l.Queued)), l.Room.Origin)
	if l.Queued > 0 {
		usable += fmt.Sprintf(", %s of it for requests that wait", sizeText(float64(l.Queued)))
	}
	a, name := p.r.Footprint.Answer, nameOf(p.r, l.Place)
	switch {
	case l.Shortfall > 0:
		p.line("%s: not even the smallest server fits; %s are missing in %s", name, sizeText(float64(l.Shortfall)), usable)
	case !l.Costs:
		p.line("%s: usable are %s", name, usable)
	case l.Law == nil && a.MemoryStatus == footprint.Predicted && !a.UsefulKnown:
		p.line("%s: at least the %s that ran fit, in %s", name, ui.Plural(l.Instances, "instance"), usable)
	case a.UsefulKnown && l.Instances > a.Useful:
		p.line("%s: not what limits; usable are %s", name, usable)
	default:
		p.line("%s: holds %s in %s", name, ui.Plural(l.Instances, "instance"), usable)
	}
}

// most returns the most memory that servers with a number of instances had at a place while all of them executed the
// largest batches; 0 if none was run.
func (p *printer) most(place footprint.Place, instances int) uint64 {
	return p.highest(place, instances, func(a footprint.Anchor) footprint.Reading { return a.Peak })
}

// mostOfAll returns the most memory that servers with a number of instances had at all.
func (p *printer) mostOfAll(place footprint.Place, instances int) uint64 {
	return max(p.most(place, instances), p.highest(place, instances, func(a footprint.Anchor) footprint.Reading { return a.Worked }))
}

func (p *printer) highest(place footprint.Place, instances int, of func(footprint.Anchor) footprint.Reading) (bytes uint64) {
	for _, a := range p.r.Footprint.Anchors {
		if a.Failure == nil && !a.IsCurve() && a.Instances == instances {
			bytes = max(bytes, of(a)[place])
		}
	}
	return bytes
}
