package result

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"triton/pkg/measure"
)

// enoughRuns is the number of runs a side that tells differences of 10 % on a quiet machine.
const enoughRuns = 5

// need is what an undecided figure of a level needs for a decision.
type need struct {
	figure      string
	runs, files int  // a side; both 0: no sensible number is enough
	few         bool // too few runs to tell
}

const (
	// decidingPower is the quantile of the normal distribution for 8 of 10.
	decidingPower = 0.84
	// decidingFreedom stands for the degrees of freedom of the runs that will be measured.
	decidingFreedom = 30
	// mostNeededRuns and mostNeededFiles are sensible for a side.
	mostNeededRuns, mostNeededFiles = 200, 20
)

// needOf returns what a figure needs so that a change by the threshold is found in 8 of 10 comparisons, from the spread of
// its runs. A side has a number of files.
func (c *Comparison) needOf(t *test, files int) need {
	n := need{figure: t.Figure}
	runs := min(t.RunsA, t.RunsB)
	if runs < enoughRuns {
		n.few = true
		return n
	}
	sure := measure.StudentQuantile(1-c.Significance/float64(2*c.Tests), decidingFreedom) + decidingPower
	most := math.Pow(math.Log1p(c.Threshold)/sure, 2) // variance of the difference
	d := &t.difference
	if left := most - d.perFile/float64(files); left > 0 && d.perRun/left <= mostNeededRuns {
		n.runs = max(roundUp(d.perRun/left), runs+1)
		return n
	}
	if d.perFile > 0 {
		if f := math.Ceil((d.perRun*float64(files)/float64(runs) + d.perFile) / most); f <= mostNeededFiles {
			n.files = max(int(f), files+1)
		}
	}
	return n
}

// roundUp rounds a number of runs up to a multiple of 5, of 10 from 50 on.
func roundUp(runs float64) int {
	step := 5.0
	if runs > 50 {
		step = 10
	}
	return int(step * math.Ceil(runs/step))
}

// moreThan orders needs: no sensible number is the most.
func (n need) moreThan(other need) bool {
	weight := func(n need) int {
		switch {
		case n.files > 0:
			return mostNeededRuns + n.files
		case n.runs > 0:
			return n.runs
		}
		return math.MaxInt
	}
	return weight(n) > weight(other)
}

// addNeed keeps what the kind of an undecided figure needs at the level that needs most.
func (c *Comparison) addNeed(t *test, files int) {
	n := c.needOf(t, files)
	i := slices.IndexFunc(c.needs, func(other need) bool { return other.figure == n.figure })
	switch {
	case i < 0:
		c.needs = append(c.needs, n)
	case n.moreThan(c.needs[i]):
		c.needs[i] = n
	}
}

// answerUndecided sets what to do about undecided figures: which losses are not ruled out, how many runs would decide, and
// what a gate may make of it.
func (c *Comparison) answerUndecided() {
	var all, open []string
	for _, figure := range c.undecidedFigures() {
		if text := c.notRuledOut(figure); text != "" {
			open = append(open, text)
		}
	}
	if len(open) > 0 {
		all = append(all, "Not ruled out: "+strings.Join(open, ", ")+".")
		if c.Failed == 0 {
			c.Gate = "For a gate: exit code 0 means that nothing is shown to be worse, not that both are equal. Ship if what is not ruled out is acceptable; else hold, and measure more."
		}
	}
	if slices.ContainsFunc(c.needs, func(n need) bool { return n.few }) {
		all = append(all, fmt.Sprintf("Measure both sides with --repeat %d or more.", enoughRuns))
	} else if c.Threshold > 0 {
		all = append(all, c.needText())
	}
	c.Next = joinWords(all...)
}

// undecidedFigures returns the kinds of figures that have an undecided one. The average latency at a constant concurrency is
// the throughput once more.
func (c *Comparison) undecidedFigures() []string {
	var all []string
	for _, n := range c.needs {
		if n.figure == Average && c.Differences[0].Mode == Concurrency &&
			slices.ContainsFunc(c.needs, func(n need) bool { return n.figure == Throughput }) {
			continue
		}
		all = append(all, n.figure)
	}
	return all
}

// notRuledOut describes the largest loss of a kind of figures that the intervals of undecided ones include; empty if
// all of them are within the threshold.
func (c *Comparison) notRuledOut(figure string) string {
	word, worst := "higher", c.Threshold
	if figure == Throughput {
		word = "lower"
	}
	var at *Difference
	for i := range c.Differences {
		d := &c.Differences[i]
		if d.Figure != figure || d.Verdict != Undecided {
			continue
		}
		loss := *d.High
		if figure == Throughput {
			loss = -*d.Low
		}
		if loss > worst {
			worst, at = loss, d
		}
	}
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s up to %.0f %% %s (%s)", figure, 100*worst, word, c.levelOf(at))
}

// needText says how many runs would decide each kind of figures.
func (c *Comparison) needText() string {
	var amounts, unsteady []string
	files := false
	for _, figure := range c.undecidedFigures() {
		n := c.needs[slices.IndexFunc(c.needs, func(n need) bool { return n.figure == figure })]
		files = files || n.files > 0
		switch {
		case n.runs > 0:
			amounts = append(amounts, fmt.Sprintf("%d repeats a side for %s", n.runs, figure))
		case n.files > 0:
			amounts = append(amounts, fmt.Sprintf("%d files a side for %s", n.files, figure))
		default:
			unsteady = append(unsteady, figure)
		}
	}
	text := ""
	if len(amounts) > 0 {
		text = fmt.Sprintf("To decide %g %%, measure about %s", 100*c.Threshold, strings.Join(amounts, ", "))
		if files {
			text += ", each file at another time, or use --live"
		}
		text += "."
	}
	if len(unsteady) > 0 {
		remedy := "use --live on a machine without other programs"
		if c.Paired {
			remedy = "end other programs on it"
		}
		text = joinWords(text, fmt.Sprintf("The machine is too unsteady to decide %g %% of %s: %s.", 100*c.Threshold, strings.Join(unsteady, " and "), remedy))
	}
	return text
}

// levelOf names the level of a difference, with its batch size only if there are several.
func (c *Comparison) levelOf(d *Difference) string {
	batch := 0
	if c.severalBatches() {
		batch = d.BatchSize
	}
	return levelText(d.Mode, batch, d.Load)
}
