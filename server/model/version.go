package model

import (
	"log/slog"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/admission"
	"triton/server/backend/plugin"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/loadphase"
	"triton/server/model/fingerprint"
	"triton/server/ratelimit"
	"triton/server/scheduler"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
	"triton/server/store"
	"triton/server/validation"
	"triton/server/warmup"
)

// LoadedVersion is one loaded version of a model. Everything but the counters is fixed
// when it is made. It implements infer.Model.
type LoadedVersion struct {
	model, namespace string
	label            string // the model's name in the log
	number           int64
	versionText      string // number in decimal

	from   Provenance
	dir    string // the version's folder in folder.Dir
	folder *store.Folder
	// fingerprint is nil without a response cache.
	fingerprint *fingerprint.Fingerprint
	composing   []*LoadedVersion // of an ensemble: the versions that its steps used when it was loaded
	steps       *stepModels      // of an ensemble: finds the models of its steps

	config       *inferencepb.ModelConfig
	extensions   extension.Settings
	metadata     *inferencepb.ModelMetadataResponse
	labels       map[string][]string
	check        *validation.Checker
	pool         *tensor.Pool
	log          *slog.Logger
	stats        *stats.Model
	backendModel *sharedModel // nil for an ensemble
	// runner runs the requests that passed the checks. It ends in group, unless the version
	// is an ensemble: then group is nil.
	runner infer.Runner
	group  *instance.Group
	// observer observes the batches; nil: nothing does. estimate is what admission control
	// has learned from them; nil without admission control.
	observer scheduler.Observer
	estimate *admission.Estimate
	queue    admission.Queue
	gate     *ratelimit.Gate  // nil without a rate limiter
	samples  *warmup.Plan     // requests that new instances run first; nil: none
	strategy *plugin.Strategy // custom batching functions; nil: none
	// sequences is the scheduler of a model with sequence batching, else nil.
	sequences *sequence.Source
	// loadSeconds is how long the load took.
	loadSeconds float64
	// times are those of the load. warmUpTime is that of the instance that took longest.
	times      loadphase.Times
	warmUpTime atomic.Int64
	// retiredAt is when the version was taken out of service, in Unix nanoseconds.
	retiredAt atomic.Int64
	// callsModels reports whether the backend's model calls other models. Versions that share the
	// backend's model share it too.
	callsModels *atomic.Bool
	// replaced reports whether another version uses the backend's model from now on.
	replaced bool

	// refs counts requests plus one for the repository; at zero the version
	// can be closed.
	refs           atomic.Int64
	drained        chan struct{}
	retired        atomic.Bool            // the repository has released its reference
	stopped        atomic.Bool            // the server drains: only requests of other models are accepted
	idle           atomic.Pointer[func()] // set before stopped; called when no request holds the version
	callsAfterStop atomic.Uint64          // number of references that models took since stopped was set
	closed         atomic.Bool
	stepChanged    atomic.Bool // a step of the ensemble has used another version than the composing one
}

var _ infer.Model = (*LoadedVersion)(nil)

// Replace records that another version uses the backend's model from now on. It is called
// before Retire.
func (v *LoadedVersion) Replace() { v.replaced = true }

// Label returns the model's name in the log.
func (v *LoadedVersion) Label() string { return v.label }

// Number returns the version.
func (v *LoadedVersion) Number() int64 { return v.number }

// From returns what the version was loaded from; read-only.
func (v *LoadedVersion) From() *Provenance { return &v.from }

// Stats returns the counters.
func (v *LoadedVersion) Stats() *stats.Model { return v.stats }

// Ready reports whether the version has an instance that works.
func (v *LoadedVersion) Ready() bool { return v.runner.Ready() }

// CheckReady asks the instances that have a readiness check of their own and returns why the
// version takes no requests. The steps of an ensemble are not asked, as in Triton.
func (v *LoadedVersion) CheckReady() error {
	if v.group == nil {
		return nil
	}
	return v.group.CheckReady()
}

// Broken reports whether the version has lost all its instances. An ensemble is never
// broken: it has no instances.
func (v *LoadedVersion) Broken() bool { return v.group != nil && !v.runner.Ready() }

// Name returns the model's name.
func (v *LoadedVersion) Name() string { return v.model }

// Version returns the version in decimal.
func (v *LoadedVersion) Version() string { return v.versionText }

// Config returns the completed configuration; read-only.
func (v *LoadedVersion) Config() *inferencepb.ModelConfig { return v.config }

// Metadata returns the metadata of this version alone.
func (v *LoadedVersion) Metadata() *inferencepb.ModelMetadataResponse { return v.metadata }

// Labels returns the class names of an output.
func (v *LoadedVersion) Labels(output string) []string { return v.labels[output] }
