package backend

// MetricTable holds the families and metrics that a child process uses, by number. It is used by one
// goroutine at a time.
type MetricTable struct {
	last     uint32
	families map[uint32]*MetricFamily
	metrics  map[uint32]numberedMetric
}

// numberedMetric is a metric with the number of its family.
type numberedMetric struct {
	*Metric
	family uint32
}

// Next returns a number that is not in use, for a child that chooses none itself.
func (t *MetricTable) Next() uint32 {
	t.last++
	return t.last
}

// AddFamily enters a family, whose use ends with its number.
func (t *MetricTable) AddFamily(number uint32, f *MetricFamily) {
	if t.families == nil {
		t.families = map[uint32]*MetricFamily{}
	}
	t.Drop(number)
	t.families[number] = f
}

// AddMetric enters a metric, whose use ends with its number or that of its family.
func (t *MetricTable) AddMetric(number, family uint32, m *Metric) {
	if t.metrics == nil {
		t.metrics = map[uint32]numberedMetric{}
	}
	t.Drop(number)
	t.metrics[number] = numberedMetric{m, family}
}

// Family returns the family with a number; nil: there is none.
func (t *MetricTable) Family(number uint32) *MetricFamily { return t.families[number] }

// Metric returns the metric with a number; nil: there is none.
func (t *MetricTable) Metric(number uint32) *Metric { return t.metrics[number].Metric }

// Drop releases what has a number; with a family its metrics, which the child can no longer change.
func (t *MetricTable) Drop(number uint32) {
	if m, ok := t.metrics[number]; ok {
		delete(t.metrics, number)
		m.Release()
	}
	if f := t.families[number]; f != nil {
		delete(t.families, number)
		for n, m := range t.metrics {
			if m.family == number {
				delete(t.metrics, n)
				m.Release()
			}
		}
		f.Release()
	}
}

// Release releases everything.
func (t *MetricTable) Release() {
	for n := range t.metrics {
		t.Drop(n)
	}
	for n := range t.families {
		t.Drop(n)
	}
}

// MetricOrphans are the metrics of children that died, each once: they stay as long as their model, so that
// the next child goes on with their values.
type MetricOrphans struct {
	families map[*MetricFamily]bool
	metrics  map[*Metric]bool
}

// Adopt takes over the families and metrics of a child that o does not have, and releases the others.
func (o *MetricOrphans) Adopt(t *MetricTable) {
	if o.families == nil {
		o.families, o.metrics = map[*MetricFamily]bool{}, map[*Metric]bool{}
	}
	for n, f := range t.families {
		if !o.families[f] {
			o.families[f] = true
			delete(t.families, n)
		}
	}
	for n, m := range t.metrics {
		if !o.metrics[m.Metric] {
			o.metrics[m.Metric] = true
			delete(t.metrics, n)
		}
	}
	t.Release()
}

// Len returns how many metrics are kept.
func (o *MetricOrphans) Len() int { return len(o.metrics) }

// Release releases everything.
func (o *MetricOrphans) Release() {
	for m := range o.metrics {
		m.Release()
	}
	for f := range o.families {
		f.Release()
	}
	o.families, o.metrics = nil, nil
}
