package result

import (
	"math"
	"slices"

	"triton/pkg/measure"
)

// priorWeight is how many observations the assumed spread between runs counts as if a side has one run. With n
// runs it counts as priorWeight/(n*n): with five it is a twelfth of an observation, so that they speak for
// themselves. TestEqualServers and TestPower chose it together with the default spread of 12 %: a weight that
// does not shrink hides differences of 10 % from ten runs of a quiet machine, and with 10 % more than 5 of
// 100 comparisons of single runs on a machine with bursts found a difference.
const priorWeight = 2.0

// sample is a figure of the runs of a side, in the order of time.
type sample struct {
	logs   []float64
	own    float64   // mean variance of a log that the run itself explains
	vague  bool      // no run knows its own error
	center float64   // mean of logs
	paces  []float64 // logs of the pace of the machine around the runs; nil if one of them is not known
	fitted float64   // degrees of freedom that a slope over the paces took
	// files are those that the runs are from; 0 if what changes between files concerns both sides.
	files int
}

// enoughInFile is how many repeats of one file say as much as all of it can. A machine changes also over minutes,
// which repeats within one do not show: the means of 25 repeats within 36 seconds scattered between nine such
// files of one server, made within 20 minutes on a quiet machine, by 1.6 to 2.0 % where the spread of their repeats
// explains 0.8 to 1.3 %. Such noise is as large over long times as over short ones (D. Allan, Statistics of atomic
// frequency standards, Proceedings of the IEEE 54, 1966), so that it is a share of the spread.
const enoughInFile = 10

// sampleOf returns a figure of levels. paces are around each of them, nil if they are not to be used.
func sampleOf(levels []*Level, paces []float64, figure string) sample {
	s := sample{vague: true}
	known := paces != nil
	for i, l := range levels {
		e := estimateOf(l, figure)
		if !(e.value > 0) {
			continue
		}
		s.logs = append(s.logs, math.Log(e.value))
		s.own += e.err * e.err / (e.value * e.value)
		s.vague = s.vague && e.freedom == 0
		if known = known && !math.IsNaN(paces[i]); known {
			s.paces = append(s.paces, paces[i])
		}
	}
	if !known {
		s.paces = nil
	}
	s.own /= max(1, float64(len(s.logs)))
	s.center = meanOf(s.logs)
	return s
}

// runsMean is the mean of the logs of a side.
type runsMean struct {
	value, freedom float64
	perRun         float64 // variance that more runs divide
	perFile        float64 // variance that more files divide
	runs, files    float64
}

// variance returns the squared standard error of the mean.
func (m runsMean) variance() float64 { return m.perRun/m.runs + m.perFile/m.files }

// meanOfRuns returns the mean of the logs with its standard error. scale is the assumed variance of one log.
//
// The variance between runs is that of the runs, moderated by the assumed one (G. Smyth, Linear models and
// empirical Bayes methods for assessing differential expression in microarray experiments, Statistical
// Applications in Genetics and Molecular Biology 3, 2004), and at least the one that the runs' own errors
// explain. Runs that resemble the run before them count less, as moments do in meanError. The lag-1
// correlation of a short series is too low by about (1+3r)/n (F. Marriott, J. Pope, Bias in the estimation
// of autocorrelations, Biometrika 41, 1954), so that is added where the series shows a correlation.
func (s sample) meanOfRuns(scale float64) runsMean {
	n := float64(len(s.logs))
	var all, lag float64
	for i, v := range s.logs {
		all += (v - s.center) * (v - s.center)
		if i > 0 {
			lag += (v - s.center) * (s.logs[i-1] - s.center)
		}
	}
	effective := n
	const rounding = 1e-20 // variance of equal logs
	if r := lag / max(all, math.SmallestNonzeroFloat64); r > 0 && all > rounding {
		r = min(r+(1+3*r)/n, 0.95)
		effective = max(1, n*(1-r)/(1+r))
	}
	weight := priorWeight / (n * n)
	variance := max((weight*scale+all)/(weight+n-1-s.fitted), s.own)
	m := runsMean{
		value: s.center, freedom: weight + max(0, min(n, 1+effective)-1-s.fitted),
		perRun: variance * n / effective, runs: n, files: float64(max(1, s.files)),
	}
	if s.files > 0 && n > 1 {
		m.perFile = variance / enoughInFile
	}
	return m
}

// difference is that of the logs of a figure: b - a.
type difference struct {
	value, err, freedom float64
	perRun, perFile     float64 // of both sides together
	// machine is how much of value a change of the machine itself may explain, anything from 0 to that, and
	// machineErr its standard error.
	machine, machineErr float64
}

// compareSamples returns the difference of two sides by B. Welch's method (Biometrika 34, 1947). l is the slope that the
// sides were adjusted by.
func compareSamples(a, b sample, l slope, spread float64) difference {
	ea, eb := a.meanOfRuns(spread*spread), b.meanOfRuns(spread*spread)
	va, vb := ea.variance(), eb.variance()
	return difference{
		value: eb.value - ea.value, err: math.Hypot(math.Sqrt(va+vb), l.err*(l.centerB-l.centerA)),
		freedom: (va + vb) * (va + vb) / max(va*va/ea.freedom+vb*vb/eb.freedom, math.SmallestNonzeroFloat64),
		perRun:  ea.perRun + eb.perRun, perFile: ea.perFile + eb.perFile,
	}
}

// comparePairs returns the difference of runs that were measured next to each other. What disturbs both
// runs of a pair is not in it.
func comparePairs(a, b sample, spread float64) difference {
	d := sample{logs: slices.Clone(b.logs), own: a.own + b.own}
	for i := range d.logs {
		d.logs[i] -= a.logs[i]
	}
	d.center = meanOf(d.logs)
	e := d.meanOfRuns(2 * spread * spread)
	return difference{value: e.value, err: math.Sqrt(e.variance()), freedom: e.freedom, perRun: e.perRun}
}

// probability returns the probability of such a difference if there is none but what the machine explains: the
// largest one of all that it may.
func (d difference) probability() float64 {
	rest := d.withoutMachine()
	if rest.value*d.value < 0 { // something in between explains all
		return 1
	}
	return max(d.byChance(), rest.byChance())
}

// withoutMachine returns what is left if the machine explains as much as it may. The error of that is in it.
func (d difference) withoutMachine() difference {
	return difference{value: d.value - d.machine, err: math.Hypot(d.err, d.machineErr), freedom: d.freedom}
}

// byChance returns the probability of such a difference if there is none.
func (d difference) byChance() float64 {
	if d.err == 0 {
		if d.value == 0 {
			return 1
		}
		return 0
	}
	return measure.StudentTwoSided(d.value/d.err, d.freedom)
}

// interval returns the ends of the confidence interval of the relative change.
func (d difference) interval(significance float64) (low, high float64) {
	rest := d.withoutMachine()
	half, wider := d.beyondChance(significance), rest.beyondChance(significance)
	return math.Expm1(min(d.value-half, rest.value-wider)), math.Expm1(max(d.value+half, rest.value+wider))
}

// beyondChance returns what chance exceeds with the significance, up to one whose change can be written as a number.
func (d difference) beyondChance(significance float64) float64 {
	const most = 100
	if d.err == 0 {
		return 0
	}
	return min(d.err*measure.StudentQuantile(1-significance/2, d.freedom), most)
}
