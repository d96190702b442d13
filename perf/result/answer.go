package result

import (
	"fmt"
	"math"
	"strings"
)

// answer sets the headline, what to do next, and what a gate may make of it.
func (c *Comparison) answer() {
	flaw := ""
	for i := range c.Differences {
		if d := &c.Differences[i]; d.Verdict == NoVerdict && flaw == "" {
			flaw = d.Note
		}
	}
	total := len(c.Differences)
	limit := fmt.Sprintf("%g %%", 100*c.Threshold)
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
		c.Headline = fmt.Sprintf("%s is worse than %s and better: %s; %s.", c.B, c.A, c.clearest(Worse), c.clearest(Better))
	case c.Worse > 0:
		c.Headline = fmt.Sprintf("%s is worse than %s: %s%s.", c.B, c.A, c.clearest(Worse), more(c.Worse))
	case c.Better > 0:
		c.Headline = fmt.Sprintf("%s is better than %s: %s%s.", c.B, c.A, c.clearest(Better), more(c.Better))
	case c.Undecided == total:
		c.Headline = fmt.Sprintf("Undecided: %s is shown neither to differ from %s nor to be within %s of it.", c.B, c.A, limit)
	case c.Undecided > 0:
		c.Headline = fmt.Sprintf("Undecided: %d of %d figures of %s are shown neither to differ from those of %s nor to be within %s of them.", c.Undecided, total, c.B, c.A, limit)
	case c.Same == total:
		c.Headline = fmt.Sprintf("Same: every figure of %s is shown to be within %s of that of %s.", c.B, limit, c.A)
	case c.Small > 0:
		c.Headline = fmt.Sprintf("Nearly the same: of the figures of %s %d are shown to be within %s of those of %s, and %d differ, but not by more as measured.", c.B, c.Same, limit, c.A, c.Small)
	default:
		c.Headline = fmt.Sprintf("Same where it can be told: %d of %d figures of %s are shown to be within %s of those of %s.", c.Same, total, c.B, limit, c.A)
	}
	if c.Undecided > 0 {
		c.answerUndecided()
	} else if c.NoVerdict > 0 {
		c.Next = fmt.Sprintf("Measure again what has no verdict: %s.", flaw)
	}
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
	return fmt.Sprintf("%s at %s is %.0f %% %s (%s)", best.Figure, c.levelOf(best), 100*math.Abs(best.Change), direction, intervalText(best))
}

// intervalText is the interval of a change in percent, such as -13 to -8.
func intervalText(d *Difference) string {
	if d.Low == nil || d.High == nil {
		return "-"
	}
	return percentNumber(*d.Low) + " to " + percentNumber(*d.High)
}

// percentNumber writes a share as percent with two digits or more. What is not 0 does not look like it: the ends of
// intervals decide by that.
func percentNumber(share float64) string {
	switch {
	case share != 0 && math.Abs(share) < 0.0005:
		return fmt.Sprintf("%+.1g", 100*share)
	case math.Abs(share) < 0.0995:
		return fmt.Sprintf("%+.1f", 100*share)
	}
	return fmt.Sprintf("%+.0f", 100*share)
}
