package model

import (
	"slices"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/server/scheduler"
)

// extensions reads the parameters of features that Triton does not have.
func extensions(c *modelconfig.Config) (extension.Settings, error) {
	s, found := extension.Read(c)
	return s, c.First(found)
}

// setObservers sets the observers of the batches of a version with a queue: the adaptive queue
// delay and admission control.
func (v *LoadedVersion) setObservers(p scheduler.Policy, q *scheduler.Queue, instances int) {
	var all scheduler.Observers
	if d := v.extensions.Delay; d != nil {
		all = append(all, v.adapt(d, p.(*scheduler.DynamicBatching)))
	}
	if v.extensions.Admission {
		v.queue, v.estimate = q, newFinishEstimate(instances, largestBatch(v.config))
		all = append(all, v.estimate)
	}
	if len(all) > 0 {
		v.observer = all
	}
}

// adapt returns the observer that adapts the queue delay.
func (v *LoadedVersion) adapt(d *extension.Delay, p *scheduler.DynamicBatching) scheduler.Observer {
	start := v.config.GetDynamicBatching().GetMaxQueueDelayMicroseconds()
	return scheduler.NewDelayController(scheduler.DelayOptions{
		DelayGoal: scheduler.DelayGoal{Target: d.Target, Limit: d.Limit},
		Start:     time.Duration(min(start, uint64(d.Limit.Microseconds()))) * time.Microsecond,
		Set: func(d time.Duration) {
			p.SetDelay(d)
			v.stats.SetQueueDelay(d)
		},
	})
}

// largestBatch returns the number of rows up to which the scheduler batches requests; 0: it
// does not batch.
func largestBatch(c *inferencepb.ModelConfig) int {
	d := c.GetDynamicBatching()
	switch {
	case d == nil:
		return 0
	case len(d.GetPreferredBatchSize()) > 0:
		return int(slices.Max(d.GetPreferredBatchSize()))
	}
	return int(c.GetMaxBatchSize())
}

// queueRules returns the rules of the queue: those of Triton within one caller, callers take turns.
func (v *LoadedVersion) queueRules() scheduler.Rules {
	r := scheduler.RulesOf(v.config)
	r.Fair = true
	if s := v.extensions.Shed; s != nil {
		r.Shed = scheduler.Shed{Target: int64(s.Target), Interval: int64(s.Interval)}
		v.stats.EnableShedding()
	}
	return r
}
