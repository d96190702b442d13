package search

import (
	"maps"

	"triton/analyzer/trial"
)

// lost is the share of the best throughput below which a trial need not be measured any longer.
const lost = 0.9

// rival returns the throughput below which a trial is not the best, whatever else is measured of it;
// 0 if there is none: nothing meets the constraints yet, or other metrics count too.
func (p *plan) rival() float64 {
	if p.best == nil || !p.Passes(p.best.m) || p.Judge.Score(slower(p.best.m), p.best.m) >= 0 || p.Judge.Score(worse(p.best.m), p.best.m) != 0 {
		return 0
	}
	return lost * p.best.throughput
}

// slower returns a measurement with half the throughput.
func slower(m *trial.Measurement) *trial.Measurement {
	return changed(m, func(tag trial.Metric) bool { return tag == trial.Throughput }, 0.5)
}

// worse returns a measurement that differs in everything but the throughput.
func worse(m *trial.Measurement) *trial.Measurement {
	return changed(m, func(tag trial.Metric) bool { return tag != trial.Throughput }, 2)
}

func changed(m *trial.Measurement, which func(trial.Metric) bool, factor float64) *trial.Measurement {
	change := func(v trial.Values) trial.Values {
		v = maps.Clone(v)
		for tag := range v {
			if which(tag) {
				v[tag] *= factor
			}
		}
		return v
	}
	out := *m
	out.Members, out.GPUs = nil, map[string]trial.Values{}
	for _, v := range m.Members {
		out.Members = append(out.Members, change(v))
	}
	for id, v := range m.GPUs {
		out.GPUs[id] = change(v)
	}
	return &out
}
