package stats

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
)

// settings combine the options with the model's configuration.
type settings struct {
	noLatencyCounters     bool
	histograms, summaries bool
	instances             bool // executions are shown by instance
	cached                bool // the model's configuration enables the response cache

	objectives map[float64]float64
	buckets    map[string][]float64 // the model's own, by family
	gpus       map[int]string
}

// parse reads the settings. It logs invalid ones and uses their defaults.
func parse(o Options, c *inferencepb.ModelConfig) settings {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := settings{
		noLatencyCounters: o.Settings["counter_latencies"] == "false",
		histograms:        o.Settings["histogram_latencies"] == "true",
		summaries:         o.Settings["summary_latencies"] == "true",
		instances:         o.Settings["instance_executions"] == "true",
		cached:            c.GetResponseCache().GetEnable(),
		objectives:        parseQuantiles(o.Settings["summary_quantiles"], log),
		buckets:           map[string][]float64{},
		gpus:              o.GPUs,
	}
	if len(s.objectives) == 0 {
		s.objectives = map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.95: 0.001, 0.99: 0.001, 0.999: 0.001}
	}
	for _, m := range c.GetModelMetrics().GetMetricControl() {
		family, bounds := m.GetMetricIdentifier().GetFamily(), m.GetHistogramOptions().GetBuckets()
		switch {
		case defaultBounds[family] == nil:
			log.Warn(fmt.Sprintf("Metric family '%s' in 'metric_identifier' is not a customizable metric in Triton core.", family))
		case !ascending(bounds):
			log.Error(fmt.Sprintf("histogram buckets of metric family '%s' must be strictly ascending, the defaults are used", family), "model", c.GetName())
		default:
			s.buckets[family] = bounds
		}
	}
	return s
}

// bounds returns the buckets of a histogram family.
func (s *settings) bounds(family string) []float64 {
	if own := s.buckets[family]; own != nil {
		return own
	}
	return defaultBounds[family]
}

// ascending reports whether the bounds are not empty and strictly ascending.
func ascending(bounds []float64) bool {
	for i, b := range bounds {
		if math.IsNaN(b) || i > 0 && b <= bounds[i-1] {
			return false
		}
	}
	return len(bounds) > 0
}

// parseQuantiles reads "<quantile>:<error>,...". Invalid items are logged and skipped.
func parseQuantiles(text string, log *slog.Logger) map[float64]float64 {
	all := map[float64]float64{}
	if text == "" {
		return all
	}
	for item := range strings.SplitSeq(text, ",") {
		quantile, within, found := strings.Cut(item, ":")
		if !found {
			log.Error("Invalid option: [" + item + "]. No ':' delimiter found. Expected format is <quantile>:<error>")
			continue
		}
		q, err := parseShare(quantile)
		e, err2 := parseShare(within)
		if err = errors.Join(err, err2); err != nil {
			log.Error("Invalid option: [" + item + "]. Error: " + err.Error())
			continue
		}
		all[q] = e
	}
	return all
}

// parseShare parses a number from 0 to 1. As in Triton, text after the number is
// ignored: its own test suite uses "0.1:0.0.1".
func parseShare(text string) (float64, error) {
	number := strings.TrimSpace(text)
	v, err := strconv.ParseFloat(number, 64)
	for ; err != nil && number != ""; v, err = strconv.ParseFloat(number, 64) {
		number = number[:len(number)-1]
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("'%s' is not a number from 0 to 1", text)
	}
	return v, nil
}
