// Package trial is the vocabulary of a search for a configuration: a trial is one configuration of
// the server under one load, and what was measured of it, or why nothing was. The search proposes
// trials, the profile runs them, the reports show them. It also has the catalog of metrics, and
// compares measurements by the goals of the user.
package trial

import (
	"strings"
	"time"

	"triton/pkg/inferencepb"
)

// Load is what the clients of one model do. Exactly one of Concurrency, RequestRate and Intervals
// is set.
type Load struct {
	Batch       int    // rows of a request
	Concurrency int    // requests in flight
	RequestRate int    // requests per second
	Intervals   string // file with the times between requests
}

// Patch is what a variant changes in the configuration of its model: fields of config.pbtxt by
// name, values as in its JSON form, such as "max_batch_size": 8 or "instance_group": []any{...}.
// An empty patch is the configuration as the user wrote it.
type Patch map[string]any

// Proposal is a trial that a search wants to be run.
type Proposal struct {
	Members []ProposedMember // the profiled models, in the user's order
	// Precision is the half-width of the confidence interval of throughput, relative to
	// it, at which the measurement may end; 0 leaves that to the profile.
	Precision float64
	// Rival is a throughput: below it, with confidence, the measurement may end at once, since the
	// trial is not the best; 0 if that does not count.
	Rival float64
}

// ProposedMember is one profiled model of a proposal.
type ProposedMember struct {
	Model     string
	Patch     Patch
	Composing []ProposedMember // of ensembles and BLS models; their Load is not used
	Load      Load
}

// Variant is one configuration of one model.
type Variant struct {
	Model   string // the name in the user's repository
	Name    string // <model>_config_default or <model>_config_<n>
	Patch   Patch
	Config  *inferencepb.ModelConfig // complete; its name is Model
	CPUOnly bool
}

// Default reports whether the variant is the user's own configuration.
func (v Variant) Default() bool { return len(v.Patch) == 0 }

// Member is one profiled model of a trial.
type Member struct {
	Variant
	Composing []Variant // of ensembles and BLS models, in the order of the steps
	Load      Load
}

// Config is one configuration of the server under one load.
type Config struct {
	Members []Member // one, or all models that are profiled at the same time
}

// Models returns the names of the profiled models.
func (c Config) Models() []string {
	names := make([]string, len(c.Members))
	for i, m := range c.Members {
		names[i] = m.Model
	}
	return names
}

// Variants returns the names of the variants of the profiled models.
func (c Config) Variants() []string {
	names := make([]string, len(c.Members))
	for i, m := range c.Members {
		names[i] = m.Name
	}
	return names
}

// AllVariants returns the names of the variants of the profiled models, behind each those of the models that it
// calls.
func (c Config) AllVariants() []string {
	var names []string
	for _, m := range c.Members {
		names = append(names, m.Name)
		for _, composing := range m.Composing {
			names = append(names, composing.Name)
		}
	}
	return names
}

// Key identifies the configuration of the server, without its load, among the trials of a run. Checkpoints
// have another form of these names: profile.CheckpointName.
func (c Config) Key() string { return strings.Join(c.AllVariants(), ",") }

// CPUOnly reports whether no model uses a device.
func (c Config) CPUOnly() bool {
	for _, m := range c.Members {
		if !m.CPUOnly && len(m.Composing) == 0 {
			return false
		}
		for _, composing := range m.Composing {
			if !composing.CPUOnly {
				return false
			}
		}
	}
	return true
}

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// Measurement is what was measured of a trial.
type Measurement struct {
	Members []Values // in the order of the trial's members
	// GPUs has the metrics of devices by UUID.
	GPUs map[string]Values
	// Requests counts the answered requests of the members.
	Requests []int
	// Stable reports whether the measurement settled; Confidence has the 95 %
	// intervals of the first member's metrics where they are known.
	Stable     bool
	Confidence map[Metric]Interval
	Duration   time.Duration // of load, warm-up included
}

// Throughput returns the throughput of all models.
func (m *Measurement) Throughput() float64 {
	var sum float64
	for _, v := range m.Members {
		sum += v[Throughput]
	}
	return sum
}

// Class says why a trial has no measurement.
type Class string

// Classes of failures. The first five bound the memory: a trial with more instances or larger
// batches of the same model fails too.
const (
	OutOfGPUMemoryAtLoad Class = "gpu_oom_load"
	OutOfGPUMemoryAtRun  Class = "gpu_oom_run"
	OutOfHostMemory      Class = "host_oom"
	MemoryLimit          Class = "limit_rejected"
	NearMiss             Class = "near_miss"
	Other                Class = "other"
)

// Memory reports whether the failure is one of memory.
func (c Class) Memory() bool { return c != Other && c != "" }

// Failure is why a trial has no measurement.
type Failure struct {
	Class Class
	Err   error
}

// Result is a finished trial: either Measurement or Failure is set.
type Result struct {
	Proposal    Proposal
	Config      Config
	Measurement *Measurement
	Failure     *Failure
}
