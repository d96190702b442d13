package result

import (
	"fmt"
	"math"
	"strings"

	"triton/pkg/ui"
)

// enoughRuns is the number of runs a side that tells differences of 10 % on a quiet machine.
const enoughRuns = 5

// answer sets the headline and what to do next.
func (c *Comparison) answer() {
	few := false
	flaw := ""
	for i := range c.Differences {
		d := &c.Differences[i]
		few = few || min(d.RunsA, d.RunsB) < enoughRuns
		if d.Verdict == NoVerdict && flaw == "" {
			flaw = d.Note
		}
	}
	total := len(c.Differences)
	switch {
	case len(c.NotComparable) > 0:
		c.Headline = "Not comparable: " + strings.Join(c.NotComparable, "; ") + "."
		c.Next = "Measure both sides in the same way on the same machine, or use --allow-different."
		return
	case c.NoVerdict == total:
		c.Headline = fmt.Sprintf("No verdict: %s.", flaw)
		c.Next = "Measure again, with --repeat 5 and with a client that keeps up."
		return
	case c.Worse > 0 && c.Better > 0:
		c.Headline = "B is better and worse: " + c.clearest(Worse) + "; " + c.clearest(Better) + "."
	case c.Worse > 0:
		c.Headline = "B is worse: " + c.clearest(Worse) + more(c.Worse) + "."
	case c.Better > 0:
		c.Headline = "B is better: " + c.clearest(Better) + more(c.Better) + "."
	case c.Unclear == 0:
		c.Headline = fmt.Sprintf("B is as fast as A: every figure is within %g %%.", 100*c.Threshold)
		if c.NoVerdict > 0 {
			c.Headline = fmt.Sprintf("B is as fast as A where it can be told: %d of %d figures are within %g %%.", c.Same, total, 100*c.Threshold)
		}
	default:
		c.Headline = fmt.Sprintf("No difference found. %s can only show a fall of more than %.0f %%, since runs of one server differ.", c.runsText(), 100*max(c.detectable, c.Threshold))
	}
	switch {
	case c.Unclear > 0 && c.Worse+c.Better > 0:
		c.Next = fmt.Sprintf("%s unclear: more repeats would tell.", areFigures(c.Unclear))
	case few && c.Unclear > 0:
		c.Next = fmt.Sprintf("Measure both sides with --repeat %d.", enoughRuns)
	case c.Unclear > 0:
		c.Next = "Measure more repeats, or on a machine with less other load."
	case c.NoVerdict > 0:
		c.Next = fmt.Sprintf("Measure again what has no verdict: %s.", flaw)
	}
}

// runsText says how many runs there are at the level with the fewest.
func (c *Comparison) runsText() string {
	a, b := math.MaxInt, math.MaxInt
	for i := range c.Differences {
		a, b = min(a, c.Differences[i].RunsA), min(b, c.Differences[i].RunsB)
	}
	switch {
	case a == b && a == 1:
		return "One run a side"
	case a == b:
		return fmt.Sprintf("%d runs a side", a)
	}
	return fmt.Sprintf("%d and %d runs", a, b)
}

// areFigures counts figures with the verb: "1 figure is", "2 figures are".
func areFigures(n int) string {
	if n == 1 {
		return "1 figure is"
	}
	return ui.Plural(n, "figure") + " are"
}

func more(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n-1)
}

// clearest describes the largest difference with a verdict, of throughput first.
func (c *Comparison) clearest(v Verdict) string {
	var best *Difference
	for i := range c.Differences {
		d := &c.Differences[i]
		if d.Verdict != v {
			continue
		}
		if best == nil || d.Figure == Throughput && best.Figure != Throughput ||
			(d.Figure == Throughput) == (best.Figure == Throughput) && math.Abs(d.Change) > math.Abs(best.Change) {
			best = d
		}
	}
	direction := "higher"
	if best.Change < 0 {
		direction = "lower"
	}
	batch := 0
	if c.severalBatches() {
		batch = best.BatchSize
	}
	return fmt.Sprintf("%s at %s is %.0f %% %s (%s)", best.Figure, levelText(best.Mode, batch, best.Load), 100*math.Abs(best.Change), direction, intervalText(best))
}

// intervalText is the interval of a change in percent, such as -13 to -8.
func intervalText(d *Difference) string {
	if d.Low == nil || d.High == nil {
		return "-"
	}
	return percentNumber(*d.Low) + " to " + percentNumber(*d.High)
}

// percentNumber writes a share as percent with two digits or more.
func percentNumber(share float64) string {
	if math.Abs(share) < 0.0995 {
		return fmt.Sprintf("%+.1f", 100*share)
	}
	return fmt.Sprintf("%+.0f", 100*share)
}
