package scaler

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// trigger is what the metadata of a trigger asks for.
type trigger struct {
	metric     string
	model      string // empty: all
	version    string // empty: all
	target     float64
	activation float64 // there is work above this value
}

// metrics are the values that a trigger can ask for.
var metrics = map[string]func(t *trigger, r *round) (float64, error){
	"pending": func(t *trigger, r *round) (float64, error) {
		return r.sum(t, func(c *counts) float64 { return c.Pending })
	},
	"in-flight":   func(t *trigger, r *round) (float64, error) { return r.inFlight(t) },
	"requests":    func(t *trigger, r *round) (float64, error) { return r.rate(t) },
	"queue-delay": func(t *trigger, r *round) (float64, error) { return r.queueDelay(t) },
	"waiting":     func(_ *trigger, r *round) (float64, error) { return r.waiting() },
}

// metricNames returns the values of the metadata "metric".
func metricNames() []string { return slices.Sorted(maps.Keys(metrics)) }

// parse reads the metadata of a trigger. KEDA adds keys of its own, such as scalerAddress.
func parse(metadata map[string]string) (*trigger, error) {
	t := &trigger{metric: "in-flight", model: metadata["modelName"], version: metadata["modelVersion"]}
	if m := metadata["metric"]; m != "" {
		t.metric = m
	}
	if metrics[t.metric] == nil {
		return nil, fmt.Errorf("metadata metric: %q is unknown, use one of %s", t.metric, strings.Join(metricNames(), ", "))
	}
	if t.metric == "waiting" && t.model != "" {
		return nil, errors.New("metadata modelName: the metric waiting is of all models")
	}
	if t.version != "" && t.model == "" {
		return nil, errors.New("metadata modelVersion: name the model with modelName")
	}
	number := func(key string, fallback, least float64) (float64, error) {
		text := metadata[key]
		if text == "" {
			return fallback, nil
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < least {
			return 0, fmt.Errorf("metadata %s: %q is not a number of at least %g", key, text, least)
		}
		return v, nil
	}
	var err error
	if t.target, err = number("targetValue", math.NaN(), 0.001); err != nil {
		return nil, err
	}
	if math.IsNaN(t.target) {
		return nil, errors.New("metadata targetValue is missing: how much of the metric one replica shall have")
	}
	t.activation, err = number("activationTargetValue", 0, 0)
	return t, err
}

// name returns the name of the metric for the HorizontalPodAutoscaler that KEDA makes.
func (t *trigger) name() string {
	name := "triton-" + t.metric
	for _, part := range []string{t.model, t.version} {
		if part != "" {
			name += "-" + part
		}
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
}

// active reports whether there is work: the value is above the activation value, or a request waits
// or runs. Without a replica there is none that could be seen.
func (t *trigger) active(r *round) (bool, error) {
	if err := r.err(); err != nil {
		return false, err
	}
	for _, p := range r.replicas {
		if p.now == nil {
			continue
		}
		work := 0.0
		if t.metric == "waiting" {
			work = p.now.Waiting
		}
		p.now.each(t, func(_ string, c *counts) { work += c.Pending + c.InFlight })
		if work > 0 && t.activation == 0 {
			return true, nil
		}
	}
	v, err := metrics[t.metric](t, r)
	if errors.Is(err, errTwice) { // no requests are known yet
		return false, nil
	}
	return v > t.activation, err
}

func (t *trigger) value(r *round) (float64, error) {
	if err := r.err(); err != nil {
		return 0, err
	}
	return metrics[t.metric](t, r)
}
