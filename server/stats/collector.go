package stats

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Served is a model version with metrics.
type Served struct {
	*Model
	Tags        map[string]string // metric_tags of the configuration
	Namespace   string            // empty without model namespaces
	LoadSeconds float64
	InFlight    int64 // requests that wait or run, or open sequences if those are more
}

// Collector collects the counters of the model versions that are ready at the time of a
// scrape.
type Collector struct {
	models func() []Served
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector over the versions that models returns.
func NewCollector(models func() []Served) *Collector { return &Collector{models} }

// Describe sends nothing: the labels depend on the models' tags.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counters once. The counters of instances on a GPU with metrics are in
// series with that GPU's label. All other counters are in series without it.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.models() {
		for _, p := range s.devices() {
			var counters Counters
			p.addTo(&counters)
			w := writer{out: out}
			w.label(&s, p.uuid)
			if p.uuid == "" {
				s.addTo(&counters)
				w.batching(&s, &counters)
			} else {
				s.LoadSeconds = 0 // counted for the model
			}
			w.counters(&s, &counters)
			w.firstResponses(s.first, p.uuid != "")
			w.samples(p.samples)
			if p.uuid == "" {
				w.cache(s.cache)
			}
		}
	}
}

// writer sends the metrics of one model version or of one of its GPUs.
type writer struct {
	out           chan<- prometheus.Metric
	names, values []string // labels
}

// label sets the labels. The names of tags get the prefix "_", so that they differ from all
// other labels.
func (w *writer) label(s *Served, uuid string) {
	w.names, w.values = []string{"model", "version"}, []string{s.Name(), s.Version()}
	add := func(name, value string) { w.names, w.values = append(w.names, name), append(w.values, value) }
	for k, v := range s.Tags {
		add("_"+k, v)
	}
	if s.Namespace != "" {
		add("namespace", s.Namespace)
	}
	if uuid != "" {
		add("gpu_uuid", uuid)
	}
}

func (w *writer) desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, w.names, nil)
}

// send sends a metric. An invalid one is reported as an error of the scrape.
func (w *writer) send(d *prometheus.Desc, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	w.out <- m
}

func (w *writer) counters(s *Served, c *Counters) {
	for _, f := range families {
		switch {
		case f.latency && s.opts.noLatencyCounters || f.cached && !s.opts.cached:
		case f.value == nil:
			sendReasons(w, f.name, f.help, Failures(), c.Failures[:])
		default:
			d := w.desc(f.name, f.help)
			m, err := prometheus.NewConstMetric(d, f.kind, f.value(s, c), w.values...)
			w.send(d, m, err)
		}
	}
}

// batching sends metrics that Triton does not have: the requests in flight, how often each rule closed a batch,
// and the sizes of batches, for tuning preferred sizes and the queue delay.
func (w *writer) batching(s *Served, c *Counters) {
	w.single(inFlightName, inFlightHelp, prometheus.GaugeValue, float64(s.InFlight))
	sendReasons(w, closeName, closeHelp, CloseReasons(), c.Closes[:])
	w.extensions(&s.extensions, s.opts.instances)
	bounds := sizeBounds(s.maxBatch)
	buckets, batches, rows := map[float64]uint64{}, uint64(0), 0.0
	for _, b := range bounds {
		buckets[b] = 0
	}
	for _, size := range c.Sizes {
		batches += size.Count
		rows += float64(size.Count) * float64(size.Rows)
		for _, b := range bounds {
			if float64(size.Rows) <= b {
				buckets[b] += size.Count
			}
		}
	}
	d := w.desc(sizeName, sizeHelp)
	m, err := prometheus.NewConstHistogram(d, batches, rows, buckets, w.values...)
	w.send(d, m, err)
}

// sizeBounds returns the powers of two below maxBatch, and maxBatch.
func sizeBounds(maxBatch int) []float64 {
	var all []float64
	for n := 1; n < maxBatch; n *= 2 {
		all = append(all, float64(n))
	}
	return append(all, float64(maxBatch))
}

// firstResponses sends the histogram of first responses. They are counted for the whole
// model, so the series of a GPU is empty.
func (w *writer) firstResponses(h *histogram, gpu bool) {
	if h != nil && gpu {
		h = newHistogram(h.bounds)
	}
	w.histogram(firstResponse, firstResponseHelp, h)
}

func (w *writer) histogram(name, help string, h *histogram) {
	if h == nil {
		return
	}
	d := w.desc(name, help)
	m, err := h.metric(d, w.values)
	w.send(d, m, err)
}

func (w *writer) samples(s *samples) {
	if s == nil {
		return
	}
	for i, of := range distributions {
		w.histogram(of.histogram, of.histogramHelp, s.histograms[i])
		w.summary(of.summary, of.summaryHelp, s.summaries[i])
	}
}

func (w *writer) summary(name, help string, s prometheus.Summary) {
	if s == nil {
		return
	}
	d := w.desc(name, help)
	m, err := constSummary(s, d, w.values)
	w.send(d, m, err)
}

// cache sends the metrics of a model with a response cache.
func (w *writer) cache(c *cacheSamples) {
	if c == nil {
		return
	}
	w.summary(hitSummary, hitSummaryHelp, c.hits)
	w.summary(missSummary, missSummaryHelp, c.misses)
}

// sendReasons sends one counter for each reason, with the label "reason". counts is indexed
// by reason.
func sendReasons[R interface {
	~uint8
	String() string
}](w *writer, name, help string, all []R, counts []uint64,
) {
	d := prometheus.NewDesc(name, help, append(slices.Clone(w.names), "reason"), nil)
	for _, why := range all {
		m, err := prometheus.NewConstMetric(d, prometheus.CounterValue, float64(counts[why]), append(slices.Clone(w.values), why.String())...)
		w.send(d, m, err)
	}
}
