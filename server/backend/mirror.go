package backend

// A MetricMirror is told of all that happens in a Metrics, in order, so that another process can show the
// same metrics. It is called with the lock of the Metrics held, and calls none of its functions.
type MetricMirror interface {
	// Family and Metric begin a family and a metric, under numbers that are not used again.
	Family(number uint32, name, help string, kind MetricKind)
	Metric(number, family uint32, labels []MetricLabel, bounds []float64)
	Change(number uint32, c MetricChange, v float64)
	Drop(number uint32)
}

// MetricChange says how a value changes.
type MetricChange uint8

// The changes, by the names of the methods of a Metric.
const (
	MetricIncrement MetricChange = iota
	MetricSet
	MetricObserve
)

// SetMirror lets a mirror follow the metrics. It must be called before the first one is made.
func (r *Metrics) SetMirror(m MetricMirror) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mirror = m
}

// numbered returns the next number; 0 if there is no mirror. The caller holds the lock.
func (r *Metrics) numbered() uint32 {
	if r.mirror == nil {
		return 0
	}
	r.last++
	return r.last
}

// dropped tells of the end of a family or metric. The caller holds the lock.
func (r *Metrics) dropped(number uint32) {
	if number != 0 {
		r.mirror.Drop(number)
	}
}

// changed tells of a change. The caller holds the lock.
func (m *Metric) changed(c MetricChange, v float64) {
	if m.number != 0 {
		m.family.registry.mirror.Change(m.number, c, v)
	}
}

// Apply makes a change that a MetricMirror was told of.
func (m *Metric) Apply(c MetricChange, v float64) error {
	switch c {
	case MetricIncrement:
		return m.Increment(v)
	case MetricSet:
		return m.Set(v)
	default:
		return m.Observe(v)
	}
}
