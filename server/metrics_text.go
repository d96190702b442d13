package server

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// byOrder sorts families as order lists them; others come last.
func byOrder(order []string) func(a, b *dto.MetricFamily) int {
	rank := func(f *dto.MetricFamily) int {
		if i := slices.Index(order, f.GetName()); i >= 0 {
			return i
		}
		return len(order)
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
			b = append(b, f.GetName()...)
			b = appendLabels(b, m.GetLabel())
			b = append(b, ' ')
			b = appendNumber(b, value(m))
			b = append(b, '\n')
		}
	}
	return b
}

// value is the number of a counter or gauge; there are no other kinds here.
func value(m *dto.Metric) float64 {
	if c := m.GetCounter(); c != nil {
		return c.GetValue()
	}
	return m.GetGauge().GetValue()
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func appendLabels(b []byte, labels []*dto.LabelPair) []byte {
	for i, l := range labels {
		b = append(b, ",{"[b2i(i == 0)])
		b = append(b, l.GetName()...)
		b = append(b, '=', '"')
		b = append(b, labelEscapes.Replace(l.GetValue())...)
		b = append(b, '"')
	}
	if len(labels) > 0 {
		b = append(b, '}')
	}
	return b
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
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
