package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

// job is what a load does about one version.
type job struct {
	numbered
	old     *version // serves now; nil: none does
	action  action
	version *version // the result
	err     error
}

type action uint8

const (
	loadAnew action = iota
	regroup         // the same engine with other instances
	keep            // nothing was changed
)

// failure is that a model does not serve as it should.
type failure struct {
	text string
	// engine is that nothing but a backend's own library is missing.
	engine bool
}

func (f *failure) Error() string { return f.text }

// apply loads the versions of a candidate. They serve together or not at all:
// when one fails those that served before go on.
func (r *Repository) apply(ctx context.Context, c *candidate) error {
	defer c.files.release()
	before := r.remember(c)
	err := r.bring(ctx, c)
	if err != nil {
		if isEnsemble(c.config.ModelConfig) {
			before.stamp = nil // it does not serve, whatever its files are
		}
		r.restore(c.id, before)
	}
	r.settle(c.id, err)
	return err
}

// remember notes what a model is loaded from; the result is what it was before.
func (r *Repository) remember(c *candidate) record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before record
	if old := r.records[c.id]; old != nil {
		before = *old
	}
	r.records[c.id] = &record{c.dir, c.stamp}
	return before
}

// restore makes the next load try again.
func (r *Repository) restore(id modelID, before record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[id] = &before
}

func (r *Repository) bring(ctx context.Context, c *candidate) error {
	versions, err := r.versions(c)
	if err == nil && isEnsemble(c.config.ModelConfig) {
		if c.fits, err = r.fit(c); err != nil {
			r.opts.Log.Error(reasonOf(err), details(err)...)
			r.withdraw(c.id, true)
			return &failure{text: err.Error(), engine: r.lacksEngine(c)}
		}
	}
	if err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load model '%s': %s", c.id, err))
		r.change(c.id, func(m *model) { m.wanted = true })
		return &failure{text: err.Error()}
	}
	jobs := r.plan(c, versions)
	var wg sync.WaitGroup
	for _, j := range jobs {
		r.opts.Log.Info(fmt.Sprintf("loading: %s:%d", c.id, j.number))
		if j.action != keep {
			wg.Go(func() { r.perform(ctx, c, j) })
		}
	}
	wg.Wait()
	return r.commit(c, jobs)
}

// plan decides about each version; new ones are in the index from now on.
func (r *Repository) plan(c *candidate, versions []numbered) []*job {
	jobs := make([]*job, len(versions))
	r.change(c.id, func(m *model) {
		m.wanted = true
		for i, n := range versions {
			jobs[i] = &job{numbered: n}
			e := m.need(n.number)
			if e.state == stateReady {
				jobs[i].old = e.version
				jobs[i].action = c.against(e.version, n)
				if isEnsemble(c.config.ModelConfig) {
					jobs[i].action = loadAnew // its parts may be others
				}
			} else {
				e.state, e.reason, e.version = stateLoading, "", nil
			}
		}
	})
	return jobs
}

// against compares with a version that serves.
func (c *candidate) against(v *version, n numbered) action {
	if v.dir != n.dir || !v.stamp.sameFor(c.stamp, baseName(n.dir), c.source) {
		return loadAnew
	}
	before, now := proto.CloneOf(v.source), proto.CloneOf(c.config.ModelConfig)
	if proto.Equal(before, now) {
		return keep
	}
	for _, cfg := range []*inferencepb.ModelConfig{before, now} {
		cfg.InstanceGroup, cfg.VersionPolicy = nil, nil
	}
	if proto.Equal(before, now) {
		return regroup
	}
	return loadAnew
}

// perform loads a version, again and again if it may.
func (r *Repository) perform(ctx context.Context, c *candidate, j *job) {
	select {
	case r.loading <- struct{}{}:
		defer func() { <-r.loading }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		j.err = status.New(status.Unavailable, "loading was ended: %w", context.Cause(ctx))
		return
	}
	for range max(r.opts.LoadRetries, 0) + 1 {
		if j.version, j.err = r.loadVersion(ctx, c, j); j.err == nil || ctx.Err() != nil {
			return
		}
	}
}

// commit publishes what the jobs have brought, or undoes it.
func (r *Repository) commit(c *candidate, jobs []*job) error {
	var bad *failure
	var text strings.Builder
	engine := true
	for _, j := range jobs {
		if j.err != nil {
			fmt.Fprintf(&text, "version %d is at %s state: %s;", j.number, stateUnavailable, reasonOf(j.err))
			engine = engine && errors.Is(j.err, backend.ErrNoEngine)
		}
	}
	var leaving []*version
	if text.Len() > 0 {
		bad = &failure{text.String(), engine}
		r.change(c.id, func(m *model) { leaving = m.undo(jobs) })
		r.opts.Log.Info(fmt.Sprintf("failed to load '%s'", c.id))
	} else {
		r.change(c.id, func(m *model) { leaving = m.adopt(jobs) })
		r.opts.Log.Info(fmt.Sprintf("successfully loaded '%s'", c.id))
	}
	for _, v := range leaving {
		r.retire(c.id, v)
	}
	if bad != nil {
		return bad
	}
	return nil
}

// undo takes back what was loaded beside a version that failed. It returns the
// versions to close.
func (m *model) undo(jobs []*job) (leaving []*version) {
	for _, j := range jobs {
		if j.version != nil {
			leaving = append(leaving, j.version)
		}
		if j.old != nil {
			continue
		}
		e := m.at(j.number)
		if j.err != nil {
			e.state, e.reason = stateUnavailable, reasonOf(j.err)
		} else {
			e.state, e.version = stateUnloading, j.version
		}
	}
	return leaving
}

// adopt puts the new versions in the place of all others. It returns the
// versions to close.
func (m *model) adopt(jobs []*job) (leaving []*version) {
	for i := range m.entries {
		e := &m.entries[i]
		at := slices.IndexFunc(jobs, func(j *job) bool { return j.number == e.number })
		switch {
		case at < 0 && e.state == stateReady:
			e.state = stateUnloading
			leaving = append(leaving, e.version)
		case at >= 0 && jobs[at].action != keep:
			if old := jobs[at].old; old != nil {
				old.replaced = jobs[at].action == regroup
				leaving = append(leaving, old)
			}
			e.state, e.reason, e.version = stateReady, "", jobs[at].version
		}
	}
	return leaving
}
