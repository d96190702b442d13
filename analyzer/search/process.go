package search

import (
	"math"
	"slices"
)

// lengths are the distances, in doublings, over which the residuals of the cost model are alike:
// of instances, largest batch, load and rows of a request. Further axes have length 1.
var lengths = []float64{0.9, 1.5, 1.5, 2}

// process is a Gaussian process over the points: it predicts the residuals of the cost model
// between the measured points, and how uncertain the prediction is.
type process struct {
	seen      []observation
	amplitude float64
	factor    [][]float64 // lower triangle of the Cholesky factor of the covariance
}

// similar returns the correlation of the residuals of two points: the Matérn function 5/2.
func similar(a, b *point) float64 {
	var sum float64
	for i, x := range a.at {
		d := x - b.at[i]
		if i < len(lengths) {
			d /= lengths[i]
		}
		sum += d * d
	}
	r := math.Sqrt(5 * sum)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// newProcess returns the process with the given standard deviation of the residuals. Measurements
// vary by noise from run to run, on top of what their confidence says.
func newProcess(seen []observation, amplitude, noise float64) *process {
	p := &process{seen: seen, amplitude: amplitude}
	n := len(seen)
	p.factor = make([][]float64, n)
	for i := range n {
		p.factor[i] = make([]float64, i+1)
		for j := 0; j <= i; j++ {
			v := amplitude * amplitude * similar(seen[i].point, seen[j].point)
			if i == j {
				v += seen[i].noise*seen[i].noise + noise*noise
			}
			for k := range j {
				v -= p.factor[i][k] * p.factor[j][k]
			}
			if i == j {
				p.factor[i][i] = math.Sqrt(max(v, 1e-10))
			} else {
				p.factor[i][j] = v / p.factor[j][j]
			}
		}
	}
	return p
}

// forward solves L·x = v in place, where L is the factor.
func (p *process) forward(v []float64) {
	for i := range v {
		for k := range i {
			v[i] -= p.factor[i][k] * v[k]
		}
		v[i] /= p.factor[i][i]
	}
}

// solve returns the weights of the residuals in a prediction.
func (p *process) solve(residuals []float64) []float64 {
	v := append([]float64(nil), residuals...)
	p.forward(v)
	for i := len(v) - 1; i >= 0; i-- {
		for k := i + 1; k < len(v); k++ {
			v[i] -= p.factor[k][i] * v[k]
		}
		v[i] /= p.factor[i][i]
	}
	return v
}

// likeliest returns the process under which the residuals of some model, each as probable as the
// others, are the most likely.
func likeliest(seen []observation, residuals [][]float64, noises []float64) *process {
	var best *process
	top := math.Inf(-1)
	for _, a := range amplitudes {
		for _, noise := range noises {
			p := newProcess(seen, a, noise)
			likely := make([]float64, len(residuals))
			for i, r := range residuals {
				likely[i] = p.likelihood(r)
			}
			most := slices.Max(likely)
			var sum float64
			for _, l := range likely {
				sum += math.Exp(l - most)
			}
			if evidence := most + math.Log(sum); best == nil || evidence > top {
				best, top = p, evidence
			}
		}
	}
	return best
}

// likelihood returns the logarithm of the density of the residuals.
func (p *process) likelihood(residuals []float64) float64 {
	v := append([]float64(nil), residuals...)
	p.forward(v)
	var sum float64
	for i, x := range v {
		sum -= x*x/2 + math.Log(p.factor[i][i])
	}
	return sum
}

// at writes the covariances of a point with the measured ones into the buffer, and returns the
// standard deviation of the prediction.
func (p *process) at(x *point, covariance []float64) (deviation float64) {
	v := make([]float64, len(p.seen))
	for i, o := range p.seen {
		covariance[i] = p.amplitude * p.amplitude * similar(x, o.point)
	}
	copy(v, covariance)
	p.forward(v)
	rest := p.amplitude * p.amplitude
	for _, y := range v {
		rest -= y * y
	}
	return math.Sqrt(max(rest, 0))
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
