package repository

import (
	"context"
	"slices"
	"strconv"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/layout"
)

// description answers for a model that is not loaded.
type description struct {
	version  string
	config   *inferencepb.ModelConfig
	metadata *inferencepb.ModelMetadataResponse
}

func (d *description) Version() string                              { return d.version }
func (d *description) Config() *inferencepb.ModelConfig             { return d.config }
func (d *description) Metadata() *inferencepb.ModelMetadataResponse { return d.metadata }
func (d *description) Release()                                     {}

// Describe describes a model that is not loaded, from its configuration. It loads the model if the
// configuration leaves the inputs or outputs to the backend. cause is the error of Model.
func (r *Repository) Describe(ctx context.Context, name, number string, cause error) (infer.Description, error) {
	if r.demand == nil || !answers(r.phase.Load()) {
		return nil, cause
	}
	c, found, l := r.contentOf(ctx, name)
	defer l.Release()
	switch {
	case !r.roster.Load().has(name):
		return nil, cause
	case c == nil && !found && !r.opts.Namespacing:
		return nil, cause
	case c == nil || len(c.Config.GetInput()) == 0 || len(c.Config.GetOutput()) == 0 || len(c.Versions) == 0:
		return r.Await(ctx, name, number, cause)
	}
	var versions []string
	for _, v := range c.Versions {
		versions = append(versions, strconv.FormatInt(v.Number, 10))
	}
	d := &description{version: versions[len(versions)-1], config: r.builder.Preview(c.Config, c.Folder.Dir)}
	if number != "" {
		n, err := infer.ParseVersion(number)
		if err != nil {
			return nil, err
		}
		if d.version = strconv.FormatInt(n, 10); !slices.Contains(versions, d.version) {
			return nil, cause
		}
	}
	d.metadata = model.Describe(d.config, versions...)
	return d, nil
}

// contentOf reads a model from the store; nil if it cannot be read. found reports whether the store has
// it. The listing holds the content.
func (r *Repository) contentOf(ctx context.Context, name string) (c *layout.Content, found bool, l *layout.Listing) {
	l = r.list(ctx)
	id, err := r.actual.Identify("", name)
	if err != nil {
		return nil, false, l // several namespaces have it
	}
	m := l.Model(id)
	if m == nil || m.Ambiguous {
		return nil, m != nil, l
	}
	if c, err = l.Content(ctx, m, r.overrides.get(id)); err != nil {
		return nil, true, l
	}
	return c, true, l
}

// lookupTime bounds how long a readiness probe waits for the store.
const lookupTime = 2 * time.Second

// loadsOnRequest reports whether a request for a model begins a load: the model is not loaded, and its
// last load did not fail.
func (r *Repository) loadsOnRequest(name string) bool {
	id, err := r.actual.Identify("", name)
	return err == nil && r.roster.Load().has(name) && r.actual.Snapshot().Model(id).Newest() == nil && r.demand.Failure(r.key(id)) == nil
}

// loadable reports whether a request would load a version: the store has it, and the model is neither
// loaded nor did its last load fail.
func (r *Repository) loadable(name, number string) bool {
	if !r.loadsOnRequest(name) {
		return false
	}
	ctx, cancel := context.WithTimeout(r.life, lookupTime)
	defer cancel()
	c, _, l := r.contentOf(ctx, name)
	defer l.Release()
	if c == nil {
		return false
	}
	if number == "" {
		return len(c.Versions) > 0
	}
	n, err := infer.ParseVersion(number)
	return err == nil && slices.ContainsFunc(c.Versions, func(v layout.Version) bool { return v.Number == n })
}
