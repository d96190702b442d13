// What a search concludes: which variant to serve, and how it compares with the user's own
// configuration. All forms of a report say the same of it.

package report

import (
	"fmt"
	"math"

	"triton/analyzer/report/page"
	"triton/analyzer/trial"
	"triton/pkg/ui"
)

// verdict is the conclusion of a search.
type verdict struct {
	Serve variantOutcome // the variant to serve
	// Best is the variant with the best values. It is not Serve if it is not better than the default
	// configuration beyond noise.
	Best variantOutcome
	// Compared reports whether the default configuration satisfies the constraints and Best is another
	// one; Gain is by how many percent Best is better.
	Compared bool
	Gain     float64
}

// withinNoise reports whether the best variant is not better than the default beyond noise.
func (v verdict) withinNoise() bool { return v.Serve.Key != v.Best.Key }

// Verdict returns the conclusion; the model has variants. Of all models together there is no default.
func (m *modelOutcome) Verdict() verdict {
	if m.Name == acrossName {
		top, _ := m.Top(1)
		return verdict{Serve: top[0], Best: top[0]}
	}
	serve, best := m.Scorer.Recommend(m.ranked())
	v := verdict{Serve: m.Variants[serve], Best: m.Variants[best]}
	if base, ok := m.Default(); ok && !v.Best.Default() {
		v.Compared, v.Gain = true, m.Scorer.Gain(v.Best.Best.Measurement, base.Measurement)
	}
	return v
}

// headline says which variant to serve and by how much it is better than the default, in pieces of
// which every second one is bold. The purpose is what was optimized.
func (m *modelOutcome) headline(v verdict, purpose string) []string {
	name := serveNames(v.Serve.Best.Config)
	switch {
	case m.Name == acrossName:
		return append(name, " is the best of all models")
	case v.withinNoise():
		return append(prepend("no configuration is better than the default beyond noise: ", name), " is recommended")
	case v.Compared && v.Gain > 0:
		return append(name, " is ", percentText(v.Gain), " better than the default configuration at "+purpose)
	case v.Compared: // the weighted gains of several objectives do not always agree with their score
		return append(name, " is better than the default configuration at "+purpose)
	case len(m.Variants) == 1:
		return append(name, " is the only configuration that was measured")
	case v.Serve.Default():
		return append(prepend("no configuration is better than the default: ", name), " is recommended")
	}
	return append(name, " is the best configuration")
}

// noiseNote says what the best variant reached, if it is within noise; else it is empty.
func (v verdict) noiseNote() string {
	if !v.withinNoise() {
		return ""
	}
	gain := "is better by its figures"
	if v.Gain > 0 {
		gain = "measured " + percentText(v.Gain) + " better"
	}
	return fmt.Sprintf("%s %s, but the 95%% confidence intervals overlap.", v.Best.Name, gain)
}

// figures lists the throughput with its interval and the p99 latency of the variant to serve, and
// those of the variants that it is compared with.
func (m *modelOutcome) figures(v verdict) page.List {
	all := []variantOutcome{v.Serve}
	if v.withinNoise() {
		all = append(all, v.Best)
	}
	for _, o := range m.Variants {
		if o.Default() && v.Compared && !v.withinNoise() {
			all = append(all, o)
		}
	}
	var list page.List
	for _, o := range all {
		list = append(list, page.Mixed("", o.Name, ": "+figuresOfResult(o.Best)))
	}
	return list
}

// figuresOfResult returns what clients get: "308.0 infer/sec (95% interval 298.8 to 317.2), p99 33.8 ms".
func figuresOfResult(r trial.Result) string {
	throughput, _ := valueOf(r, trial.Throughput)
	text := fmt.Sprintf("%.1f infer/sec", throughput)
	if i := intervalCell(r, trial.Throughput); i != "" {
		text += " (95% interval " + i + ")"
	}
	if latency, ok := valueOf(r, trial.LatencyP99); ok {
		text += ", p99 " + numberCell(latency) + " ms"
	}
	text += " at " + loadOf(r.Config)
	if !r.Measurement.Stable {
		text += ", not settled"
	}
	return text
}

// percentText rounds to a whole number, below one percent to one digit after the point.
func percentText(percent float64) string {
	if percent < 0.5 {
		return fmt.Sprintf("%.1f%%", percent)
	}
	return fmt.Sprintf("%.0f%%", math.RoundToEven(percent))
}

// serveNames names the variants of all members in pieces, of which every second one is bold.
func serveNames(c trial.Config) []string {
	if len(c.Members) == 1 {
		return []string{"", c.Members[0].Name}
	}
	pieces := []string{"the combination of "}
	for i, m := range c.Members {
		if i > 0 {
			pieces = append(pieces, " and ")
		}
		pieces = append(pieces, m.Name)
	}
	return pieces
}

func prepend(text string, pieces []string) []string {
	pieces[0] = text + pieces[0]
	return pieces
}

// measuredText counts what a verdict rests on: "In 12 measurements across 3 configurations, ".
func (m *modelOutcome) measuredText() string {
	return fmt.Sprintf("In %s across %s, ", ui.Plural(m.Measurements(), "measurement"), ui.Plural(len(m.Variants), "configuration"))
}
