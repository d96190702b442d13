package model

import (
	"log/slog"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/stats"
	"triton/server/store"
)

// LoadedVersion is one loaded version of a model. Its life, resizing and counters
// change; everything else is fixed when it is made. It implements infer.Model.
type LoadedVersion struct {
	model, namespace string
	label            string // the model's name in the log
	number           int64
	versionText      string // number in decimal

	from   Provenance
	dir    string // the version's folder in folder.Dir
	folder *store.Folder
	// fingerprint is nil without a response cache.
	fingerprint *fingerprint
	composing   []*LoadedVersion // of an ensemble: the versions that its steps used when it was loaded
	steps       *stepModels      // of an ensemble: finds the models of its steps

	config     *inferencepb.ModelConfig
	extensions extension.Settings
	metadata   *inferencepb.ModelMetadataResponse
	labels     map[string][]string
	check      *checker
	pool       *tensor.Pool
	log        *slog.Logger
	stats      *stats.Model
	*running
	resizing resizing
	// loadSeconds is how long the load took.
	loadSeconds float64
	times       stats.LoadTimes // of the load
	// callsModels reports whether the backend's model calls other models. Versions that share the
	// backend's model share it too.
	callsModels *atomic.Bool
	stepChanged atomic.Bool // a step of the ensemble has used another version than the composing one

	// The life of a version, in the order of the events:
	//
	//	event                                 sets                  then references are taken by
	//	load                                  refs = 1              all
	//	drain of the server                   idle, stopped         all; requests but those of models are refused
	//	another version takes its instances   replaced              all
	//	Retire                                retired, retiredAt    those who know the version
	//	RetireIdle finds refs = 1             retired, refs = 0     none
	//	the last reference is released        drained               none
	//	Close                                 closed                none
	refs           atomic.Int64           // of requests, plus one of the repository
	replaced       atomic.Bool            // another version uses its instances from now on
	stopped        atomic.Bool            // the server drains: only requests of other models are accepted
	idle           atomic.Pointer[func()] // called when no request holds the version
	callsAfterStop atomic.Uint64          // number of references that models took since stopped was set
	retired        atomic.Bool            // the repository has released its reference
	retiredAt      atomic.Int64           // in Unix nanoseconds
	drained        chan struct{}          // closed when refs is zero
	closed         atomic.Bool
}

var (
	_ infer.Model       = (*LoadedVersion)(nil)
	_ infer.InputPooler = (*LoadedVersion)(nil)
)

// Label returns the model's name in the log.
func (v *LoadedVersion) Label() string { return v.label }

// Number returns the version.
func (v *LoadedVersion) Number() int64 { return v.number }

// From returns what the version was loaded from; read-only.
func (v *LoadedVersion) From() *Provenance { return &v.from }

// Stats returns the counters.
func (v *LoadedVersion) Stats() *stats.Model { return v.stats }

// InputPool implements infer.InputPooler. A response cache reads the inputs itself.
func (v *LoadedVersion) InputPool() *tensor.Pool {
	if v.group == nil || v.config.GetResponseCache().GetEnable() {
		return nil
	}
	return v.group.InputPool()
}

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
