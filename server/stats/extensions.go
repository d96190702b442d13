package stats

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// extensions counts events of features that Triton does not have. A metric exists only for
// models that use its feature.
type extensions struct {
	hasDelay    atomic.Bool
	delay       atomic.Int64
	hasRefusals atomic.Bool
	refused     atomic.Uint64
	hasShedding atomic.Bool
	shed        atomic.Uint64
	classes     classes
	// Instances that are out of service now, and broken instances that were
	// replaced.
	everBroken atomic.Bool
	broken     atomic.Int64
	restarts   atomic.Uint64
	// Executions by instance.
	instances struct {
		sync.Mutex
		executions []*atomic.Uint64
	}
}

// Instance returns the counter of an instance's executions. It is called once for each instance.
func (m *Model) Instance(index int) *atomic.Uint64 {
	e := &m.extensions
	e.instances.Lock()
	defer e.instances.Unlock()
	for len(e.instances.executions) <= index {
		e.instances.executions = append(e.instances.executions, new(atomic.Uint64))
	}
	return e.instances.executions[index]
}

// SetQueueDelay sets the queue delay that a controller has chosen.
func (m *Model) SetQueueDelay(d time.Duration) {
	m.extensions.delay.Store(int64(d))
	m.extensions.hasDelay.Store(true)
}

// EnableRefusals adds the metric of refused requests.
func (m *Model) EnableRefusals() { m.extensions.hasRefusals.Store(true) }

// Refuse counts a request that was refused because it could not meet its deadline, ns
// after its arrival.
func (m *Model) Refuse(ns int64) {
	m.Fail(Rejected, ns)
	m.extensions.refused.Add(1)
}

// EnableShedding adds the metric of requests that are refused because they waited too long.
func (m *Model) EnableShedding() { m.extensions.hasShedding.Store(true) }

// Shed counts a request that was refused because it waited too long, ns after its arrival.
func (m *Model) Shed(ns int64) {
	m.Fail(Rejected, ns)
	m.extensions.shed.Add(1)
}

// InstanceBroken counts an instance that is out of service until InstanceRestarted.
func (m *Model) InstanceBroken() {
	m.extensions.broken.Add(1)
	m.extensions.everBroken.Store(true)
}

// InstanceRestarted counts an instance that is in service again.
func (m *Model) InstanceRestarted() {
	m.extensions.broken.Add(-1)
	m.extensions.restarts.Add(1)
}

const (
	delayName   = "triton_queue_delay_us"
	delayHelp   = "Queue delay that holds the latency target, in microseconds"
	refusedName = "triton_request_refused_count"
	refusedHelp = "Number of requests refused before they waited, by reason"
	shedName    = "triton_request_shed_count"
	shedHelp    = "Number of requests refused because the queue was overloaded for long"

	brokenName   = "triton_instance_broken"
	brokenHelp   = "Number of instances that are out of service because they broke"
	restartsName = "triton_backend_restarts_total"
	restartsHelp = "Number of instances that broke and were replaced"

	instancesName = "triton_instance_exec_count"
	instancesHelp = "Number of model executions performed, by instance"
)

func (w *writer) extensions(b *extensions, instances bool) {
	if instances {
		w.instances(b)
	}
	if b.hasDelay.Load() {
		w.single(delayName, delayHelp, prometheus.GaugeValue, float64(time.Duration(b.delay.Load()).Microseconds()))
	}
	if b.everBroken.Load() {
		w.single(brokenName, brokenHelp, prometheus.GaugeValue, float64(b.broken.Load()))
		w.single(restartsName, restartsHelp, prometheus.CounterValue, float64(b.restarts.Load()))
	}
	if b.hasRefusals.Load() {
		sendReasons(w, refusedName, refusedHelp, []refusal{deadline}, []uint64{b.refused.Load()})
	}
	if b.hasShedding.Load() {
		w.single(shedName, shedHelp, prometheus.CounterValue, float64(b.shed.Load()))
	}
	w.classes(&b.classes)
}

// instances sends the executions of each instance.
func (w *writer) instances(b *extensions) {
	b.instances.Lock()
	defer b.instances.Unlock()
	d := prometheus.NewDesc(instancesName, instancesHelp, append(slices.Clone(w.names), "instance"), nil)
	for i, n := range b.instances.executions {
		m, err := prometheus.NewConstMetric(d, prometheus.CounterValue, float64(n.Load()), append(slices.Clone(w.values), strconv.Itoa(i))...)
		w.send(d, m, err)
	}
}

// single sends a metric of a single value.
func (w *writer) single(name, help string, kind prometheus.ValueType, value float64) {
	d := w.desc(name, help)
	m, err := prometheus.NewConstMetric(d, kind, value, w.values...)
	w.send(d, m, err)
}

// refusal is the reason why a request was refused before it waited.
type refusal uint8

const deadline refusal = 0

// String returns the label's value.
func (refusal) String() string { return "deadline" }
