package model

import (
	"context"
	"log/slog"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/beyond"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/admission"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/model/fingerprint"
	"triton/server/ratelimit"
	"triton/server/scheduler"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
	"triton/server/store"
	"triton/server/validation"
	"triton/server/warmup"
)

// Loaded is one loaded version of a model. Everything but the counters is fixed
// when it is made. It implements infer.Model.
type Loaded struct {
	model, space string
	label        string // the model's name in the log
	number       int64
	text         string // number in decimal

	from   Provenance
	dir    string // the version's own, in folder
	folder *store.Folder
	// fingerprint is nil without a response cache.
	fingerprint *fingerprint.Fingerprint
	parts       []*Loaded // of an ensemble: what its steps used when it was loaded
	inner       *inner    // and what finds their models

	config   *inferencepb.ModelConfig
	beyond   beyond.Settings
	metadata *inferencepb.ModelMetadataResponse
	labels   map[string][]string
	check    *validation.Checker
	pool     *tensor.Pool
	log      *slog.Logger
	stats    *stats.Model
	engine   *engine
	// runner takes the requests that passed the checks; group, if the version has
	// instances of its own, stands behind it.
	runner infer.Runner
	group  *instance.Group
	// observer learns from batches, estimate is what admission knows from them; both
	// are nil for most.
	observer scheduler.Observer
	estimate *admission.Estimate
	line     admission.Line
	gate     *ratelimit.Gate // nil without a rate limiter
	samples  *warmup.Plan    // that new instances run; nil: none
	// sequences is the source of a model that keeps sequences, else nil.
	sequences *sequence.Source
	seconds   float64 // time to load
	// calls is that the engine calls other models. Versions that share one share it.
	calls *atomic.Bool
	// replaced is that another version goes on with the engine.
	replaced bool

	// refs counts requests plus one for the repository; at zero the version
	// can be closed.
	refs    atomic.Int64
	drained chan struct{}
	left    atomic.Bool            // the repository has given its reference up
	closing atomic.Bool            // the server ends: nothing is taken any more
	idle    atomic.Pointer[func()] // set before closing: is called when nobody holds the version
	called  atomic.Uint64          // references that models took since then
	closed  atomic.Bool
	strayed atomic.Bool // an ensemble whose step has found another version than that of parts
}

var _ infer.Model = (*Loaded)(nil)

// Acquire takes a reference; false when the version is closed already.
func (v *Loaded) Acquire() bool {
	for {
		n := v.refs.Load()
		if n == 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back.
func (v *Loaded) Release() {
	n := v.refs.Add(-1)
	switch {
	case n > 1:
		return
	case n == 0:
		close(v.drained)
	case n < 0:
		panic("model: version released more often than taken")
	}
	if idle := v.idle.Load(); idle != nil && v.held() == 0 {
		(*idle)()
	}
}

// Leave gives the repository's reference up, once.
func (v *Loaded) Leave() {
	if !v.left.Swap(true) {
		v.Release()
	}
}

// Drained is closed when nobody holds the version any more.
func (v *Loaded) Drained() <-chan struct{} { return v.drained }

// held is the number of references of others than the repository.
func (v *Loaded) held() int64 {
	n := v.refs.Load()
	if !v.left.Load() {
		n--
	}
	return max(n, 0)
}

// InFlight is the number of requests that hold the version, or of sequences that
// have a slot.
func (v *Loaded) InFlight() int64 {
	n := v.held()
	if v.sequences != nil {
		n = max(n, int64(v.sequences.Held()))
	}
	return n
}

// Replace notes that another version goes on with the engine. It comes before
// Leave.
func (v *Loaded) Replace() { v.replaced = true }

// Label is the model's name in the log.
func (v *Loaded) Label() string { return v.label }

// Number is the version.
func (v *Loaded) Number() int64 { return v.number }

// From is what the version was loaded from; read-only.
func (v *Loaded) From() *Provenance { return &v.from }

// Stats are the counters.
func (v *Loaded) Stats() *stats.Model { return v.stats }

// Ready reports whether the version has instances that work.
func (v *Loaded) Ready() bool { return v.runner.Ready() }

// Broken reports whether the version has lost all its instances. An ensemble has
// none: it follows the models of its steps.
func (v *Loaded) Broken() bool { return v.group != nil && !v.runner.Ready() }

// Name is the model's name.
func (v *Loaded) Name() string { return v.model }

// Version is the version in decimal.
func (v *Loaded) Version() string { return v.text }

// Config is the completed configuration.
func (v *Loaded) Config() *inferencepb.ModelConfig { return v.config }

// Metadata is the metadata of this version alone.
func (v *Loaded) Metadata() *inferencepb.ModelMetadataResponse { return v.metadata }

// Labels are the class names of an output.
func (v *Loaded) Labels(output string) []string { return v.labels[output] }

// Infer checks and runs a request.
func (v *Loaded) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := v.admit(r, false); err != nil {
		r.Release()
		return nil, err
	}
	return v.runner.Infer(ctx, r)
}

// Submit checks and queues a request.
func (v *Loaded) Submit(r *infer.Request) error { return v.submit(r, false) }

// Infer checks and runs the request of a step.
func (s Step) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := s.admit(r, true); err != nil {
		r.Release()
		return nil, err
	}
	return s.runner.Infer(ctx, r)
}

// Submit checks and queues the request of a step.
func (s Step) Submit(r *infer.Request) error { return s.submit(r, true) }

func (v *Loaded) submit(r *infer.Request, step bool) error {
	err := v.admit(r, step)
	if err == nil {
		err = v.runner.Submit(r)
	}
	if err != nil {
		r.Release()
	}
	return err
}

// admit refuses what cannot run. A panic in it uses the core's reference up. The
// steps of an ensemble are taken as long as its request runs.
func (v *Loaded) admit(r *infer.Request, step bool) error {
	whole := false
	defer func() {
		if !whole {
			r.Release()
		}
	}()
	err := v.inspect(r, step)
	whole = true
	return err
}

func (v *Loaded) inspect(r *infer.Request, step bool) error {
	if !step && v.closing.Load() {
		return status.New(status.Unavailable, "%sServer is stopping, scheduler for model has stopped accepting new inference requests", r.Tag())
	}
	r.ModelName, r.ModelVersion, r.Pool, r.Log = v.model, v.text, v.pool, v.log
	if err := v.check.Check(r); err != nil {
		return err
	}
	r.BeginTrace()
	return nil
}

// Describe makes the metadata of versions with one configuration.
func Describe(c *inferencepb.ModelConfig, versions ...string) *inferencepb.ModelMetadataResponse {
	m := &inferencepb.ModelMetadataResponse{Name: c.GetName(), Versions: versions, Platform: c.GetPlatform()}
	if m.Platform == "" {
		m.Platform = c.GetBackend()
	}
	add := func(name string, d inferencepb.DataType, dims []int64) *inferencepb.ModelMetadataResponse_TensorMetadata {
		t := &inferencepb.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: tensor.DataType(d).String()}
		if c.GetMaxBatchSize() > 0 {
			t.Shape = append(t.Shape, -1)
		}
		t.Shape = append(t.Shape, dims...)
		return t
	}
	for _, in := range c.GetInput() {
		m.Inputs = append(m.Inputs, add(in.GetName(), in.GetDataType(), in.GetDims()))
	}
	for _, out := range c.GetOutput() {
		m.Outputs = append(m.Outputs, add(out.GetName(), out.GetDataType(), out.GetDims()))
	}
	return m
}
