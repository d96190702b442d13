package search

import (
	"math"

	"triton/analyzer/trial"
)

// cost is the built-in model of a server: the execution of a batch takes a constant time and a
// time for each row, instances slow each other down once there are more than the machine runs in
// parallel, and a request spends some time outside. All times are relative to the execution of one
// row; scale brings them to seconds.
type cost struct {
	row      float64 // share of the time that depends on the number of rows
	parallel float64 // instances that run without slowing each other down
	outside  float64
	forming  float64 // batches that form while the instances run one each
	scale    float64
}

// execute returns the time of a batch while a number of instances are busy.
func (c cost) execute(rows, busy float64) float64 {
	return (1 - c.row + c.row*rows) * max(1, busy/c.parallel)
}

// predict returns the throughput in rows per second, and the 99th percentile of the latency in
// milliseconds up to a constant factor, which the process learns.
func (c cost) predict(p *point) (throughput, p99 float64) {
	rows := float64(max(p.Load.Batch, 1))
	k := float64(max(p.instances, 1))
	limit := max(float64(p.maxBatch), rows)
	if p.maxBatch <= 1 {
		limit = rows
	}
	if p.Load.RequestRate > 0 {
		return c.openLoad(float64(p.Load.RequestRate)*rows, rows, k, limit)
	}
	inFlight := float64(max(p.Load.Concurrency, 1)) * rows
	batch := min(limit, max(rows, inFlight/(k+c.forming)))
	busy := min(k, inFlight/batch)
	run := c.execute(batch, busy)
	x := min(busy*batch/run, inFlight/(run+c.outside)) / c.scale
	return x, 1000 * inFlight / x
}

// capacity returns the highest throughput of k instances with full batches.
func (c cost) capacity(k, limit float64) float64 {
	return k * limit / c.execute(limit, k) / c.scale
}

// openLoad predicts a load of rate rows per second that does not wait for answers.
func (c cost) openLoad(rate, rows, k, limit float64) (throughput, p99 float64) {
	capacity := c.capacity(k, limit)
	batch := rows
	for range 3 {
		batch = min(limit, max(rows, rate*c.scale*c.execute(batch, k)/k))
	}
	use := min(rate/capacity, 0.98)
	x := min(rate, capacity)
	wait := c.scale * (c.outside + c.execute(batch, k)*(1+use/(2*(1-use))))
	return x, 1000 * wait
}

// overloaded reports whether fewer requests were answered than came in. The latency then depends on
// how long the measurement took.
func (o observation) overloaded() bool {
	return o.point.Load.RequestRate > 0 && o.throughput < 0.95*float64(o.point.Load.RequestRate*max(o.point.Load.Batch, 1))
}

// The values that the parameters of the cost model may have.
var (
	rowShares = []float64{0.01, 0.03, 0.08, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 1}
	parallels = []float64{1, 1.4, 2, 2.8, 4, 5.6, 8, 16}
	outsides  = []float64{0, 0.3, 1, 3}
	formings  = []float64{0, 1}
)

// costs returns all cost models, each with the scale that fits the measurements best.
func costs(seen []observation) []cost {
	var all []cost
	for _, row := range rowShares {
		for _, parallel := range parallels {
			for _, outside := range outsides {
				for _, forming := range formings {
					c := cost{row: row, parallel: parallel, outside: outside, forming: forming, scale: 1}
					c.scale = c.scaleFor(seen)
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// scaleFor returns the scale for which the mean residual is zero. Below saturation, the throughput
// of a request rate is no measure of time; the latency is.
func (c cost) scaleFor(seen []observation) float64 {
	var sum float64
	for _, o := range seen {
		rows := float64(max(o.point.Load.Batch, 1))
		switch {
		case o.overloaded():
			limit := max(float64(o.point.maxBatch), rows)
			sum += math.Log(c.capacity(float64(max(o.point.instances, 1)), limit)) - math.Log(o.throughput)
		case o.point.Load.RequestRate > 0:
			sum += math.Log(o.p99/1000) - math.Log(1.5*(c.execute(rows, 1)+c.outside))
		default:
			x, _ := c.predict(o.point)
			sum += math.Log(x) - math.Log(o.throughput)
		}
	}
	return math.Exp(sum / float64(max(len(seen), 1)))
}

// observation is a measured point.
type observation struct {
	point           *point
	m               *trial.Measurement
	throughput, p99 float64
	noise           float64 // standard deviation of the logarithm of throughput
}
