package traffic

import (
	"fmt"
	"math"
)

// canaryQuantile is the quantile of latency that is compared.
const canaryQuantile = 0.99

// canaryLimits are the differences that are accepted.
type canaryLimits struct {
	errorIncrease float64
	p99Ratio      float64
}

// harm returns in which way the canary is worse than the stable target; empty: it is not shown to
// be worse. The probability of a reason for a canary that is not worse is at most alpha.
func (l canaryLimits) harm(stable, canary *canarySample, alpha float64) string {
	if stable.requests == 0 || canary.requests == 0 {
		return ""
	}
	alpha /= 2 // for each of the two comparisons
	ps, pc := stable.errorRate(), canary.errorRate()
	if p := moreFailures(stable.failed, stable.requests, canary.failed, canary.requests); p < alpha && pc-ps > l.errorIncrease {
		return fmt.Sprintf("%d of %d requests failed, of the stable target %d of %d (p = %.2g)",
			canary.failed, canary.requests, stable.failed, stable.requests, p)
	}
	low, _ := canary.interval(canaryQuantile, alpha/2)
	_, high := stable.interval(canaryQuantile, alpha/2)
	if low > l.p99Ratio*high {
		return fmt.Sprintf("the 99th percentile of latency is above %.3g ms, more than %g times that of the stable target, below %.3g ms",
			low/1e6, l.p99Ratio, high/1e6)
	}
	return ""
}

func (s *canarySample) errorRate() float64 { return float64(s.failed) / float64(s.requests) }

// minExpected is the expected count below which the normal approximation of two proportions is
// replaced by the exact distribution (Cochran 1954).
const minExpected = 5

// moreFailures returns the one-sided p-value of the hypothesis that the canary does not fail more
// often: the two-proportion z-test with a pooled variance, or Fisher's exact test where few
// failures are expected.
func moreFailures(failedS, n, failedC, m int64) float64 {
	failed, all := float64(failedS+failedC), float64(n+m)
	expected := min(failed, all-failed) * float64(min(n, m)) / all
	if expected < minExpected {
		return fisher(failedS, n, failedC, m)
	}
	p := failed / all
	z := (float64(failedC)/float64(m) - float64(failedS)/float64(n)) / math.Sqrt(p*(1-p)*(1/float64(n)+1/float64(m)))
	return math.Erfc(z/math.Sqrt2) / 2
}

// fisher returns the probability that at least failedC of all failures are the canary's, if every
// request was as likely to fail.
func fisher(failedS, n, failedC, m int64) float64 {
	failed := failedS + failedC
	total := logChoose(n+m, failed)
	p := 0.0
	for x := failedC; x <= min(failed, m); x++ {
		if failed-x > n {
			continue
		}
		term := math.Exp(logChoose(m, x) + logChoose(n, failed-x) - total)
		p += term
		if term < p*1e-12 { // the terms shrink from the mode on
			break
		}
	}
	return min(p, 1)
}

func logChoose(n, k int64) float64 {
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

func logFactorial(n int64) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// interval returns lower and upper confidence bounds of a quantile of latency in nanoseconds, each
// wrong with a probability of at most alpha: the values at ranks of a binomial distribution, which
// hold for every distribution of latencies (Conover, Practical Nonparametric Statistics, 3.2). The
// upper bound is infinite while there are too few requests for one.
func (s *canarySample) interval(q, alpha float64) (low, high float64) {
	fewest, most := ranksAbove(s.succeeded, 1-q, alpha)
	if rank := s.succeeded - most; rank >= 1 {
		low = lowerBound(s.bucketAt(rank))
	}
	if fewest < 0 {
		return low, math.Inf(1)
	}
	return low, upperBound(s.bucketAt(s.succeeded - fewest))
}

// maxExact is the expected number of requests above a quantile up to which their distribution is
// summed. Beyond, the normal approximation is as good.
const maxExact = 1000

// ranksAbove returns bounds of how many of n requests are above a quantile that each is above with
// probability p: there are at most fewest, and there are more than most, with a probability of at
// most alpha each. fewest is -1 if even none is likelier. The distribution is summed because few
// requests are above the 99th percentile, and then the normal approximation is far off in the tails.
func ranksAbove(n int64, p, alpha float64) (fewest, most int64) {
	mean := float64(n) * p
	if mean > maxExact {
		margin := normalQuantile(1-alpha) * math.Sqrt(mean*(1-p))
		return int64(mean-margin) - 1, int64(math.Ceil(mean+margin)) + 1
	}
	fewest = -1
	below := 0.0
	for k := range n + 1 {
		below += math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		if below <= alpha {
			fewest = k
		}
		if 1-below <= alpha {
			return fewest, k
		}
	}
	return fewest, n
}

// quantile returns an estimate of a quantile of latency in nanoseconds; 0 without requests.
func (s *canarySample) quantile(q float64) float64 {
	if s.succeeded == 0 {
		return 0
	}
	return upperBound(s.bucketAt(max(int64(math.Ceil(float64(s.succeeded)*q)), 1)))
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
