package memory

import (
	"fmt"
	"slices"
	"time"

	"triton/pkg/ui"
)

// DelayFinding says that most of a setting's latency is the queue delay: the batcher waits for requests that the load
// does not send.
type DelayFinding struct {
	Delay time.Duration // max_queue_delay_microseconds
	Size  int           // the smallest batch that is not delayed
	Load  Load
	// Waited is the part of Latency in the queue, both on average.
	Waited, Latency time.Duration
	// Shorter is a delay as long as the rest of the latency, so that waiting at most doubles it.
	Shorter time.Duration
	// Fuller is what the same count gave with more requests in flight; nil if that was not measured or waits too.
	Fuller *Point
}

// The queue delay is a finding if it is the larger part of the latency, and if the time in the queue is no more than the
// delay explains: requests that wait for a busy instance wait longer or shorter.
const (
	delayShare = 0.5
	delayLeast = 0.7
	delayMost  = 1.2
)

// findDelay returns whether requests at a setting wait for the batcher rather than for an instance.
func (r *run) findDelay(p Point) *DelayFinding {
	batching := r.shared.GetDynamicBatching()
	delay := time.Duration(batching.GetMaxQueueDelayMicroseconds()) * time.Microsecond
	size := int(r.shared.GetMaxBatchSize())
	if preferred := batching.GetPreferredBatchSize(); len(preferred) > 0 {
		size = int(slices.Min(preferred))
	}
	queued, latency := float64(p.Queue), float64(p.Avg)
	switch {
	case p.Err != nil || delay == 0 || p.Queue == 0 || p.Rows >= float64(size):
		return nil
	case queued < delayLeast*float64(delay) || queued > delayMost*float64(delay) || queued < delayShare*latency:
		return nil
	}
	found := &DelayFinding{Delay: delay, Size: size, Load: p.Load, Waited: p.Queue, Latency: p.Avg}
	found.Shorter = min(niceDelay(p.Avg-p.Queue), delay/2)
	for i, c := range r.result.Compared {
		if c.Instances == p.Instances && c.Concurrency > p.Concurrency && c.Queue < delay/2 {
			found.Fuller = &r.result.Compared[i]
		}
	}
	return found
}

// niceDelay rounds a time up to 1, 2 or 5 times a power of ten of microseconds, at least 100.
func niceDelay(d time.Duration) time.Duration {
	for unit := 100 * time.Microsecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if d <= n*unit {
				return n * unit
			}
		}
	}
}

// lines says what was found, and the line of the configuration that changes it.
func (d *DelayFinding) lines() []string {
	fill := "seldom"
	if d.Load.Batch*d.Load.Concurrency < d.Size {
		fill = "never"
	}
	text := fmt.Sprintf("found: %s of %s ms are the batcher waiting for requests that do not come: max_queue_delay_microseconds is %d, and %s in flight %s make a batch of %d.",
		decimal(milliseconds(d.Waited), 1), decimal(milliseconds(d.Latency), 1), d.Delay.Microseconds(), ui.Plural(d.Load.Concurrency, "request"), fill, d.Size)
	if f := d.Fuller; f != nil {
		text += fmt.Sprintf(" With %d in flight the same server gave %s inferences/s, p99 %s ms.", f.Concurrency, decimal(f.Throughput, 1), decimal(milliseconds(f.P99), 2))
	}
	return []string{
		text + " Put more requests in flight, or let the batcher wait less, in dynamic_batching:",
		fmt.Sprintf("    max_queue_delay_microseconds: %d", d.Shorter.Microseconds()),
	}
}
