package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/memory/meter"
	"triton/pkg/inferencepb"
)

// ErrNothingMeasured reports an analysis without measurements and wraps the reason;
// ErrNoServer is the reason if the first server did not start.
var (
	ErrNothingMeasured = errors.New("nothing was measured")
	ErrNoServer        = errors.New("the server did not start")
)

// run is a running analysis.
type run struct {
	Config
	Deps
	model     *model
	shared    *inferencepb.ModelConfig // of all variants
	meter     *meter.DeviceMeter       // nil without GPUs
	dir       string                   // of the temporary repositories
	removeDir func() error
	starts    int
	result    *Result
}

// Run analyzes a model. Its servers have ended when it returns. If the context
// ends, the result has the measurements so far and Interrupted; the error is nil if
// there are any.
func Run(ctx context.Context, c Config, d Deps) (*Result, error) {
	result := &Result{Model: c.Model, Started: time.Now(), Shapes: c.Shapes, Quick: c.Footprint.Quick, Places: map[footprint.Place]PlaceName{}}
	if err := c.Validate(); err != nil {
		return result, err
	}
	if d.Observe == nil {
		d.Observe = func(Event) {}
	}
	r := &run{Config: c, Deps: d, result: result}
	if err := r.prepare(); err != nil {
		return result, err
	}
	defer func() { _ = r.removeDir() }() // the next analysis removes what is left
	found, err := footprint.Run(ctx, r.Footprint, footprint.Deps{
		Subject: r, Observe: func(e footprint.Event) { d.Observe(Step{e}) },
	})
	result.Footprint = *found
	if ctx.Err() != nil {
		result.Interrupted, err = true, nil
	}
	r.name()
	r.recommend()
	if err == nil && !slices.ContainsFunc(found.Anchors, func(a footprint.Anchor) bool { return a.Failure == nil }) {
		err = r.nothingMeasured(ctx)
	}
	return result, err
}

// nothingMeasured returns the error of an analysis without a complete server.
func (r *run) nothingMeasured(ctx context.Context) error {
	for _, a := range r.result.Footprint.Anchors {
		if a.Failure != nil && ctx.Err() == nil { // not caused by the interrupt
			return fmt.Errorf("%w: instance count %d: %w", ErrNothingMeasured, a.Instances, a.Failure.Err)
		}
	}
	if len(r.result.Points) > 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNothingMeasured, context.Cause(ctx))
}

func (r *run) prepare() (err error) {
	if r.model, err = findModel(r.Model, r.ConfigName, r.Repositories); err != nil {
		return err
	}
	if r.shared, r.result.Warnings, err = r.model.sharedConfig(r.Space.Batches); err != nil {
		return err
	}
	r.result.Batch = largestBatch(r.shared, r.Space.Batches)
	r.Footprint.Counts = r.Space.Counts()
	r.Footprint.Batches = r.Space.BatchSizes()
	if !slices.Contains(r.Footprint.Batches, r.result.Batch) {
		r.Footprint.Batches = append(r.Footprint.Batches, r.result.Batch)
	}
	if r.GPU == nil && len(r.Devices) > 0 {
		return fmt.Errorf("no GPU can be measured on this machine, so device %s cannot count", strings.Join(r.Devices, ", "))
	}
	if r.GPU != nil {
		if r.meter, err = meter.NewDeviceMeter(r.GPU, r.Devices); err != nil {
			return err
		}
	}
	r.dir, r.removeDir, err = bench.NewScratch(r.TempDir, "triton-analyze-")
	return err
}

// name describes the places of the readings.
func (r *run) name() {
	r.result.Places[footprint.Host] = PlaceName{"host memory", "anonymous and shared memory of the server's processes"}
	if r.meter == nil {
		return
	}
	for _, room := range r.meter.Rooms() {
		source, disagree := r.meter.Sources(room.UUID)
		name := "GPU " + room.UUID
		if room.Name != "" {
			name += " (" + room.Name + ")"
		}
		r.result.Places[footprint.Place(room.UUID)] = PlaceName{name, string(source)}
		if disagree != "" {
			r.warn("the memory of %s is not certain: %s; the larger counts", name, disagree)
		}
	}
}

func (r *run) warn(format string, args ...any) {
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
}

// onGPU reports whether the model's instances run on GPUs.
func (r *run) onGPU() bool {
	kind := r.shared.GetInstanceGroup()[0].GetKind()
	return kind == inferencepb.ModelInstanceGroup_KIND_GPU || kind == inferencepb.ModelInstanceGroup_KIND_AUTO && r.meter != nil
}
