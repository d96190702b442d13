package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/repository/actual"
	"triton/server/repository/desired"
	"triton/server/repository/evict"
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/repository/plan"
	"triton/server/store"
)

// Demand configures the loading of models by requests.
type Demand struct {
	// Budget is the memory for models by device; devices that it lacks have no limit.
	Budget evict.Bytes
	// KeepAlive is the time after which an idle model is unloaded; negative: never.
	KeepAlive time.Duration
	// Timeout is the longest time that a request waits for a load; MaxWaiting the number of
	// requests that may wait at a time.
	Timeout    time.Duration
	MaxWaiting int
	// Pinned are the models that are loaded at the start and never unloaded to make room.
	Pinned []string
}

// startDemand makes the manager if the control mode has one.
func (r *Repository) startDemand() {
	if r.opts.Control != ControlAuto {
		return
	}
	d := r.opts.Demand
	r.demand = ondemand.New(ondemand.Options{
		Models: &demandModels{r}, Budget: d.Budget, KeepAlive: d.KeepAlive, Pinned: d.Pinned,
		Timeout: d.Timeout, MaxWaiting: d.MaxWaiting, Log: r.opts.Log,
	})
}

// endDemand ends the loads on demand. It waits for them until ctx ends: a backend that unloads, or that
// is asked for its memory, may hang.
func (r *Repository) endDemand(ctx context.Context) error {
	if r.demand == nil {
		return nil
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.demand.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("loads on demand have not ended: %w", context.Cause(ctx))
	}
}

// startOnDemand loads the pinned models and those of --load-model; requests load the others.
func (r *Repository) startOnDemand(ctx context.Context, l *layout.Listing, requested []plan.Finding) error {
	if l.Err != nil && len(l.Models) == 0 {
		r.failure.Store(&l.Err)
		r.phase.CompareAndSwap(starting, failed)
		return l.Err
	}
	r.opts.Log.Info("models are loaded on demand", "budget", ondemand.Text(r.opts.Demand.Budget))
	names := slices.Clone(r.opts.Demand.Pinned)
	for _, f := range requested {
		names = append(names, f.ID.Name)
	}
	for _, m := range l.Models {
		if settings, err := r.settingsOf(ctx, l, m); err == nil && settings.Pinned {
			names = append(names, m.ID.Name)
		}
	}
	slices.Sort(names)
	var err error
	for _, name := range slices.Compact(names) {
		if wrong := r.loadNow(ctx, name, infer.LoadOptions{}); wrong != nil {
			r.opts.Log.Error(fmt.Sprintf("failed to load '%s' at the start: %s", name, reasonOf(wrong)))
			err = ErrLoad
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !r.phase.CompareAndSwap(starting, ready) {
		r.phase.CompareAndSwap(failed, ready)
	}
	r.demand.Start()
	return err
}

// loadNow loads a model that the operator wants, when there is memory.
func (r *Repository) loadNow(ctx context.Context, name string, o infer.LoadOptions) error {
	return r.admitLoad(ctx, name, o, func() error { return r.loadFor(ctx, desired.ByStart, name, o, completeView) })
}

// admitLoad runs the load of a client or of the start when there is memory for it.
func (r *Repository) admitLoad(ctx context.Context, name string, o infer.LoadOptions, load func() error) error {
	if r.demand == nil {
		return load()
	}
	t, err := (&demandModels{r}).target(ctx, name, o.Config)
	if err != nil {
		return status.New(status.Unavailable, "model '%s' cannot be looked up in its store: %w", name, err)
	}
	if len(o.Files) > 0 {
		n := int64(0)
		for _, text := range o.Files {
			n += int64(len(text))
		}
		t.Members = []ondemand.Member{{Name: name, Need: evict.Bytes{evict.Host: n}}}
	}
	return r.demand.Admit(ctx, name, t, load)
}

var _ infer.OnDemand = (*Repository)(nil)

// Await loads a model for a request that did not find it, and returns it with a reference. cause is
// the error of Model: it stays if models are not loaded on demand, or the store does not have the
// model. A version that the model does not have is an error.
func (r *Repository) Await(ctx context.Context, name, number string, cause error) (infer.Model, error) {
	if r.demand == nil || !answers(r.phase.Load()) || r.phase.Load() == exiting {
		return nil, cause
	}
	var m infer.Model
	err := r.demand.Await(ctx, name, func() (err error) {
		m, err = r.actual.Acquire(name, number)
		return err
	})
	if errors.Is(err, ondemand.ErrUnknown) {
		return nil, cause
	}
	return m, err
}

// OnDemand reports whether requests load models.
func (r *Repository) OnDemand() bool { return r.demand != nil }

// Demand returns what loading on demand has done; nil without it.
func (r *Repository) Demand() *ondemand.Counts {
	if r.demand == nil {
		return nil
	}
	c := r.demand.Counts()
	return &c
}

// submitter returns how a model finds the models that it calls: it loads them if necessary.
func (r *Repository) submitter(namespace string) infer.Submitter {
	s := r.actual.Submitter(namespace)
	if r.demand == nil {
		return s
	}
	return &demandSubmitter{s, r}
}

type demandSubmitter struct {
	infer.Submitter
	r *Repository
}

// Acquire waits for a model that is not loaded.
func (s *demandSubmitter) Acquire(name, version string) (infer.Callee, error) {
	return s.AcquireContext(s.r.life, name, version)
}

// AcquireContext is Acquire with a context for the wait.
func (s *demandSubmitter) AcquireContext(ctx context.Context, name, version string) (infer.Callee, error) {
	c, cause := s.Submitter.Acquire(name, version)
	if cause == nil || s.r.phase.Load() == exiting {
		return c, cause
	}
	defer lendPlace(ctx)()
	err := s.r.demand.Await(ctx, name, func() (err error) {
		c, err = s.Submitter.Acquire(name, version)
		return err
	})
	if errors.Is(err, ondemand.ErrUnknown) {
		err = cause
	}
	return c, err
}

// onDemandEntry completes the entry of a model that a request would load.
func (r *Repository) onDemandEntry(e *inferencepb.RepositoryIndexResponse_ModelIndex) *inferencepb.RepositoryIndexResponse_ModelIndex {
	if r.demand == nil || e.Reason != "" && e.Reason != actual.ReasonUnloaded {
		return e
	}
	switch why := r.demand.UnloadReason(e.Name); {
	case e.State != "" && e.State != string(actual.Unavailable):
	case why != "":
		e.State, e.Reason = string(actual.Unavailable), "unloaded: "+why+"; the next request loads it"
	default:
		e.State, e.Reason = string(actual.Unavailable), "not loaded: the first request loads it"
	}
	return e
}

// versionDir returns the folder of a version.
func versionDir(f *store.Folder, version string) string { return filepath.Join(f.Dir, version) }

// devicesOf returns the devices of two amounts, sorted.
func devicesOf(a, b evict.Bytes) []evict.Device {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
