package server

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// byOrder sorts families as Triton's library does: counters, gauges, histograms,
// summaries, each kind in the given order. Families that are not in order come last,
// ours among them.
func byOrder(order []string) func(a, b *dto.MetricFamily) int {
	kinds := map[dto.MetricType]int{dto.MetricType_COUNTER: 0, dto.MetricType_GAUGE: 1, dto.MetricType_HISTOGRAM: 2, dto.MetricType_SUMMARY: 3}
	rank := func(f *dto.MetricFamily) int {
		i := slices.Index(order, f.GetName())
		if i < 0 || !strings.HasPrefix(f.GetName(), "nv_") {
			return len(kinds) * len(order)
		}
		return kinds[f.GetType()]*len(order) + i
	}
	return func(a, b *dto.MetricFamily) int { return cmp.Compare(rank(a), rank(b)) }
}

// appendFamilies writes the text format of Prometheus. Numbers never have an
// exponent, unlike in the official encoder: perf_analyzer and shell scripts read
// them digit by digit.
func appendFamilies(b []byte, families []*dto.MetricFamily) []byte {
	for _, f := range families {
		b = append(b, "# HELP "...)
		b = append(b, f.GetName()...)
		b = append(b, ' ')
		b = append(b, helpEscapes.Replace(f.GetHelp())...)
		b = append(b, "\n# TYPE "...)
		b = append(b, f.GetName()...)
		b = append(b, ' ')
		b = append(b, strings.ToLower(f.GetType().String())...)
		b = append(b, '\n')
		for _, m := range f.GetMetric() {
			b = appendMetric(b, f.GetName(), m)
		}
	}
	return b
}

// appendMetric writes count and sum first, as Triton's library does.
func appendMetric(b []byte, name string, m *dto.Metric) []byte {
	line := func(suffix string, v float64, extra ...string) {
		b = append(append(b, name...), suffix...)
		b = appendLabels(b, m.GetLabel(), extra...)
		b = append(b, ' ')
		b = append(appendNumber(b, v), '\n')
	}
	switch {
	case m.GetCounter() != nil:
		line("", m.GetCounter().GetValue())
	case m.GetHistogram() != nil:
		h := m.GetHistogram()
		line("_count", float64(h.GetSampleCount()))
		line("_sum", h.GetSampleSum())
		for _, one := range h.GetBucket() {
			if !math.IsInf(one.GetUpperBound(), 1) {
				line("_bucket", float64(one.GetCumulativeCount()), "le", string(appendNumber(nil, one.GetUpperBound())))
			}
		}
		line("_bucket", float64(h.GetSampleCount()), "le", "+Inf")
	case m.GetSummary() != nil:
		s := m.GetSummary()
		line("_count", float64(s.GetSampleCount()))
		line("_sum", s.GetSampleSum())
		for _, one := range s.GetQuantile() {
			line("", one.GetValue(), "quantile", string(appendNumber(nil, one.GetQuantile())))
		}
	default:
		line("", m.GetGauge().GetValue())
	}
	return b
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// appendLabels writes the labels by name, then the extra pair.
func appendLabels(b []byte, labels []*dto.LabelPair, extra ...string) []byte {
	open := byte('{')
	add := func(name, value string) {
		b = append(append(b, open), name...)
		b = append(b, '=', '"')
		b = append(b, labelEscapes.Replace(value)...)
		b = append(b, '"')
		open = ','
	}
	for _, l := range labels {
		add(l.GetName(), l.GetValue())
	}
	if len(extra) == 2 {
		add(extra[0], extra[1])
	}
	if open == ',' {
		b = append(b, '}')
	}
	return b
}

func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "Nan"...)
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}
