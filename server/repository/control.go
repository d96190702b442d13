package repository

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"triton/pkg/status"
	"triton/server/infer"
)

var (
	errNotExplicit = status.New(status.Unavailable, "explicit model load / unload is not allowed if polling is enabled")
	errNotReady    = status.New(status.Unavailable, "Server not ready")
)

// Load loads one model by request of a client. While another call is at work on
// the same name it waits, until ctx ends. A load that has begun goes on when
// the client leaves, as Triton's does; it ends early only with the server.
func (r *Repository) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	return r.control(ctx, name, o.Config, func() error {
		if err := checkName(name); err != nil {
			return err
		}
		return r.load(name, o)
	})
}

// Unload takes a model out of service, and the ensembles that need it; with
// dependents also the models that only it needs and nobody asked for by name. It
// returns when no new requests are taken; those in flight finish, then the
// versions are closed. That a model is unknown or not loaded is no error.
func (r *Repository) Unload(ctx context.Context, name string, dependents bool) error {
	return r.control(ctx, name, nil, func() error {
		var ids []modelID
		for _, m := range r.view.Load().models[name] {
			ids = append(ids, m.id)
		}
		r.dismissAll(r.forget(ids, dependents))
		return nil
	})
}

// dismissAll takes models out of service that the graph has forgotten, and the
// ensembles over them.
func (r *Repository) dismissAll(ids []modelID) {
	for _, id := range ids {
		r.dismiss(id)
	}
	r.reassess(r.life, ids)
}

// control does what a client asks for, alone with the model's name.
func (r *Repository) control(ctx context.Context, name string, override *string, do func() error) error {
	if r.phase.Load() != ready || !r.tasks.begin() {
		return errNotReady
	}
	defer r.tasks.done()
	if r.opts.Control != ControlExplicit {
		return errNotExplicit
	}
	free, err := r.reserve(ctx, name, override)
	if err != nil {
		return err
	}
	defer free()
	return do()
}

// checkName refuses what is no name of a directory.
func checkName(name string) error {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return status.New(status.InvalidArg, "Model name cannot be empty. Please enter a valid name to deploy.")
	case trimmed == ".." || strings.Contains(trimmed, "/"):
		return status.New(status.InvalidArg, "invalid model name '%s', model name must not contain path traversal characters", name)
	}
	return nil
}

func (r *Repository) load(name string, o infer.LoadOptions) error {
	candidates, complete := r.poll(name, o)
	asked := len(candidates)
	var ids []modelID
	for _, f := range r.locate(name) {
		r.ask(f.id)
		ids = append(ids, f.id)
	}
	candidates = r.withParts(ids, candidates)
	errs := r.applyAll(r.life, candidates)
	var text strings.Builder
	for i, err := range errs[:asked] {
		if err != nil {
			fmt.Fprintf(&text, "load failed for model '%s': %s\n", candidates[i].id, err)
		}
	}
	switch {
	case text.Len() > 0:
		return status.New(status.InvalidArg, "%s", text.String())
	case !complete:
		return status.New(status.Internal, "failed to load '%s', failed to poll from model repository", name)
	}
	return nil
}

// poll looks a name up. False when what it found, perhaps nothing, could not be
// read as a model; the log says why.
func (r *Repository) poll(name string, o infer.LoadOptions) (candidates []*candidate, complete bool) {
	if len(o.Files) > 0 {
		c, err := r.unpack(name, o)
		if err != nil {
			r.pollFailed(name, err)
			return nil, false
		}
		return []*candidate{c}, true
	}
	dirs := r.locate(name)
	if len(dirs) == 1 && dirs[0].twice {
		r.notUnique(name)
		dirs = nil
	}
	if len(dirs) == 0 {
		r.opts.Log.Error(fmt.Sprintf("failed to poll model '%s': model not found in any model repository.", name))
		return nil, false
	}
	return r.survey(dirs, o)
}

// survey examines directories and returns those to load. False when some cannot
// be read as models; the log says why.
func (r *Repository) survey(dirs []*found, o infer.LoadOptions) (candidates []*candidate, complete bool) {
	complete = true
	for _, f := range dirs {
		c, err := r.examine(f, o)
		switch {
		case err != nil:
			complete = false
			r.pollFailed(f.id.String(), err)
		case c != nil:
			candidates = append(candidates, c)
		}
	}
	return candidates, complete
}

func (r *Repository) pollFailed(label string, err error) {
	r.opts.Log.Error(fmt.Sprintf("Poll failed for model directory '%s': %s", label, err), details(err)...)
}

func (r *Repository) notUnique(name string) {
	r.opts.Log.Error(fmt.Sprintf("failed to poll model '%s': not unique across all model repositories", name))
}

// applyAll loads candidates at the same time, ensembles after their parts, and
// then looks again at the ensembles that need one of them. The errors stand
// where their candidates do.
func (r *Repository) applyAll(ctx context.Context, candidates []*candidate) []error {
	r.note(candidates)
	errs, ids := make([]error, len(candidates)), make([]modelID, len(candidates))
	done := map[modelID]chan struct{}{}
	for i, c := range candidates {
		ids[i] = c.id
		done[c.id] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for i, c := range candidates {
		r.mu.Lock()
		circle := r.circle(c)
		r.mu.Unlock()
		wg.Go(func() {
			defer close(done[c.id])
			for _, p := range c.parts {
				if other := done[p]; other != nil && circle == nil {
					<-other
				}
			}
			errs[i] = r.apply(ctx, c)
		})
	}
	wg.Wait()
	r.reassess(ctx, ids)
	return errs
}

// reassess brings the ensembles over models up to date after those changed.
func (r *Repository) reassess(ctx context.Context, ids []modelID) {
	for _, c := range r.above(ids) {
		c.files.hold()
		_ = r.apply(ctx, c) // the log says it
	}
}

// dismiss takes all versions of a model out of service.
func (r *Repository) dismiss(id modelID) {
	r.mu.Lock()
	delete(r.records, id)
	r.mu.Unlock()
	r.withdraw(id, false)
}

// withdraw takes all versions of a model out of service that may come back.
func (r *Repository) withdraw(id modelID, wanted bool) {
	var leaving []*version
	r.change(id, func(m *model) {
		m.wanted = wanted
		for i := range m.entries {
			if e := &m.entries[i]; e.state == stateReady {
				e.state = stateUnloading
				leaving = append(leaving, e.version)
			}
		}
	})
	for _, v := range leaving {
		r.retire(id, v)
	}
}
