// Package scrape reads the metrics pages of servers, in the text format of Prometheus: of this
// program, of NVIDIA's Triton, and of any other server.
package scrape

import (
	"io"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"
)

// Page holds the metrics of one reading. A nil page has none.
type Page struct {
	families map[string]*dto.MetricFamily
}

// Labels are the labels of one series.
type Labels map[string]string

// Parse reads a page.
func Parse(r io.Reader) (*Page, error) {
	// The parser requires a newline after the last line.
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.MultiReader(r, strings.NewReader("\n")))
	if err != nil {
		return nil, err
	}
	return &Page{families}, nil
}

// Has reports whether the page has a metric, with any labels.
func (p *Page) Has(name string) bool {
	return p != nil && len(p.families[name].GetMetric()) > 0
}

// Each calls do for each series of a counter, a gauge or a metric of unknown kind, if it has a value.
func (p *Page) Each(name string, do func(labels Labels, value float64)) {
	if p == nil {
		return
	}
	for _, m := range p.families[name].GetMetric() {
		var v float64
		switch {
		case m.Counter != nil:
			v = m.GetCounter().GetValue()
		case m.Gauge != nil:
			v = m.GetGauge().GetValue()
		case m.Untyped != nil: // a page without TYPE lines
			v = m.GetUntyped().GetValue()
		default:
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) { // a server says so of what it cannot measure
			continue
		}
		labels := make(Labels, len(m.GetLabel()))
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		do(labels, v)
	}
}

// Sum adds the series of a metric that have all the given labels.
func (p *Page) Sum(name string, with Labels) float64 {
	sum := 0.0
	p.Each(name, func(labels Labels, v float64) {
		for k, want := range with {
			if labels[k] != want {
				return
			}
		}
		sum += v
	})
	return sum
}
