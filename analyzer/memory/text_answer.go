package memory

import (
	"fmt"
	"strings"

	"triton/analyzer/memory/footprint"
	"triton/pkg/modelconfig"
	"triton/pkg/ui"
)

// answerLines returns the answer: the configuration and what it gives, why, how sure that is, and what to do next.
func answerLines(r *Result) []string {
	p := printer{r: r}
	if r.Interrupted {
		p.line("interrupted: the results are incomplete")
	}
	rec, a := r.Recommended, r.Footprint.Answer
	if rec == nil && r.Undecided {
		p.line("no verdict: keep your %s", modelconfig.FileName)
		p.line("why: %s", r.Reason)
		p.line("measured: %s", moreOrFewer(a.Choice))
		p.compared()
		p.line("next: %s", undecidedNext(r))
		return p.lines
	}
	if rec == nil {
		p.line("nothing is recommended: %s", r.Reason)
		p.doubts(a)
		return p.lines
	}
	settings := fmt.Sprintf("instance_group count %d", rec.Instances)
	if rec.MaxBatchSize > 0 {
		settings += fmt.Sprintf(", max_batch_size %d", rec.MaxBatchSize)
	}
	if rec.DynamicBatching {
		settings += ", dynamic_batching"
	}
	p.line("recommended: %s of %s: %s", ui.Plural(rec.Instances, "instance"), r.Model, settings)
	if pt := rec.Point; pt != nil {
		p.line("throughput: %s inferences/s%s, p99 %s ms, at batch %d and %s in flight",
			decimal(pt.Throughput, 1), intervalText(*pt, a), decimal(milliseconds(pt.P99), 2), pt.Batch, ui.Plural(pt.Concurrency, "request"))
	}
	for _, l := range r.Footprint.Limits {
		p.line("memory: %s", p.memoryText(l))
	}
	if len(rec.Diff) == 0 {
		p.line("%s: stays as it is", modelconfig.FileName)
	} else {
		p.line("%s:", modelconfig.FileName)
		for _, line := range rec.Diff {
			p.line("  %s", line)
		}
	}
	p.line("why: %s", r.Reason)
	p.compared()
	p.line("how sure: %s", sureText(r))
	p.doubts(a)
	p.line("next: %s", nextText(r))
	return p.lines
}

// compared prints the throughputs by which counts were compared: they are not those of the table.
func (p *printer) compared() {
	counts := p.r.Footprint.Answer.Choice.Counts
	if len(counts) < 2 {
		return
	}
	text := ""
	for i, c := range counts {
		at := p.r.ComparedAt[c.Instances]
		switch load := fmt.Sprintf("at batch %d and %s in flight: ", at.Batch, ui.Plural(at.Concurrency, "request")); {
		case i == 0:
			text = load
		case at != p.r.ComparedAt[counts[i-1].Instances]:
			text += "; " + load
		default:
			text += ", "
		}
		throughput := decimal(c.Throughput, 1)
		if c.Throughput == 0 {
			throughput = "nothing within the limits"
		}
		text += fmt.Sprintf("%s %s (%s)", ui.Plural(c.Instances, "instance"), throughput, ui.Plural(c.Servers, "server"))
	}
	p.line("compared: inferences/s %s. The table has your settings, each measured once", text)
}

func (p *printer) doubts(a footprint.Answer) {
	for _, doubt := range a.Doubts {
		p.line("uncertain: %s", doubt)
	}
}

// intervalText returns the 95 % interval of a throughput: that of the measurement or, if it is wider, of servers with
// the same count.
func intervalText(pt Point, a footprint.Answer) string {
	half := max(pt.Throughput-pt.Low, pt.High-pt.Throughput)
	if pt.High <= 0 {
		half = 0
	}
	if a.Choice.Instances == pt.Instances {
		half = max(half, a.Choice.Error*pt.Throughput)
	}
	if half == 0 {
		return ""
	}
	return fmt.Sprintf(" (95 %% interval %s to %s)", decimal(max(0, pt.Throughput-half), 1), decimal(pt.Throughput+half, 1))
}

// memoryText says what the recommended instances take of a place, or how many it holds if it may limit them.
func (p *printer) memoryText(l footprint.Limit) string {
	a, name := p.r.Footprint.Answer, nameOf(p.r, l.Place)
	taken, usable := p.most(l.Place, a.Instances), sizeText(l.Bytes()+float64(l.Queued))
	switch {
	case taken == 0 && l.Costs:
		return fmt.Sprintf("%s holds %s (%s) in %s", name, ui.Plural(l.Instances, "instance"), a.MemoryStatus, usable)
	case taken == 0:
		return fmt.Sprintf("%s is not what limits", name)
	}
	return fmt.Sprintf("%s %s %s of %s that servers may use (%s)",
		ui.Plural(a.Instances, "instance"), takes(a.Instances), sizeText(float64(taken)), usable, name)
}

func takes(instances int) string {
	if instances == 1 {
		return "takes"
	}
	return "take"
}

// sureText says what the answer rests on.
func sureText(r *Result) string {
	a := r.Footprint.Answer
	text := "this count was run"
	if !a.Run {
		text = "this count was not run"
	}
	if c := a.Choice; c.Repeats > 0 {
		text += fmt.Sprintf("; servers with the same count differ by about %.0f %% in throughput (%s)",
			100*c.Noise, ui.Plural(c.Repeats, "repeat"))
	} else if c.Instances > 0 {
		text += "; no server was repeated, so how much they differ is assumed"
	}
	if r.Quick {
		text += "; less sure with --quick: short measurements, one repeat, no further counts"
	}
	return fmt.Sprintf("%s; status %s", text, a.Status)
}

// moreOrFewer says what the counts next to the smallest one gave.
func moreOrFewer(c footprint.Choice) string {
	var parts []string
	for _, to := range []footprint.Change{c.Fewer, c.More} {
		if to.Instances > 0 {
			parts = append(parts, countText(to.Instances)+" "+changeText(to))
		}
	}
	return fmt.Sprintf("%s, compared with %d", strings.Join(parts, "; "), c.Instances)
}

// undecidedNext says what tells the counts apart.
func undecidedNext(r *Result) string {
	c := r.Footprint.Answer.Choice
	next := fmt.Sprintf("run again while the machine does less other work, and with --measurement-interval 5s --instance-counts %d,%d",
		min(c.Instances, c.Contested), max(c.Instances, c.Contested))
	if r.Quick {
		next += ", without --quick"
	}
	return next
}

// nextText says what to do.
func nextText(r *Result) string {
	a := r.Footprint.Answer
	switch {
	case r.Quick && !a.UsefulKnown:
		return "run without --quick: more instances may be of use"
	case r.Quick:
		return "run without --quick for narrower intervals, or serve this configuration"
	case a.Choice.Contested > 0 && a.Status == footprint.Uncertain:
		return fmt.Sprintf("to tell %d from %d instances, run again on a machine with less other work, or with longer windows: --measurement-interval 5s",
			a.Choice.Contested, a.Instances)
	case !a.Run:
		return "run this count: without --no-verify, or with --instance-counts"
	}
	return "serve this configuration, and measure it under your load with triton perf"
}
