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
	"triton/server/repository/layout"
	"triton/server/repository/ondemand"
	"triton/server/repository/state"
	"triton/server/store"
)

// Demand configures the loading of models by requests.
type Demand struct {
	// Budget is the memory for models by device; devices that it lacks have no limit.
	Budget ondemand.Bytes
	// KeepAlive is the time after which an idle model is unloaded; negative: never.
	KeepAlive time.Duration
	// Timeout is the longest time that a request waits for a load; MaxWaiting the number of
	// requests that may wait at a time.
	Timeout    time.Duration
	MaxWaiting int
	// RetryDelay is the pause after the first failed load; it doubles. 0: a second.
	RetryDelay time.Duration
	// Pinned are the models that are loaded at the start and never unloaded to make room.
	Pinned []string
	// ByState says that a document names the models (SetRoster). Until then requests load none.
	ByState bool
}

// startDemand makes the manager if the control mode has one.
func (r *Repository) startDemand() {
	if r.opts.Control != ControlAuto {
		return
	}
	d := r.opts.Demand
	if d.ByState {
		r.roster.Store(&Roster{Only: true})
	}
	r.demand = ondemand.New(ondemand.Options{
		Models: &demandModels{r}, Budget: d.Budget, KeepAlive: d.KeepAlive, Pinned: d.Pinned,
		Timeout: d.Timeout, MaxWaiting: d.MaxWaiting, RetryDelay: d.RetryDelay, Log: r.opts.Log,
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
func (r *Repository) startOnDemand(ctx context.Context, l *layout.Listing, requested []state.Finding) error {
	if l.Err != nil && len(l.Models) == 0 {
		r.failure.Store(&l.Err)
		r.phase.CompareAndSwap(starting, failed)
		return l.Err
	}
	r.opts.Log.Info("models are loaded on demand", "budget", ondemand.Text(r.opts.Demand.Budget))
	var err error
	for _, id := range r.startOf(ctx, l, requested) {
		if wrong := r.loadNow(ctx, id, infer.LoadOptions{}); wrong != nil {
			r.opts.Log.Error(fmt.Sprintf("failed to load '%s' at the start: %s", id, reasonOf(wrong)))
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

// startOf returns the models that are loaded at the start: the requested and the pinned ones. A document
// says later which models it wants loaded.
func (r *Repository) startOf(ctx context.Context, l *layout.Listing, requested []state.Finding) []store.ID {
	var ids []store.ID
	for _, f := range requested {
		ids = append(ids, f.ID)
	}
	if r.opts.Demand.ByState {
		return ids
	}
	for _, name := range r.opts.Demand.Pinned {
		for _, f := range namedFindings(l, name) {
			ids = append(ids, f.ID)
		}
	}
	for _, m := range l.Models {
		if settings, err := r.settingsOf(ctx, l, m); err == nil && settings.Pinned {
			ids = append(ids, m.ID)
		}
	}
	slices.SortFunc(ids, store.Compare)
	return slices.Compact(ids)
}

// loadNow loads a model that the operator wants, when there is memory.
func (r *Repository) loadNow(ctx context.Context, id store.ID, o infer.LoadOptions) error {
	return r.loadWithRoom(ctx, id, o, func() error { return r.loadFor(ctx, state.ByStart, id, o, restrictToComplete) })
}

// loadWithRoom runs the load of a client or of the start when there is memory for it.
func (r *Repository) loadWithRoom(ctx context.Context, id store.ID, o infer.LoadOptions, load func() error) error {
	if r.demand == nil {
		return load()
	}
	key, t, err := (&demandModels{r}).targets(ctx, id, o.Config)
	if err != nil {
		return status.New(status.Unavailable, "model '%s' cannot be looked up in its store: %w", id, err)
	}
	if len(o.Files) > 0 {
		n := int64(0)
		for _, text := range o.Files {
			n += int64(len(text))
		}
		t.Members = []ondemand.Member{{Name: key, Need: ondemand.Bytes{ondemand.Host: n}}}
	}
	return r.demand.WithRoom(ctx, key, t, load)
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
	err := r.await(ctx, "", name, cause, func() (err error) {
		m, err = r.actual.Acquire(name, number)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// await loads the model that a name means for a caller in a namespace, and calls acquire. cause is the
// error if the store has no such model.
func (r *Repository) await(ctx context.Context, namespace, name string, cause error, acquire func() error) error {
	id, err := r.actual.Identify(namespace, name)
	if err != nil {
		return err
	}
	err = r.demand.Await(ctx, r.key(id), acquire)
	if !errors.Is(err, ondemand.ErrUnknown) {
		return err
	}
	// The look at the store may have found the name in a namespace.
	switch found, err := r.actual.Identify(namespace, name); {
	case err != nil:
		return err
	case found == id:
		return cause
	default:
		if err = r.demand.Await(ctx, r.key(found), acquire); errors.Is(err, ondemand.ErrUnknown) {
			return cause
		}
		return err
	}
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
	return &demandSubmitter{s, r, namespace}
}

type demandSubmitter struct {
	infer.Submitter
	r         *Repository
	namespace string
}

// Acquire waits for a model that is not loaded.
func (s *demandSubmitter) Acquire(name, version string) (infer.Callee, error) {
	c, cause := s.Submitter.Acquire(name, version)
	if cause == nil || s.r.phase.Load() == exiting {
		return c, cause
	}
	err := s.r.await(s.r.life, s.namespace, name, cause, func() (err error) {
		c, err = s.Submitter.Acquire(name, version)
		return err
	})
	return c, err
}

// onDemandEntry completes the entry of a model that a request would load.
func (r *Repository) onDemandEntry(id store.ID, e *inferencepb.RepositoryIndexResponse_ModelIndex) *inferencepb.RepositoryIndexResponse_ModelIndex {
	if r.demand == nil || e.Reason != "" && e.Reason != state.ReasonUnloaded {
		return e
	}
	switch why := r.demand.UnloadReason(r.key(id)); {
	case e.State != "" && e.State != string(state.VersionUnavailable):
	case !r.roster.Load().has(id.Name):
		e.State, e.Reason = string(state.VersionUnavailable), "the state does not have this model"
	case why != "":
		e.State, e.Reason = string(state.VersionUnavailable), "unloaded: "+why+"; the next request loads it"
	default:
		e.State, e.Reason = string(state.VersionUnavailable), "not loaded: the first request loads it"
	}
	return e
}

// versionDir returns the folder of a version.
func versionDir(f *store.Folder, version string) string { return filepath.Join(f.Dir, version) }

// devicesOf returns the devices of two amounts, sorted.
func devicesOf(a, b ondemand.Bytes) []ondemand.Device {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
