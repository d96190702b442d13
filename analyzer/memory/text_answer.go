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
	if r.Delay != nil {
		p.lines = append(p.lines, r.Delay.lines()...)
	}
	if pt := recommendedPoint(r); pt != nil {
		p.line("throughput: %s, p99 %s ms, at batch %d and %s in flight",
			p.throughput(*pt), decimal(milliseconds(pt.P99), 2), pt.Batch, ui.Plural(pt.Concurrency, "request"))
	}
	for _, l := range r.Footprint.Limits {
		p.line("memory: %s", p.memoryText(l))
	}
	p.configuration(rec)
	p.line("why: %s", r.Reason)
	p.line("how sure: %s", sureText(r))
	p.line("next: %s", nextText(r))
	return p.lines
}

// configuration prints which file to serve and what changes in it.
func (p *printer) configuration(rec *Recommendation) {
	switch {
	case len(rec.Diff) == 0:
		p.line("%s: stays as it is", modelconfig.FileName)
	case rec.File == "":
		p.line("%s:", modelconfig.FileName)
	default:
		p.line("%s: serve %s, in which this changes:", modelconfig.FileName, rec.File)
	}
	for _, line := range rec.Diff {
		p.line("  %s", line)
	}
}

func (p *printer) doubts(a footprint.Answer) {
	for _, doubt := range a.Doubts {
		p.line("uncertain: %s", doubt)
	}
}

// throughput returns the throughput of a setting with its 95 % interval: that of the measurement or, if it is wider, of
// servers with the same count.
func (p *printer) throughput(pt Point) string {
	c := p.r.Footprint.Answer.Choice
	value, half := pt.Throughput, max(pt.Throughput-pt.Low, pt.High-pt.Throughput)
	if pt.High <= 0 {
		half = 0
	}
	if count, is := decides(p.r, pt); is {
		value, half = count.Throughput, 0
	}
	if c.Instances == pt.Instances {
		half = max(half, c.Error*value)
	}
	text := decimal(value, 1) + " inferences/s"
	if half > 0 {
		text += fmt.Sprintf(" (95 %% interval %s to %s)", decimal(max(0, value-half), 1), decimal(value+half, 1))
	}
	return text
}

// memoryText says what the recommended instances take of a place, or how many it holds if it may limit them.
func (p *printer) memoryText(l footprint.Limit) string {
	a, name := p.r.Footprint.Answer, nameOf(p.r, l.Place)
	taken, usable := p.mostOfAll(l.Place, a.Instances), sizeText(l.Bytes()+float64(l.Queued))
	switch {
	case taken == 0 && l.Costs:
		return fmt.Sprintf("%s holds %s (%s) in %s", name, ui.Plural(l.Instances, "instance"), a.MemoryStatus, usable)
	case taken == 0:
		return fmt.Sprintf("%s is not what limits", name)
	}
	return fmt.Sprintf("the server with %s takes at most %s, under all loads that were measured; servers may use %s (%s)",
		ui.Plural(a.Instances, "instance"), sizeText(float64(taken)), usable, name)
}

// sureText says how sure the answer is and what that rests on, in a sentence.
func sureText(r *Result) string {
	a := r.Footprint.Answer
	c := a.Choice
	rests := "how much servers with the same count differ is assumed, as none was repeated"
	if c.Repeats > 0 {
		rests = fmt.Sprintf("servers with the same count differ by about %.0f %% in throughput (%s)", 100*c.Noise, ui.Plural(c.Repeats, "repeat"))
	}
	run := ui.Plural(a.Instances, "instance") + " " + wasOrWere(a.Instances) + " run"
	switch {
	case a.Status == footprint.Uncertain:
		return "low: " + strings.Join(a.Doubts, "; ")
	case mayGrow(a):
		return "low: the throughput still rose with the largest count that was run"
	case !a.Run:
		return "fair: this count was not run, but computed from smaller ones"
	case a.Status == footprint.Verified:
		return "high: " + run + ", and one more does not fit"
	case c.Instances == 0:
		return "fair: " + run + ", and no throughputs were compared"
	case r.Quick:
		return "fair: " + run + ", but --quick measures briefly and repeats only one server; " + rests
	case c.Repeats == 0 || c.Noise > muchNoise:
		return "fair: " + run + ", but " + rests
	}
	return "high: " + run + ", and " + rests
}

// mayGrow reports whether more instances than the largest count that was run may be of use: where they have no processor
// each, that would take proof.
func mayGrow(a footprint.Answer) bool {
	return !a.UsefulKnown && a.Run && a.Status == footprint.Predicted && (a.Processors == 0 || a.Instances < a.Processors)
}

// muchNoise is the relative deviation between servers above which an answer is not more than fairly sure.
const muchNoise = 0.10

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
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

// nextText says the one thing to do next.
func nextText(r *Result) string {
	a, rec := r.Footprint.Answer, r.Recommended
	switch {
	case r.Quick && (mayGrow(a) || a.Choice.Contested > 0):
		return "run without --quick, which tells whether more instances are of use"
	case a.Choice.Contested > 0 && a.Status == footprint.Uncertain:
		return fmt.Sprintf("to tell %d from %d instances, run again on a machine with less other work, with longer windows: --measurement-interval 5s",
			a.Choice.Contested, a.Instances)
	case !a.Run:
		return fmt.Sprintf("run this count: --instance-counts %d", a.Instances)
	case r.Delay != nil:
		return fmt.Sprintf("set max_queue_delay_microseconds to %d, and run this again", r.Delay.Shorter.Microseconds())
	case rec.File != "" && len(rec.Diff) > 0:
		return fmt.Sprintf("copy that %s into the model's folder", modelconfig.FileName)
	}
	return "measure it under your load with triton perf"
}
