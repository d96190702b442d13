package extension

import (
	"strconv"
	"time"
)

// maxTime bounds times, so that sums of them do not overflow.
const maxTime = time.Hour

func (r *reader) delay() *Delay {
	defer r.unknown("max_queue_delay_")
	if _, ok := r.text(KeyTarget); !ok {
		if _, ok := r.text(KeyDelayLimit); ok {
			r.add(KeyDelayLimit, "set "+KeyTarget+" too", "without %s there is nothing to limit", KeyTarget)
		}
		return nil
	}
	if r.GetDynamicBatching() == nil || r.GetMaxBatchSize() < 1 {
		r.add(KeyTarget, "add dynamic_batching { } and max_batch_size", "only the dynamic batcher has a queue delay")
	}
	d := &Delay{Target: r.micros(KeyTarget)}
	d.Limit = d.Target
	if _, ok := r.text(KeyDelayLimit); ok {
		d.Limit = min(r.micros(KeyDelayLimit), d.Target)
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
