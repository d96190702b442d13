package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// readingText returns a reading of all places; that of the host first.
func readingText(r *Result, m footprint.Reading) string {
	if len(m) == 0 {
		return "?"
	}
	var parts []string
	for _, place := range slices.Sorted(maps.Keys(m)) {
		text := sizeText(float64(m[place]))
		if len(m) > 1 {
			text += " " + shortPlace(place)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// shortPlace returns a place in few characters.
func shortPlace(place footprint.Place) string {
	if place == footprint.Host {
		return "host"
	}
	return string(place[:min(len(place), 8)])
}

// memory prints, for each place, what was read and what it means.
func (p *printer) memory() {
	f := p.r.Footprint
	if len(f.Limits) == 0 {
		if len(f.Anchors) > 0 {
			p.line("memory: could not be read on this system")
		}
		return
	}
	for _, l := range f.Limits {
		p.readings(l)
		p.law(l)
		p.capacity(l)
	}
	if last := len(p.r.Host) - 1; last >= 0 {
		h := p.r.Host[0]
		p.line("host memory of 1 server with %s: %s anonymous, %s shared; not counted: %s of files that only it maps, which the kernel can drop",
			ui.Plural(h.Instances, "instance"), sizeText(float64(h.Anonymous)), sizeText(float64(h.Shared)), sizeText(float64(h.Files)))
	}
}

// readings prints the most memory of each server while all its instances executed.
func (p *printer) readings(l footprint.Limit) {
	var peaks []string
	for _, a := range p.r.Footprint.Anchors {
		if a.Failure == nil && !a.IsCurve() {
			peaks = append(peaks, fmt.Sprintf("%d: %s", a.Instances, sizeText(float64(a.Peak[l.Place]))))
		}
	}
	base := ""
	if bytes, ok := p.r.Footprint.Base[l.Place]; ok {
		base = "server without models " + sizeText(float64(bytes)) + "; "
	}
	p.line("%s: %speak while all instances execute batches of %d, by instances: %s",
		nameOf(p.r, l.Place), base, p.r.Batch, strings.Join(peaks, ", "))
	if first := p.first(); first != nil {
		p.line("  first server: loaded %s, after the first executions %s, peak %s, 2 s after the load %s",
			sizeText(float64(first.Loaded[l.Place])), sizeText(float64(first.Warm[l.Place])), sizeText(float64(first.Peak[l.Place])), sizeText(float64(first.Retained[l.Place])))
		if text := batchText(first, l.Place); text != "" {
			p.line("  peak by batch size: %s", text)
		}
	}
}

// first returns the first server that was measured with all batches.
func (p *printer) first() *footprint.Anchor {
	for i, a := range p.r.Footprint.Anchors {
		if a.Failure == nil {
			return &p.r.Footprint.Anchors[i]
		}
	}
	return nil
}

func batchText(a *footprint.Anchor, place footprint.Place) string {
	if len(a.Batches) < 2 {
		return ""
	}
	var parts []string
	for _, b := range a.Batches {
		parts = append(parts, fmt.Sprintf("%d: %s", b.Batch, sizeText(float64(b.Peak[place]))))
	}
	first, last := a.Batches[0], a.Batches[len(a.Batches)-1]
	each := (float64(last.Peak[place]) - float64(first.Peak[place])) / float64(last.Batch-first.Batch)
	return strings.Join(parts, ", ") + fmt.Sprintf("; %s for each further item", sizeText(each))
}

func (p *printer) law(l footprint.Limit) {
	switch f := l.Law; {
	case f == nil:
		p.line("  what each instance takes is not known: that needs three instance counts and a repeat")
	case !l.Costs:
		p.line("  an instance takes %s (%s to %s): not more than the noise of %s, so memory is not what limits",
			sizeText(f.PerInstance.Value), sizeText(f.PerInstance.Low), sizeText(f.PerInstance.High), sizeText(f.Noise))
	default:
		more := ""
		if f.SuperLinear {
			more = "; those of the larger counts took more than the first ones"
		}
		p.line("  each instance takes %s (%s to %s), the server with what instances share %s (%s to %s)%s",
			sizeText(f.PerInstance.Value), sizeText(f.PerInstance.Low), sizeText(f.PerInstance.High),
			sizeText(f.Base.Value), sizeText(f.Base.Low), sizeText(f.Base.High), more)
		p.line("  %d servers, at most %s off that line, noise %s", len(f.Points), sizeText(f.Residual), sizeText(f.Noise))
	}
}

func (p *printer) capacity(l footprint.Limit) {
	usable := fmt.Sprintf("%s of %s (%s)", sizeText(l.Bytes()), sizeText(l.Bytes()+float64(l.Headroom+l.Queued)), l.Room.Origin)
	if l.Queued > 0 {
		usable += fmt.Sprintf(", %s of it for requests that wait", sizeText(float64(l.Queued)))
	}
	a := p.r.Footprint.Answer
	switch {
	case l.Shortfall > 0:
		p.line("  fits: not even the smallest server; %s are missing in %s", sizeText(float64(l.Shortfall)), usable)
	case !l.Costs:
		p.line("  usable: %s", usable)
	case l.Law == nil && a.MemoryStatus == footprint.Predicted && !a.UsefulKnown:
		p.line("  fits: at least the %s that ran, in %s", ui.Plural(l.Instances, "instance"), usable)
	case a.UsefulKnown && l.Instances > a.Useful:
		p.line("  memory is not what limits: usable are %s", usable)
	default:
		p.line("  fits: %s in %s", ui.Plural(l.Instances, "instance"), usable)
	}
}

// most returns the most memory that servers with a number of instances had at a place; 0 if none was run.
func (p *printer) most(place footprint.Place, instances int) (bytes uint64) {
	for _, a := range p.r.Footprint.Anchors {
		if a.Failure == nil && !a.IsCurve() && a.Instances == instances {
			bytes = max(bytes, a.Peak[place])
		}
	}
	return bytes
}
