// Package extension reads the parameters of a model's configuration for features that
// Triton does not have. Triton ignores them, so the same file loads in both servers.
// docs/scheduling.md, docs/backends.md and docs/on-demand.md list them.
package extension

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
	"triton/pkg/status"
	"triton/pkg/trafficrules"
)

// The parameters.
const (
	keyTarget       = "max_queue_delay_target_p99_microseconds"
	keyDelayLimit   = "max_queue_delay_limit_microseconds"
	keyAdmission    = "deadline_admission"
	keyShedTarget   = "queue_shed_target_microseconds"
	keyShedInterval = "queue_shed_interval_microseconds"
	keyBuckets      = "length_buckets"
	keyInputs       = "length_bucket_inputs"
	keyPadValues    = "length_bucket_pad_values"
	keyMask         = "length_bucket_mask"
	keyOutputs      = "length_bucket_outputs"

	keyRequirements = "python_requirements"
	keyMemory       = "python_memory_limit_bytes"
	keyCPUs         = "python_cpus"
	keyThreads      = "python_threads"
	keyNice         = "python_nice"
	keyExecute      = "python_execute_limit_milliseconds"

	keyTraffic = trafficrules.Parameter

	keyPin       = "on_demand_pin"
	keyKeepAlive = "on_demand_keep_alive_seconds"
	keyPriority  = "on_demand_priority"

	keyIsolation        = "isolation"
	keyIsolationMemory  = "isolation_memory_limit_bytes"
	keyIsolationCPUs    = "isolation_cpus"
	keyIsolationThreads = "isolation_threads"
	keyIsolationNice    = "isolation_nice"
	keyIsolationExecute = "isolation_execute_limit_milliseconds"
)

// Keys returns all parameters of this package.
func Keys() []string {
	return []string{
		keyTarget, keyDelayLimit, keyAdmission, keyShedTarget, keyShedInterval, keyBuckets, keyInputs, keyPadValues, keyMask, keyOutputs,
		keyRequirements, keyMemory, keyCPUs, keyThreads, keyNice, keyExecute, keyTraffic,
		keyPin, keyKeepAlive, keyPriority,
		keyIsolation, keyIsolationMemory, keyIsolationCPUs, keyIsolationThreads, keyIsolationNice, keyIsolationExecute,
	}
}

// Rules returns the rules of this package by ID.
func Rules() []modelconfig.Rule {
	return []modelconfig.Rule{{ID: rule, Doc: "parameters that only this server reads have valid values"}}
}

const rule = "TRN820"

// Settings are the features that a configuration enables; the zero value enables none.
type Settings struct {
	Delay     *Delay              // nil: the queue delay is max_queue_delay_microseconds
	Admission bool                // requests that cannot meet their deadline are refused
	Shed      *Shed               // nil: no request is refused for its time in the queue
	Lengths   *Lengths            // nil: no length buckets
	Process   *Process            // nil: the processes of a Python model are not limited
	Traffic   *trafficrules.Rules // nil: requests without a version go to the newest
	Residency Residency
}

// Delay enables a controller of the queue delay.
type Delay struct {
	Target time.Duration // of the 99th percentile of latency, from arrival to response
	Limit  time.Duration // maximum queue delay
}

// Read reads the parameters of a normalized configuration. The settings are valid only
// if there are no findings.
func Read(c *modelconfig.Config) (Settings, []modelconfig.Finding) {
	r := reader{Config: c}
	s := Settings{
		Delay: r.delay(), Admission: r.admission(), Shed: r.shed(), Lengths: r.lengths(), Process: r.process(), Traffic: r.traffic(),
		Residency: r.residency(),
	}
	_ = r.isolation()
	return s, r.found
}

// RequestConfig returns the configuration that requests are checked against. An input that
// length buckets fill with a mask is optional.
func (s Settings) RequestConfig(c *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	if s.Lengths == nil || s.Lengths.Mask == nil {
		return c
	}
	c = proto.CloneOf(c)
	for _, in := range c.GetInput() {
		if in.GetName() == s.Lengths.Mask.Name {
			in.Optional = true
		}
	}
	return c
}

type reader struct {
	*modelconfig.Config
	found []modelconfig.Finding
}

// add reports a mistake in a parameter.
func (r *reader) add(key, hint, format string, args ...any) {
	path := fmt.Sprintf("parameters[%q]", key)
	r.found = append(r.found, modelconfig.Finding{
		Rule: rule, Code: status.InvalidArg, Path: path, Pos: r.Position(path),
		Msg: fmt.Sprintf("parameter '%s' of model '%s': ", key, r.Name) + fmt.Sprintf(format, args...), Hint: hint,
	})
}

// text returns the value of a parameter. It reports false if the parameter is not set.
func (r *reader) text(key string) (string, bool) {
	p, ok := r.Parameters[key]
	return strings.TrimSpace(p.GetStringValue()), ok
}

// input returns the input of that name; nil when there is none.
func (r *reader) input(name string) *inferencepb.ModelInput {
	i := slices.IndexFunc(r.Input, func(in *inferencepb.ModelInput) bool { return in.GetName() == name })
	if i < 0 {
		return nil
	}
	return r.Input[i]
}

func (r *reader) admission() bool {
	text, ok := r.text(keyAdmission)
	if !ok {
		return false
	}
	switch text {
	case "true", "false":
	default:
		r.add(keyAdmission, `write "true" or "false"`, "'%s' is neither true nor false", text)
		return false
	}
	on := text == "true"
	if on && r.GetSequenceBatching() != nil || on && r.GetEnsembleScheduling() != nil {
		r.add(keyAdmission, "remove it", "only models without sequence batching and ensemble scheduling can have admission control")
	}
	return on
}

// unknown reports the parameters that begin with family and that this package does not know.
func (r *reader) unknown(family string) {
	for _, key := range slices.Sorted(maps.Keys(r.Parameters)) {
		if !strings.HasPrefix(key, family) || slices.Contains(Keys(), key) {
			continue
		}
		hint := "remove it"
		if near, ok := spelling.Nearest(key, Keys()); ok {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		r.add(key, hint, "there is no such parameter")
	}
}
