// Package loadphase measures what the load of a model version, and the end of the version that it
// replaces, spend their time on.
package loadphase

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Phase is a phase of a load.
type Phase uint8

// The phases, in their order. Drain and Close are phases of a version that is replaced or unloaded.
const (
	List      Phase = iota // the store is listed
	Fetch                  // the files of the version come to this machine
	Configure              // the configuration is read, completed and checked
	Create                 // the backend loads the model and makes the instances
	WarmUp                 // the instances run their warm-up samples
	Swap                   // requests find the new version from now on
	Drain                  // the requests of the old version end
	Close                  // the old version is closed
	phases
)

var names = [phases]string{"list", "fetch", "configure", "create", "warm_up", "swap", "drain", "close"}

// String returns the name in the metrics.
func (p Phase) String() string { return names[p] }

// Times are how long phases took; 0: not at all.
type Times [phases]time.Duration

// Add adds the time since begin to a phase.
func (t *Times) Add(p Phase, begin time.Time) { t[p] += max(time.Since(begin), 1) } // at least 1: it happened

// String lists the phases that took any time, for the log.
func (t *Times) String() string {
	var all []string
	for p, d := range t {
		if d > 0 {
			all = append(all, fmt.Sprintf("%s %.3f s", strings.ReplaceAll(names[p], "_", " "), d.Seconds()))
		}
	}
	return strings.Join(all, ", ")
}

// Name and help text of the metric.
const (
	Metric = "triton_model_load_phase_seconds"
	help   = "Time that the phases of loads and unloads took in seconds, by model"
)

// Recorder sums the times by model and namespace. A nil Recorder records nothing.
type Recorder struct {
	mu     sync.Mutex
	models map[key]*sums
}

// maxModels bounds the memory of a recorder: clients may load files under any number of names.
const maxModels = 10_000

type key struct{ namespace, model string }

type sums [phases]struct {
	count uint64
	total time.Duration
}

var _ prometheus.Collector = (*Recorder)(nil)

// New returns an empty recorder.
func New() *Recorder { return &Recorder{models: map[key]*sums{}} }

// Record adds the phases that took any time.
func (r *Recorder) Record(namespace, model string, t *Times) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{namespace, model}
	s := r.models[k]
	if s == nil {
		if len(r.models) >= maxModels {
			return
		}
		s = &sums{}
		r.models[k] = s
	}
	for p, d := range t {
		if d > 0 {
			s[p].count++
			s[p].total += d
		}
	}
}

// Describe sends nothing: the labels depend on the models' namespaces.
func (r *Recorder) Describe(chan<- *prometheus.Desc) {}

// Collect sends the sums.
func (r *Recorder) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.models {
		labels, values := []string{"model", "phase"}, []string{k.model, ""}
		if k.namespace != "" {
			labels, values = append(labels, "namespace"), append(values, k.namespace)
		}
		d := prometheus.NewDesc(Metric, help, labels, nil)
		for p := range s {
			if s[p].count == 0 {
				continue
			}
			values[1] = names[p]
			m, err := prometheus.NewConstSummary(d, s[p].count, s[p].total.Seconds(), nil, values...)
			if err != nil {
				m = prometheus.NewInvalidMetric(d, err)
			}
			out <- m
		}
	}
}
