package memory

import (
	"fmt"
	"math"

	"triton/analyzer/memory/footprint"
	"triton/pkg/ui"
)

// why explains the answer in a sentence or two.
func (r *run) why(a footprint.Answer) string {
	switch {
	case a.Status == footprint.Verified:
		return "more do not fit in memory: one more was run"
	case a.Instances == a.Useful && a.Choice.Instances > 0:
		return r.throughputWhy(a)
	case a.Status == footprint.Capped:
		return "it is the largest number that --max-instances allows"
	case a.MemoryLimits && a.Memory == a.Instances:
		return "more are not predicted to fit in memory"
	}
	return "it is the most that was measured"
}

// throughputWhy explains the choice by the throughput of fewer and of more instances.
func (r *run) throughputWhy(a footprint.Answer) string {
	c := a.Choice
	text := moreText(c.More, r.Footprint.MinGain)
	if c.More.Instances == 0 {
		text = "no larger count was measured"
	}
	if f := c.Fewer; f.Instances > 0 {
		text += fmt.Sprintf("; %s %s", countText(f.Instances), changeText(f))
	}
	if c.Capped || a.Processors > 0 && a.Useful == a.Processors && c.More.Instances > 0 {
		text += fmt.Sprintf(". The model keeps the processors busy, %.1f of %d, so more instances than processors would take proof", a.Busy, a.Processors)
	}
	return text
}

// moreText says what more instances did to the throughput.
func moreText(c footprint.Change, minGain float64) string {
	switch {
	case math.IsInf(math.Log1p(c.Value), -1):
		return fmt.Sprintf("with %s nothing stayed within the limits", ui.Plural(c.Instances, "instance"))
	case c.High < 0:
		return fmt.Sprintf("more instances lower the throughput: %s %s", countText(c.Instances), changeText(c))
	case c.Low <= 0:
		return fmt.Sprintf("more instances are not better beyond noise: %s %s, and less than %.0f %% more may be noise",
			countText(c.Instances), changeText(c), 100*noticed(c))
	case c.Value < minGain:
		return fmt.Sprintf("more instances are hardly better: %s %s, less than --min-gain %g %%", countText(c.Instances), changeText(c), 100*minGain)
	}
	return fmt.Sprintf("%s %s", countText(c.Instances), changeText(c))
}

func countText(instances int) string {
	return ui.Plural(instances, "instance") + " gave"
}

// noticed returns the least gain that could have been told from noise.
func noticed(c footprint.Change) float64 { return (1+c.High)/(1+c.Value) - 1 }

// changeText says by how much a throughput differs.
func changeText(c footprint.Change) string {
	if math.IsInf(math.Log1p(c.Value), -1) {
		return "nothing within the limits"
	}
	direction := "more"
	if c.Value < 0 {
		direction = "less"
	}
	return fmt.Sprintf("%.1f %% %s", 100*math.Abs(c.Value), direction)
}
