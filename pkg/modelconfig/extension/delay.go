package extension

import (
	"strconv"
	"time"
)

// maxTime bounds times, so that sums of them do not overflow.
const maxTime = time.Hour

func (r *reader) delay() *Delay {
	defer r.unknown("max_queue_delay_")
	if _, ok := r.text(keyTarget); !ok {
		if _, ok := r.text(keyDelayLimit); ok {
			r.add(keyDelayLimit, "set "+keyTarget+" too", "without %s there is nothing to limit", keyTarget)
		}
		return nil
	}
	if r.GetDynamicBatching() == nil || r.GetMaxBatchSize() < 1 {
		r.add(keyTarget, "add dynamic_batching { } and max_batch_size", "only the dynamic batcher has a queue delay")
	}
	d := &Delay{Target: r.micros(keyTarget)}
	d.Limit = d.Target
	if _, ok := r.text(keyDelayLimit); ok {
		d.Limit = min(r.micros(keyDelayLimit), d.Target)
	}
	return d
}

// micros returns a parameter that is a time in microseconds.
func (r *reader) micros(key string) time.Duration {
	text, _ := r.text(key)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxTime.Microseconds() {
		r.add(key, "", "'%s' is not a number of microseconds from 1 to %d", text, maxTime.Microseconds())
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
