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
	// Same: the whole interval of the difference is within the threshold, or the difference is
	// more than chance, but within the threshold.
	Same Verdict = "same"
	// Unclear: the difference may be chance, but the interval reaches beyond the threshold. A
	// longer measurement would tell.
	Unclear Verdict = "unclear"
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
	// Significance is the probability that a comparison of equal systems finds a difference.
	Significance float64
}

// DefaultCompareOptions returns throughput, average and p99, a threshold of 5 % and a significance of 5 %.
func DefaultCompareOptions() CompareOptions {
	return CompareOptions{Figures: []string{Throughput, Average, "p99"}, Threshold: 0.05, Significance: 0.05}
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
	// Notes say what differs besides the figures, and which levels only one file has.
	Notes       []string     `json:"notes,omitempty"`
	Differences []Difference `json:"differences"`
	Worse       int          `json:"worse"`
	Better      int          `json:"better"`
	Unclear     int          `json:"unclear"`
}

// Difference is that of one figure of one level. Throughput is in inferences per second,
// latencies are in microseconds. Change and its interval are relative to A.
type Difference struct {
	BatchSize int     `json:"batch_size"`
	Mode      Mode    `json:"load_mode"`
	Load      float64 `json:"load"`
	Figure    string  `json:"figure"`
	A         float64 `json:"a"`
	B         float64 `json:"b"`
	Change    float64 `json:"change"`
	// Low and High are the ends of the confidence interval of Change. They are absent if a file
	// has too few requests.
	Low         *float64 `json:"change_low,omitempty"`
	High        *float64 `json:"change_high,omitempty"`
	Probability *float64 `json:"probability,omitempty"` // of such a difference by chance, corrected
	Verdict     Verdict  `json:"verdict"`
	Note        string   `json:"note,omitempty"`
}

var errNothing = errors.New("the results have no level in common; levels are the same if their batch size and their concurrency or request rate are")

// Compare compares b with a, level by level, and says which differences are more than chance. The names are those to
// show.
//
// The requests of a measurement are not independent, so that their number says too much about
// the precision of a figure. The uncertainty is therefore that of batch means: a level is
// divided into moments, and the figures of the moments, which are nearly independent, vary as
// the figure of the level would (A. Law, Simulation Modeling and Analysis, 5th ed., section
// 9.5). What dependence of adjacent moments is left makes their number smaller, as in a
// first-order autoregressive process (H. Thiébaux, F. Zwiers, The interpretation and estimation of
// effective sample size, Journal of Climate and Applied Meteorology 23, 1984). Percentiles vary
// around that of the level, by sectioning (S. Asmussen, P. Glynn, Stochastic Simulation, 2007,
// section III.5). Differences are tested as B. Welch does (Biometrika 34, 1947), and
// since a comparison has many of them, the probabilities are corrected by the method of S. Holm
// (Scandinavian Journal of Statistics 6, 1979).
func Compare(nameA string, a *File, nameB string, b *File, o CompareOptions) (*Comparison, error) {
	c := &Comparison{A: nameA, B: nameB, Threshold: o.Threshold, Significance: o.Significance, Differences: []Difference{}}
	c.Notes = settingsNotes(a, b)
	if a.Settings.Mode != b.Settings.Mode {
		return nil, fmt.Errorf("%s has levels of %s and %s of %s", nameA, a.Settings.Mode, nameB, b.Settings.Mode)
	}
	var tests []*test
	for i := range a.Levels {
		la := &a.Levels[i]
		lb := find(b.Levels, la)
		if lb == nil {
			c.Notes = append(c.Notes, "only "+nameA+" has "+levelText(a.Settings.Mode, la))
			continue
		}
		tests = append(tests, testsOf(a.Settings.Mode, la, lb, o)...)
	}
	for i := range b.Levels {
		if lb := &b.Levels[i]; find(a.Levels, lb) == nil {
			c.Notes = append(c.Notes, "only "+nameB+" has "+levelText(a.Settings.Mode, lb))
		}
	}
	if len(tests) == 0 {
		return nil, errNothing
	}
	correct(tests)
	for _, t := range tests {
		t.judge(o)
		c.Differences = append(c.Differences, t.Difference)
		switch t.Verdict {
		case Worse:
			c.Worse++
		case Better:
			c.Better++
		case Unclear:
			c.Unclear++
		}
	}
	return c, nil
}

// find returns the level of the same batch size and load, nil if there is none. A batch size of
// 0 is not known and equals all. Of several the last one counts, as in a search.
func find(levels []Level, as *Level) *Level {
	for i := len(levels) - 1; i >= 0; i-- {
		l := &levels[i]
		if l.Load == as.Load && (l.BatchSize == as.BatchSize || l.BatchSize == 0 || as.BatchSize == 0) {
			return l
		}
	}
	return nil
}

func levelText(m Mode, l *Level) string {
	text := fmt.Sprintf("%s %g", strings.ReplaceAll(string(m), "_", " "), l.Load)
	if l.BatchSize > 0 {
		text = fmt.Sprintf("batch size %d, %s", l.BatchSize, text)
	}
	return text
}

// settingsNotes says which settings that change figures differ.
func settingsNotes(a, b *File) []string {
	var notes []string
	for _, s := range []struct{ what, a, b string }{
		{"model", a.Settings.Model, b.Settings.Model},
		{"protocol", a.Settings.Protocol, b.Settings.Protocol},
		{"input data", a.Settings.Input, b.Settings.Input},
		{"client machine", a.Machine.Host, b.Machine.Host},
		{"CPU", a.Machine.CPU, b.Machine.CPU},
		{"program", a.Program.Name, b.Program.Name},
	} {
		if s.a != s.b && s.a != "" && s.b != "" {
			notes = append(notes, fmt.Sprintf("the %s differs: %s and %s", s.what, s.a, s.b))
		}
	}
	return notes
}

// test is a difference with its test.
type test struct {
	Difference
	p    float64 // NaN: not tested
	a, b estimate
}

func testsOf(m Mode, a, b *Level, o CompareOptions) []*test {
	var all []*test
	for _, figure := range o.Figures {
		ea, eb := estimateOf(a, figure), estimateOf(b, figure)
		if math.IsNaN(ea.value) || math.IsNaN(eb.value) || ea.value <= 0 {
			continue
		}
		t := &test{
			Difference: Difference{
				BatchSize: cmp.Or(a.BatchSize, b.BatchSize), Mode: m, Load: a.Load, Figure: figure,
				A: ea.value, B: eb.value, Change: eb.value/ea.value - 1, Note: levelNote(a, b),
			},
			p: math.NaN(), a: ea, b: eb,
		}
		difference, half, p, ok := welch(ea, eb, o.Significance)
		if ok {
			low, high := (difference-half)/ea.value, (difference+half)/ea.value
			t.Low, t.High, t.p = &low, &high, p
		} else if t.Note == "" {
			t.Note = "too few requests"
		}
		all = append(all, t)
	}
	return all
}

// levelNote says why a level of one file does not count.
func levelNote(a, b *Level) string {
	switch {
	case a.Problem != "" && a.Problem == b.Problem:
		return "both " + a.Problem
	case a.Problem != "":
		return "a " + a.Problem
	case b.Problem != "":
		return "b " + b.Problem
	}
	return ""
}

// correct sets the corrected probabilities by Holm's method.
func correct(tests []*test) {
	var tested []*test
	for _, t := range tests {
		if !math.IsNaN(t.p) {
			tested = append(tested, t)
		}
	}
	slices.SortStableFunc(tested, func(a, b *test) int { return cmp.Compare(a.p, b.p) })
	highest := 0.0
	for i, t := range tested {
		highest = max(highest, min(1, t.p*float64(len(tested)-i)))
		p := highest
		t.Probability = &p
	}
}

func (t *test) judge(o CompareOptions) {
	switch {
	case t.Probability == nil:
		t.Verdict = Unclear
	case *t.Probability < o.Significance && math.Abs(t.Change) <= o.Threshold:
		t.Verdict = Same
	case *t.Probability < o.Significance && (t.Change > 0) == (t.Figure == Throughput):
		t.Verdict = Better
	case *t.Probability < o.Significance:
		t.Verdict = Worse
	case *t.Low >= -o.Threshold && *t.High <= o.Threshold:
		t.Verdict = Same
	default:
		t.Verdict = Unclear
	}
}
