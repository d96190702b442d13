// The choice of an instance count is a pure decision about the throughput of servers: which of the measured counts
// to recommend, how sure that is, and which server would tell more.

package footprint

import (
	"cmp"
	"math"
	"slices"

	"triton/pkg/measure"
)

// Throughput is what one server did with a number of instances.
type Throughput struct {
	Instances int
	Value     float64 // inferences per second; 0: nothing within the user's limits
	Error     float64 // relative standard error within the measurement; 0: not known
}

// Rule says when more instances are of use, and what may be measured to find out.
type Rule struct {
	// MinGain is the share by which more instances must raise the throughput to be of use.
	MinGain float64
	// Processors are those of the machine if the model keeps them busy; 0: it waits, or that is not
	// known. More instances than processors take proof: both counts measured twice, and twice MinGain.
	Processors int
	// Most bounds the counts to propose, Repeats the servers with a count that was measured before.
	Most, Repeats int
}

// Choice is what Choose found.
type Choice struct {
	// Instances is the smallest measured count than which no other one has a higher throughput beyond noise;
	// 0 if there is none. Best is the count with the highest throughput.
	Instances, Best int
	// Counts are the measured counts in rising order.
	Counts []CountThroughput
	// Noise is the relative standard deviation of servers with the same count; it is assumed if
	// Repeats, the servers with a count that was measured before, is 0.
	Noise   float64
	Repeats int
	// Error is half the width of the 95 % interval of the throughput of Instances, relative.
	Error float64
	// Fewer and More compare with the next smaller and the next larger measured count.
	Fewer, More Change
	// Capped is set if more instances than processors seemed better, without proof.
	Capped bool
	// Contested is the count that may be better than Instances, but is not beyond noise; 0 if none is.
	Contested int
	// Next is the count of a server that would tell more, and Why it would; 0 if none would.
	Next int
	Why  string
}

// CountThroughput is the throughput of a count: the geometric mean of its servers.
type CountThroughput struct {
	Instances, Servers int
	Throughput         float64
}

// tooNoisy is the relative deviation between servers with the same count above which a choice that is contested is none.
const tooNoisy = 0.20

// Undecided reports whether another count may be better, and servers with the same count differ so much that the
// smaller one is no more than a guess.
func (c Choice) Undecided() bool { return c.Contested > 0 && c.Repeats > 0 && c.Noise > tooNoisy }

// Change is how the throughput changes from the chosen count to another one, relative, with its interval of Confidence percent.
type Change struct {
	Instances        int // 0: no such count was measured
	Value, Low, High float64
}

// Confidence is that of the intervals of changes, in percent, over all counts together. A count is better than another
// if its interval does not include 0.
const Confidence = 99

const (
	// usualNoise is the deviation between servers before any was repeated, and weighs as much as
	// usualFreedom repeats: the deviation of two servers alone may be anything. (The moderated
	// variance of G. Smyth, Linear models and empirical Bayes methods for assessing differential
	// expression, Statistical Applications in Genetics and Molecular Biology 3, 2004.)
	usualNoise   = 0.05
	usualFreedom = 4
	// mistake is how likely a count may be called better than another although it is not: one end of an interval
	// of Confidence.
	mistake = (1 - Confidence/100.0) / 2
	// overlooked is how likely a larger count that is better by worth times MinGain may be given up.
	overlooked, worth = 0.05, 2
	// clear is how many times the difference that can be told from noise needs no further server, because each look
	// at the same data is one more chance of a mistake. likely is how many times it the difference to a count between
	// must be for it to be measured.
	clear, likely = 1.2, 1.2
)

// level is a measured count.
type level struct {
	count, servers int
	mean           float64 // of the logarithms of the throughputs; -Inf if one was 0
}

// evidence is what servers have shown.
type evidence struct {
	Rule
	levels         []level // in the order of their counts
	noise, freedom float64
	quantile       float64 // of Student's t, for mistake
	repeats        int
}

// Choose returns the smallest count than which no other one is better: by MinGain, and by more than the noise between
// servers of the same count. Chance is bounded over all comparisons of a count together (O. Dunn, Multiple
// comparisons among means, JASA 56, 1961). Counts within the processors are compared with each other first.
func Choose(all []Throughput, rule Rule) Choice {
	e := newEvidence(all, rule)
	if len(e.levels) == 0 {
		return Choice{}
	}
	within := e.withinProcessors()
	chosen, best := e.smallest(within), highest(within)
	capped := false
	if beyond := e.smallest(e.levels); beyond.count > within[len(within)-1].count {
		if e.proven(beyond, best) {
			chosen, best = beyond, highest(e.levels)
		} else {
			capped = highest(e.levels).mean > best.mean
		}
	}
	if math.IsInf(best.mean, -1) {
		return Choice{}
	}
	c := Choice{Instances: chosen.count, Best: best.count, Noise: e.noise, Repeats: e.repeats, Capped: capped}
	for _, l := range e.levels {
		c.Counts = append(c.Counts, CountThroughput{l.count, l.servers, math.Exp(l.mean)})
	}
	c.Error = measure.StudentQuantile(0.975, e.freedom) * e.noise / math.Sqrt(float64(chosen.servers))
	i := slices.Index(e.levels, chosen)
	if i > 0 {
		c.Fewer = e.change(chosen, e.levels[i-1])
	}
	if i+1 < len(e.levels) {
		c.More = e.change(chosen, e.levels[i+1])
	}
	if e.gain(best, chosen) >= e.MinGain {
		c.Contested = best.count
	}
	c.Next, c.Why = e.next(i, chosen, best)
	return c
}

func newEvidence(all []Throughput, rule Rule) *evidence {
	e := &evidence{Rule: rule}
	logs := map[int][]float64{}
	within, known := 0.0, 0
	for _, t := range all {
		logs[t.Instances] = append(logs[t.Instances], math.Log(t.Value))
		if t.Error > 0 {
			within, known = within+t.Error*t.Error, known+1
		}
	}
	squares := usualFreedom * usualNoise * usualNoise
	e.freedom = usualFreedom
	for count, values := range logs {
		l := level{count: count, servers: len(values)}
		for _, v := range values {
			l.mean += v / float64(len(values))
		}
		e.levels = append(e.levels, l)
		e.repeats += len(values) - 1
		if math.IsInf(l.mean, -1) {
			continue
		}
		for _, v := range values {
			squares += (v - l.mean) * (v - l.mean)
		}
		e.freedom += float64(len(values) - 1)
	}
	slices.SortFunc(e.levels, func(a, b level) int { return a.count - b.count })
	e.noise = math.Sqrt(squares / e.freedom)
	if known > 0 { // servers differ by at least what one measurement leaves open
		e.noise = max(e.noise, math.Sqrt(within/float64(known)))
	}
	e.quantile = measure.StudentQuantile(1-mistake/float64(max(1, len(e.levels)-1)), e.freedom)
	return e
}

// smallest returns the smallest of some counts than which none of them is better beyond noise.
func (e *evidence) smallest(levels []level) level {
	for _, l := range levels {
		if _, margin := e.better(l, levels); margin <= 1 {
			return l
		}
	}
	return highest(levels)
}

func highest(levels []level) level {
	return slices.MaxFunc(levels, func(a, b level) int { return cmp.Compare(a.mean, b.mean) })
}

// better returns which of some counts is most surely better than one, and how many times the difference is what
// chance explains; 0 if none is better by MinGain.
func (e *evidence) better(l level, levels []level) (by level, margin float64) {
	for _, r := range levels {
		if m := (r.mean - l.mean) / e.noticeable(l.servers, r.servers); e.gain(r, l) >= e.MinGain && m > margin {
			by, margin = r, m
		}
	}
	return by, margin
}

// withinProcessors returns the counts that need no proof: all if the processors do not bound them, or if no count that
// they bound was measured with success.
func (e *evidence) withinProcessors() []level {
	few := slices.DeleteFunc(slices.Clone(e.levels), func(l level) bool { return l.count > e.Processors })
	if len(few) == 0 || math.IsInf(highest(few).mean, -1) {
		return e.levels
	}
	return few
}

func (e *evidence) gain(to, from level) float64 { return math.Expm1(to.mean - from.mean) }

// proven reports whether a count beyond the processors is better than the best of those within them.
func (e *evidence) proven(l, within level) bool {
	return l.servers > 1 && within.servers > 1 && e.gain(l, within) >= 2*e.MinGain &&
		l.mean-within.mean > e.noticeable(l.servers, within.servers)
}

// noticeable returns the difference, of logarithms, that two counts with so many servers hardly have by chance.
func (e *evidence) noticeable(a, b int) float64 { return e.quantile * e.deviation(a, b) }

// deviation returns the standard error of the difference, of logarithms, of two counts with so many servers.
func (e *evidence) deviation(a, b int) float64 {
	return e.noise * math.Sqrt(1/float64(a)+1/float64(b))
}

func (e *evidence) change(from, to level) Change {
	half := e.noticeable(from.servers, to.servers)
	d := to.mean - from.mean
	return Change{to.count, math.Expm1(d), math.Expm1(d - half), math.Expm1(d + half)}
}

// next returns the count of the server that would tell most.
func (e *evidence) next(i int, chosen, best level) (count int, why string) {
	if l, ok := e.contested(chosen, best); ok && e.repeats < e.Repeats {
		return l.count, "repeated to tell a difference from noise"
	}
	if i == 0 && chosen.count > 1 {
		return 1, "are fewer instances enough?"
	}
	if k := e.larger(chosen.count); i == len(e.levels)-1 && k > chosen.count {
		return k, "are more instances of use?"
	}
	if e.repeats == 0 && e.Repeats > 0 && len(e.levels) > 1 {
		return chosen.count, "repeated for the noise between servers"
	}
	if i > 0 {
		k := (e.levels[i-1].count + chosen.count) / 2
		switch {
		case k == e.levels[i-1].count:
		case e.canTell(k, chosen, chosen.servers):
			return k, "are fewer instances enough?"
		case chosen.servers == 1 && e.repeats < e.Repeats && e.canTell(k, chosen, 2):
			return chosen.count, "repeated to tell fewer instances from it"
		}
	}
	return 0, ""
}

// contested returns a count to measure again because what was seen of it may be noise.
func (e *evidence) contested(chosen, best level) (again level, ok bool) {
	levels := e.withinProcessors()
	if chosen.count > levels[len(levels)-1].count { // proven
		levels = e.levels
	}
	// Is a smaller count surely worse?
	i := slices.Index(levels, chosen)
	for _, l := range levels[:i] {
		if by, margin := e.better(l, levels); margin < clear {
			return fewerServers(l, by), true
		}
	}
	// May a larger one be better?
	var rival level
	most := math.Log1p(worth * e.MinGain)
	for _, l := range levels[i+1:] {
		may := l.mean - chosen.mean + measure.StudentQuantile(1-overlooked, e.freedom)*e.deviation(l.servers, chosen.servers)
		if may >= most {
			rival, most = l, may
		}
	}
	if rival.count > 0 {
		return fewerServers(chosen, rival), true
	}
	for _, l := range e.levels { // beyond the processors it would take proof
		if l.count > levels[len(levels)-1].count && e.gain(l, best) >= 2*e.MinGain {
			return fewerServers(best, l), true
		}
	}
	return level{}, false
}

// fewerServers returns the count of two with fewer servers; of equals the smaller one.
func fewerServers(a, b level) level {
	if b.servers < a.servers || b.servers == a.servers && b.count < a.count {
		return b
	}
	return a
}

// larger returns the count to try after the largest one. Even with perfect scaling, instances beyond 1/MinGain gain less.
func (e *evidence) larger(count int) int {
	k := 2 * count
	if count < e.Processors {
		k = min(k, e.Processors)
	}
	if e.MinGain > 0 {
		k = min(k, int(math.Ceil(1/e.MinGain))+1)
	}
	return min(k, e.Most)
}

// canTell reports whether a smaller count could be told from the chosen one, of which so many servers were measured,
// if throughput grew with the count.
func (e *evidence) canTell(count int, chosen level, servers int) bool {
	loss := math.Log(float64(chosen.count) / float64(count))
	return math.Expm1(loss) >= e.MinGain && loss > likely*e.noticeable(1, servers)
}
