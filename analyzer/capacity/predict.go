package capacity

import (
	"cmp"
	"time"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
)

// Predictor returns a forecast of measurements for a search: the rows per second and the 99th
// percentile of the latency, in milliseconds, of a proposal. base is the model's own
// configuration, devices is how many the server uses. It knows nothing of proposals with
// several models, with composing models, or with a file of intervals.
func Predictor(p Planner, base *inferencepb.ModelConfig, devices int) func(trial.Proposal) (throughput, p99ms float64, ok bool) {
	return func(t trial.Proposal) (throughput, p99ms float64, ok bool) {
		if len(t.Members) != 1 || len(t.Members[0].Composing) > 0 {
			return 0, 0, false
		}
		m := t.Members[0]
		config, err := m.Patch.Apply(base)
		rows := max(m.Load.Batch, 1)
		if err != nil || rows > max(int(config.GetMaxBatchSize()), 1) {
			return 0, 0, false
		}
		planner := p
		planner.Base = config
		s := settingOf(config, max(devices, 1))
		var o Outcome
		switch {
		case m.Load.Concurrency > 0:
			o = planner.RunClosed(s, m.Load.Concurrency, rows, enough(m.Load.Concurrency))
		case m.Load.RequestRate > 0:
			l := Load{Rate: float64(m.Load.RequestRate), Constant: true, Rows: rows, Requests: enough(0)}
			o = planner.Run(s, l.Arrivals())
		}
		if o.Answered == 0 {
			return 0, 0, false
		}
		return o.Rows, float64(o.P99) / float64(time.Millisecond), true
	}
}

// enough is how many requests a forecast runs: each client sends a hundred.
func enough(clients int) int { return max(5000, 100*clients) }

// settingOf reads the setting of a configuration. A group without a number of instances has
// one on each of its devices.
func settingOf(c *inferencepb.ModelConfig, devices int) Setting {
	s := Setting{MaxBatch: int(c.GetMaxBatchSize()), Delay: NoDelay, Devices: devices}
	if d := c.GetDynamicBatching(); d != nil {
		s.Delay = kserve.Micros(d.GetMaxQueueDelayMicroseconds())
		for _, n := range d.GetPreferredBatchSize() {
			s.Preferred = append(s.Preferred, int(n))
		}
	}
	for _, g := range c.GetInstanceGroup() {
		on := max(len(g.GetGpus()), 1)
		if len(g.GetGpus()) == 0 && g.GetKind() != inferencepb.ModelInstanceGroup_KIND_CPU {
			on = devices
		}
		s.Instances += max(int(g.GetCount()), 1) * on
	}
	s.Instances = cmp.Or(s.Instances, devices)
	return s
}
