package stats

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LoadPhase is what the load of a version, and the end of the version that it replaces, spend time on.
type LoadPhase uint8

// The phases, in their order. PhaseDrain and PhaseClose are phases of a version that is replaced or unloaded.
const (
	PhaseList      LoadPhase = iota // the store is listed
	PhaseFetch                      // the files of the version come to this machine
	PhaseConfigure                  // the configuration is read, completed and checked
	PhaseCreate                     // the backend loads the model and makes the instances
	PhaseWarmUp                     // the instances run their warm-up samples
	PhaseSwap                       // requests find the new version from now on
	PhaseDrain                      // the requests of the old version end
	PhaseClose                      // the old version is closed
	numPhases
)

var phaseNames = [numPhases]string{"list", "fetch", "configure", "create", "warm_up", "swap", "drain", "close"}

// String returns the name in the metrics.
func (p LoadPhase) String() string { return phaseNames[p] }

// LoadTimes are how long phases took; 0: not at all.
type LoadTimes [numPhases]time.Duration

// Add adds the time since begin to a phase.
func (t *LoadTimes) Add(p LoadPhase, begin time.Time) { t[p] += max(time.Since(begin), 1) } // at least 1: it happened

// String lists the phases that took any time, for the log.
func (t *LoadTimes) String() string {
	var all []string
	for p, d := range t {
		if d > 0 {
			all = append(all, fmt.Sprintf("%s %.3f s", strings.ReplaceAll(phaseNames[p], "_", " "), d.Seconds()))
		}
	}
	return strings.Join(all, ", ")
}

// Name and help text of the metric.
const (
	loadPhaseMetric = "triton_model_load_phase_seconds"
	loadPhaseHelp   = "Time that the phases of loads and unloads took in seconds, by model"
)

// LoadRecorder sums the times by model and namespace. A nil LoadRecorder records nothing.
type LoadRecorder struct {
	mu     sync.Mutex
	models map[loadedModel]*phaseSums
}

// maxRecorded bounds the memory of a recorder: clients may load files under any number of names.
const maxRecorded = 10_000

type loadedModel struct{ namespace, model string }

type phaseSums [numPhases]struct {
	count uint64
	total time.Duration
}

var _ prometheus.Collector = (*LoadRecorder)(nil)

// NewLoadRecorder returns an empty recorder.
func NewLoadRecorder() *LoadRecorder { return &LoadRecorder{models: map[loadedModel]*phaseSums{}} }

// Record adds the phases that took any time.
func (r *LoadRecorder) Record(namespace, model string, t *LoadTimes) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := loadedModel{namespace, model}
	s := r.models[k]
	if s == nil {
		if len(r.models) >= maxRecorded {
			return
		}
		s = &phaseSums{}
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
func (r *LoadRecorder) Describe(chan<- *prometheus.Desc) {}

// Collect sends the sums.
func (r *LoadRecorder) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.models {
		labels, values := []string{"model", "phase"}, []string{k.model, ""}
		if k.namespace != "" {
			labels, values = append(labels, "namespace"), append(values, k.namespace)
		}
		d := prometheus.NewDesc(loadPhaseMetric, loadPhaseHelp, labels, nil)
		for p := range s {
			if s[p].count == 0 {
				continue
			}
			values[1] = phaseNames[p]
			m, err := prometheus.NewConstSummary(d, s[p].count, s[p].total.Seconds(), nil, values...)
			if err != nil {
				m = prometheus.NewInvalidMetric(d, err)
			}
			out <- m
		}
	}
}
