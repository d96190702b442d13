package repository

import (
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
)

// source is the scheduler that a version's configuration asks for, with a seat
// for each of n instances.
func (r *Repository) source(v *version, n int) (scheduler.Source, []*scheduler.Seat) {
	d := v.config.GetDynamicBatching()
	o := scheduler.Options{
		Policy: scheduler.Direct{}, Rules: scheduler.RulesOf(v.config), Ordered: d.GetPreserveOrdering(),
		Seats: n, Stats: v.stats,
	}
	if d != nil && v.config.GetMaxBatchSize() > 0 {
		o.Policy = dynamic.New(v.config)
		if d.GetMaxQueueDelayMicroseconds() > 0 {
			o.Alarm = r.opts.NewAlarm()
		}
	}
	return scheduler.NewQueue(o)
}
