package stats

import "sync/atomic"

// DeviceStats holds the counters of the instances on one device. Each GPU with metrics has
// its own; all other instances share those of the model.
type DeviceStats struct {
	model *Model
	uuid  string // of the GPU; empty for those of the model

	inferences atomic.Uint64
	executions atomic.Uint64
	success    Duration
	queue      Duration
	input      Duration
	infer      Duration
	output     Duration
	fail       Duration
	failed     [numFailures]atomic.Uint64
	samples    *samples // nil when off
}

// Device returns the counters of the instances on a GPU: the GPU's own, or the model's
// if the GPU has no metrics. It is called once for each instance.
func (m *Model) Device(gpu int) *DeviceStats {
	uuid := m.opts.gpus[gpu]
	if uuid == "" {
		return &m.DeviceStats
	}
	m.gpus.Lock()
	defer m.gpus.Unlock()
	for _, p := range m.gpus.devices {
		if p.uuid == uuid {
			return p
		}
	}
	p := &DeviceStats{model: m, uuid: uuid, samples: m.opts.samples()}
	m.gpus.devices = append(m.gpus.devices, p)
	return p
}

// devices returns the model's own counters and those of its GPUs.
func (m *Model) devices() []*DeviceStats {
	m.gpus.Lock()
	defer m.gpus.Unlock()
	return append([]*DeviceStats{&m.DeviceStats}, m.gpus.devices...)
}

// Executed counts one execution.
func (d *DeviceStats) Executed(b *Batch) {
	d.executions.Add(1)
	d.model.latest.Store(b.End)
	s := d.model.size(b.Rows)
	s.count.Add(1)
	s.input.Add(uint64(max(b.Input, 0)))
	s.infer.Add(uint64(max(b.Infer, 0)))
	s.output.Add(uint64(max(b.Output, 0)))
	if b.Requests > 0 {
		d.Completed(b)
	}
}

// Completed counts the requests of a batch that was counted by Executed and answered
// later.
func (d *DeviceStats) Completed(b *Batch) {
	n := int64(b.Requests)
	d.inferences.Add(uint64(b.Succeeded))
	d.success.add(b.Requests, b.Total)
	d.queue.add(b.Requests, b.Queued)
	d.input.add(b.Requests, n*b.Input)
	d.infer.add(b.Requests, n*b.Infer)
	d.output.add(b.Requests, n*b.Output)
}

// Fail counts a request that failed ns after its arrival.
func (d *DeviceStats) Fail(why Failure, ns int64) {
	d.fail.add(1, ns)
	d.failed[why].Add(1)
}

// Detailed reports whether samples are collected. If they are not, Observe does
// nothing.
func (d *DeviceStats) Detailed() bool { return d.samples != nil }

// Observe adds a sample to the distributions.
func (d *DeviceStats) Observe(s Sample) {
	if d.samples != nil {
		d.samples.observe(s.Total, s.Queue, s.Input, s.Infer, s.Output)
	}
}

// ObserveComputed is Observe for a request whose responses go on: ObserveTotal adds its total time.
func (d *DeviceStats) ObserveComputed(s Sample) {
	if d.samples != nil {
		d.samples.observe(unknown, s.Queue, s.Input, s.Infer, s.Output)
	}
}

// ObserveTotal adds the time from the arrival of a request to its last response, in nanoseconds.
func (d *DeviceStats) ObserveTotal(ns int64) {
	if d.samples != nil {
		d.samples.observe(max(ns, 0))
	}
}

// addTo adds the counters of the device to c.
func (d *DeviceStats) addTo(c *Counters) {
	c.Inferences += d.inferences.Load()
	c.Executions += d.executions.Load()
	computed := d.output.count.Load() // of all three parts, which clients expect to be equal
	for _, d := range []struct {
		sum   *Count
		own   *Duration
		count uint64
	}{
		{&c.Success, &d.success, d.success.count.Load()},
		{&c.Fail, &d.fail, d.fail.count.Load()},
		{&c.Queue, &d.queue, d.queue.count.Load()},
		{&c.ComputeInput, &d.input, computed},
		{&c.ComputeInfer, &d.infer, computed},
		{&c.ComputeOutput, &d.output, computed},
	} {
		d.sum.Count += d.count
		d.sum.Ns += d.own.ns.Load()
	}
	for i := range c.Failures {
		c.Failures[i] += d.failed[i].Load()
	}
}
