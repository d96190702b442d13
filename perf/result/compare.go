package result

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what a difference means.
type Verdict string

// The verdicts.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Same: the whole interval of the change is within the threshold.
	Same Verdict = "same"
	// Small: the interval excludes 0 and reaches beyond the threshold, but the change itself is within it.
	Small Verdict = "small"
	// Undecided: the interval includes 0 and reaches beyond the threshold. More runs would decide.
	Undecided Verdict = "undecided"
	// NoVerdict: the level of a side is no sound measurement, or the sides are not comparable.
	NoVerdict Verdict = "no verdict"
)

// Throughput and Average are figures, as are percentiles such as p99.
const (
	Throughput = "throughput"
	Average    = "avg"
)

// CompareOptions configure a comparison.
type CompareOptions struct {
	Figures []string
	// Threshold is the relative difference up to which figures count as equal; 0.05 is 5 %.
	Threshold float64
	// Significance is the probability that a comparison of equal servers finds a difference somewhere.
	Significance float64
	// RunSpread is the assumed coefficient of variation between runs of one server. It decides if a
	// side has one run, and counts little from five runs on.
	RunSpread float64
	// Limits are the differences that fail. Without limits every figure that is worse fails.
	Limits []Limit
	// AllowDifferent compares measurements of different machines, models or protocols.
	AllowDifferent bool
}

// DefaultCompareOptions returns throughput, average and p99, a threshold and a significance of 5 %, and a spread
// between runs of 12 %.
func DefaultCompareOptions() CompareOptions {
	return CompareOptions{Figures: []string{Throughput, Average, "p99"}, Threshold: 0.05, Significance: 0.05, RunSpread: 0.12}
}

// ParseFigures reads a list of figures, such as throughput,avg,p99.
func ParseFigures(text string) ([]string, error) {
	var all []string
	for f := range strings.SplitSeq(text, ",") {
		f = strings.TrimSpace(f)
		if _, ok := percentileOf(f); f != Throughput && f != Average && !ok {
			return nil, fmt.Errorf("%q is no figure; the figures are throughput, avg and percentiles such as p99", f)
		}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all, nil
}

func percentileOf(figure string) (float64, bool) {
	text, ok := strings.CutPrefix(figure, "p")
	p, err := strconv.ParseFloat(text, 64)
	return p, ok && err == nil && p > 0 && p < 100
}

// Comparison is the result of Compare.
type Comparison struct {
	A            string  `json:"a"`
	B            string  `json:"b"`
	Threshold    float64 `json:"threshold"`
	Significance float64 `json:"significance"`
	RunSpread    float64 `json:"run_spread"`
	// Headline is the answer, Next what to do about it, if anything, and Gate what a gate may make of it.
	Headline string `json:"headline"`
	Next     string `json:"next,omitempty"`
	Gate     string `json:"gate,omitempty"`
	// Probability is that of a difference like the clearest one if the servers are equal, corrected for all tests.
	Probability   *float64 `json:"probability,omitempty"`
	Paired        bool     `json:"paired,omitempty"` // runs were measured next to each other
	paceUnknown   bool     // results do not say how fast the machine was
	NotComparable []string `json:"not_comparable,omitempty"` // why the sides must not be compared
	// Notes say what else differs, and which levels only one side has.
	Notes       []string     `json:"notes,omitempty"`
	Differences []Difference `json:"differences"`
	Worse       int          `json:"worse"`
	Better      int          `json:"better"`
	Same        int          `json:"same"`
	Small       int          `json:"small"`
	Undecided   int          `json:"undecided"`
	NoVerdict   int          `json:"no_verdict"`
	Failed      int          `json:"failed"` // figures that are worse, or beyond a limit if there are limits
	// Tests is how many tests Probability and the intervals are corrected for.
	Tests int `json:"tests"`

	needs []need // for the kinds of figures that have an undecided one
}

// Difference is that of one figure of one level. Throughput is in inferences per second,
// latencies are in microseconds: geometric means over the runs of a side. Change and its interval are relative to A.
type Difference struct {
	BatchSize int     `json:"batch_size"`
	Mode      Mode    `json:"load_mode"`
	Load      float64 `json:"load"`
	Figure    string  `json:"figure"`
	RunsA     int     `json:"runs_a"`
	RunsB     int     `json:"runs_b"`
	A         float64 `json:"a"`
	B         float64 `json:"b"`
	Change    float64 `json:"change"`
	// PaceSlope is how much of a change of the pace of the machine was taken out of A and B, which are those at
	// the mean pace of both sides; 0: nothing.
	PaceSlope float64 `json:"pace_slope,omitempty"`
	// Low and High are the ends of the confidence interval of Change, which holds together with those of all
	// figures. They are absent without a test.
	Low         *float64 `json:"change_low,omitempty"`
	High        *float64 `json:"change_high,omitempty"`
	Probability *float64 `json:"probability,omitempty"` // of such a difference by chance, corrected
	Verdict     Verdict  `json:"verdict"`
	Failed      bool     `json:"failed,omitempty"`
	Note        string   `json:"note,omitempty"`
}

var errNothing = errors.New("the results have no level in common; levels are the same if their batch size and their concurrency or request rate are")

// Compare compares b with a, level by level, and says which differences are more than chance.
//
// The unit of the test is a run: a result file, or a repeat of a level in one. Variation within a run, as of
// its batch means, says nothing about the variation between runs: runs of one server on a shared machine
// scattered by 16 % while each run was within 3 % of itself. The logs of a figure over the runs of a side
// have a mean and a moderated variance (see meanOfRuns), and the means are tested as B. Welch does
// (Biometrika 34, 1947), or, of runs that were measured in turn, the differences of pairs.
//
// A comparison has many figures, so that probabilities and intervals are corrected for the number of tests by
// Bonferroni's inequality: all intervals hold together, and one that excludes 0 is a difference. Holm's method
// finds no more comparisons with a difference, and has no intervals that agree with it. At a constant concurrency
// the average latency is the concurrency divided by the throughput (J. Little, Operations Research 9, 1961): the
// two count as one test.
func Compare(a, b Side, o CompareOptions) (*Comparison, error) {
	c := &Comparison{
		A: a.Name, B: b.Name, Threshold: o.Threshold, Significance: o.Significance, RunSpread: o.RunSpread,
		Differences: []Difference{}, Paired: paired(a, b),
	}
	mode, err := commonMode(a, b)
	if err != nil {
		return nil, err
	}
	c.NotComparable, c.Notes = settingsDiffer(a, b, o.AllowDifferent)
	groupsA, groupsB := groupLevels(a), groupLevels(b)
	var pace paceDifference
	if !c.Paired { // otherwise both sides had the same machine
		pace = comparePaces(a, b)
		c.paceUnknown = min(len(paces(a)), len(paces(b))) < enoughPaces
	}
	if note := pace.note(); note != "" {
		c.Notes = append(c.Notes, note)
	}
	var tests []*test
	for _, ga := range groupsA {
		gb := findGroup(groupsB, ga)
		if gb == nil {
			c.Notes = append(c.Notes, "only "+a.Name+" has "+levelText(mode, ga.batch, ga.load))
			continue
		}
		tests = append(tests, testsOf(mode, ga, gb, c.Paired, pace, o)...)
	}
	for _, gb := range groupsB {
		if findGroup(groupsA, gb) == nil {
			c.Notes = append(c.Notes, "only "+b.Name+" has "+levelText(mode, gb.batch, gb.load))
		}
	}
	if len(tests) == 0 {
		return nil, errNothing
	}
	if len(c.NotComparable) > 0 {
		for _, t := range tests {
			t.flaw = "not comparable"
		}
	}
	c.correct(tests)
	files := min(len(a.Runs), len(b.Runs))
	for _, t := range tests {
		t.judge(o)
		c.count(t, files)
	}
	if slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.PaceSlope != 0 }) {
		c.Notes = append(c.Notes, "figures that follow the pace of the machine are those at the mean pace of A and B")
	}
	c.answer()
	return c, nil
}

func (c *Comparison) count(t *test, files int) {
	c.Differences = append(c.Differences, t.Difference)
	switch t.Verdict {
	case Worse:
		c.Worse++
	case Better:
		c.Better++
	case Same:
		c.Same++
	case Small:
		c.Small++
	case Undecided:
		c.Undecided++
		c.addNeed(t, files)
	case NoVerdict:
		c.NoVerdict++
	}
	if t.Failed {
		c.Failed++
	}
}

func levelText(m Mode, batch int, load float64) string {
	text := fmt.Sprintf("%s %g", strings.ReplaceAll(string(m), "_", " "), load)
	if batch > 0 {
		text = fmt.Sprintf("batch size %d, %s", batch, text)
	}
	return text
}

// test is a difference with its test.
type test struct {
	Difference
	difference difference
	flaw       string // why there is no verdict
}

// testsOf tests the figures of a level. pace is the change of the pace of the machine.
func testsOf(m Mode, a, b *group, pairs bool, pace paceDifference, o CompareOptions) []*test {
	var all []*test
	flaw := flawOf(a, b)
	if flaw == "" && !pairs {
		flaw = othersDiffer(a, b)
	}
	levelsA, levelsB, pacesA, pacesB := a.levels, b.levels, a.paces, b.paces
	if pairs {
		levelsA, levelsB = pairLevels(a, b)
		pacesA, pacesB = nil, nil
	}
	for _, figure := range o.Figures {
		sa, sb := sampleOf(levelsA, pacesA, figure), sampleOf(levelsB, pacesB, figure)
		if len(sa.logs) == 0 || len(sb.logs) == 0 {
			continue
		}
		l := slopeOf(sa, sb, figure)
		sa, sb = sa.at(l), sb.at(l)
		t := &test{
			Difference: Difference{
				BatchSize: cmp.Or(a.batch, b.batch), Mode: m, Load: a.load, Figure: figure, RunsA: len(sa.logs), RunsB: len(sb.logs),
				A: math.Exp(sa.center), B: math.Exp(sb.center), Change: math.Expm1(sb.center - sa.center), PaceSlope: l.value,
			},
			flaw: flaw,
		}
		if t.flaw == "" && (len(sa.logs) == 1 && sa.vague || len(sb.logs) == 1 && sb.vague) {
			t.flaw = "too few requests"
		}
		if t.flaw == "" {
			if pairs && len(sa.logs) == len(levelsA) && len(sb.logs) == len(levelsB) {
				t.difference = comparePairs(sa, sb, o.RunSpread)
			} else {
				sa.files, sb.files = a.files, b.files
				t.difference = compareSamples(sa, sb, l, o.RunSpread)
				t.difference.machine, t.difference.machineErr = pace.explains(l, figure), machineMatters*pace.err
			}
		}
		all = append(all, t)
	}
	return all
}

// asOne reports whether two figures of one level are one test.
func asOne(a, b *test) bool {
	one := func(t *test) bool { return t.Figure == Throughput || t.Figure == Average }
	return a.Mode == Concurrency && a.Load == b.Load && a.BatchSize == b.BatchSize && one(a) && one(b)
}

// correct sets the probabilities and intervals, corrected for the number of tests.
func (c *Comparison) correct(tests []*test) {
	var family []*test // one of each test
	for _, t := range tests {
		if t.flaw == "" && !slices.ContainsFunc(family, func(f *test) bool { return asOne(f, t) }) {
			family = append(family, t)
		}
	}
	c.Tests = len(family)
	for _, t := range tests {
		if t.flaw != "" {
			continue
		}
		low, high := t.difference.interval(c.Significance / float64(c.Tests))
		p := min(1, t.difference.probability()*float64(c.Tests))
		t.Low, t.High, t.Probability = &low, &high, &p
		if c.Probability == nil || p < *c.Probability {
			c.Probability = &p
		}
	}
}

// judge decides by the interval alone, so that the table explains each verdict.
func (t *test) judge(o CompareOptions) {
	t.Note = t.flaw
	if t.Low == nil {
		t.Verdict = NoVerdict
		return
	}
	differs := *t.Low > 0 || *t.High < 0
	switch {
	case *t.Low >= -o.Threshold && *t.High <= o.Threshold:
		t.Verdict = Same
	case !differs:
		t.Verdict = Undecided
	case math.Abs(t.Change) <= o.Threshold:
		t.Verdict = Small
	case (t.Change > 0) == (t.Figure == Throughput):
		t.Verdict = Better
	default:
		t.Verdict = Worse
	}
	if len(o.Limits) == 0 {
		t.Failed = t.Verdict == Worse
		return
	}
	t.Failed = differs && slices.ContainsFunc(o.Limits, func(l Limit) bool { return l.passed(&t.Difference) })
}
