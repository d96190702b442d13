package repository

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
	"triton/server/ratelimit"
	"triton/server/scheduler"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

// version is one loaded version of a model. Everything but the counters is
// fixed before it is published. It implements infer.Model.
type version struct {
	model  string
	label  string // the model's name in the log
	number int64
	text   string // number in decimal

	// What it was loaded from.
	dir    string
	source *inferencepb.ModelConfig // before the backend completed it
	stamp  stamp
	files  *scratch
	print  *fingerprint // nil without a response cache
	parts  []*version   // of an ensemble: what its steps used when it was loaded

	config   *inferencepb.ModelConfig
	beyond   beyond.Settings
	metadata *inferencepb.ModelMetadataResponse
	labels   map[string][]string
	check    *checker
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
	// sequences is the source of a model that keeps sequences, else nil.
	sequences *sequence.Source
	seconds   float64 // time to load
	// replaced is that another version goes on with the engine.
	replaced bool

	// refs counts requests plus one for the repository; at zero the version
	// can be closed.
	refs    atomic.Int64
	drained chan struct{}
	left    atomic.Bool // the repository has given its reference up
	closing atomic.Bool // the server ends: nothing is taken any more
	closed  atomic.Bool // what it held was given back
	strayed atomic.Bool // an ensemble whose step has found another version than that of parts
}

var _ infer.Model = (*version)(nil)

// acquire takes a reference; false when the version is closed already.
func (v *version) acquire() bool {
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
func (v *version) Release() {
	switch n := v.refs.Add(-1); {
	case n == 0:
		close(v.drained)
	case n < 0:
		panic("repository: model version released more often than taken")
	}
}

// leave gives the repository's reference up, once.
func (v *version) leave() {
	if !v.left.Swap(true) {
		v.Release()
	}
}

// inFlight is the number of requests that hold the version, or of sequences that
// have a slot.
func (v *version) inFlight() int64 {
	n := v.refs.Load()
	if !v.left.Load() {
		n--
	}
	if v.sequences != nil {
		n = max(n, int64(v.sequences.Held()))
	}
	return max(n, 0)
}

// Name is the model's name.
func (v *version) Name() string { return v.model }

// Version is the version in decimal.
func (v *version) Version() string { return v.text }

// Config is the completed configuration.
func (v *version) Config() *inferencepb.ModelConfig { return v.config }

// Metadata is the metadata of this version alone.
func (v *version) Metadata() *inferencepb.ModelMetadataResponse { return v.metadata }

// Labels are the class names of an output.
func (v *version) Labels(output string) []string { return v.labels[output] }

// Infer checks and runs a request.
func (v *version) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	if err := v.admit(r, false); err != nil {
		r.Release()
		return nil, err
	}
	return v.runner.Infer(ctx, r)
}

// Submit checks and queues a request.
func (v *version) Submit(r *infer.Request) error { return v.submit(r, false) }

func (v *version) submit(r *infer.Request, step bool) error {
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
func (v *version) admit(r *infer.Request, step bool) error {
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

func (v *version) inspect(r *infer.Request, step bool) error {
	if !step && v.closing.Load() {
		return status.New(status.Unavailable, "%sServer is stopping, scheduler for model has stopped accepting new inference requests", r.Tag())
	}
	r.ModelName, r.ModelVersion, r.Pool, r.Log = v.model, v.text, v.pool, v.log
	if err := v.check.check(r); err != nil {
		return err
	}
	if r.Trace != nil {
		r.Trace.Begin(r)
	}
	return nil
}

// describe makes the metadata of a version.
func describe(c *inferencepb.ModelConfig, versions ...string) *inferencepb.ModelMetadataResponse {
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
