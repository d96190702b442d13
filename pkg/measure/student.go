package measure

import "math"

// nearlyNormal is a number of degrees of freedom from which on Student's t is the normal distribution for all
// practical purposes: with more, the logarithms of the gamma function lose digits.
const nearlyNormal = 1e6

// StudentTwoSided returns the probability that Student's t with some degrees of freedom is at least as far from 0
// as t.
func StudentTwoSided(t, freedom float64) float64 {
	freedom = min(freedom, nearlyNormal)
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// StudentQuantile returns the value that Student's t with some degrees of freedom is below with probability p, which
// is at least 0.5 and below 1.
func StudentQuantile(p, freedom float64) float64 {
	freedom = min(freedom, nearlyNormal)
	outside := 2 * (1 - p)
	gamma, _ := math.Lgamma(freedom / 2)
	gammaHalf, _ := math.Lgamma((freedom + 1) / 2)
	scale := math.Exp(gammaHalf-gamma) / math.Sqrt(freedom*math.Pi)
	// The quantile of the normal distribution is nearer to 0. From there Newton's steps never pass the root,
	// because StudentTwoSided is convex.
	t := math.Sqrt2 * math.Erfinv(2*p-1)
	for range 100 {
		density := scale * math.Pow(1+t*t/freedom, -(freedom+1)/2)
		step := (StudentTwoSided(t, freedom) - outside) / (2 * density)
		t += step
		if step <= 1e-12*t {
			break
		}
	}
	return t
}

// incompleteBeta returns the regularized incomplete beta function I_x(a, b), by its continued
// fraction (NIST Digital Library of Mathematical Functions, 8.17.22).
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	const tiny = 1e-300
	away := func(v float64) float64 { // from 0
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	sum := d
	for i := 1; i <= 500; i++ {
		m := float64(i)
		for _, term := range []float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / away(1+term*d)
			c = away(1 + term/c)
			sum *= c * d
		}
		if math.Abs(c*d-1) < 1e-14 {
			break
		}
	}
	return front * sum / a
}
