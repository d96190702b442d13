package repository

import (
	"context"
	"sort"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/repository/state"
	"triton/server/store"
)

// LoadedModel is a model that is loaded, or should be.
type LoadedModel struct {
	ID store.ID
	// Serves reports whether a version is ready.
	Serves bool
	// Composing reports whether the model is loaded only because ensembles use it.
	Composing bool
	// Override is the configuration of the last load that replaced the model's own; nil: none
	// did.
	Override *string
	// Err is why the last load failed; nil: it did not.
	Err error
}

// Loaded returns the models that are loaded, or should be, by ID.
func (r *Repository) Loaded() []LoadedModel {
	now := r.actual.Snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []LoadedModel
	for id := range r.desired.IDs() {
		m := LoadedModel{ID: id, Serves: now.Model(id).Newest() != nil, Composing: r.desired.RequestedBy(id) == state.ByStep}
		if o := r.outcomes[id]; o != nil {
			m.Override, m.Err = o.Override, o.Err
		}
		all = append(all, m)
	}
	sort.Slice(all, func(i, j int) bool { return store.Compare(all[i].ID, all[j].ID) < 0 })
	return all
}

// ConfigWithVersions returns the configuration of a model in the store, with another version
// policy, as a load takes it.
func (r *Repository) ConfigWithVersions(ctx context.Context, name string, policy *inferencepb.ModelVersionPolicy) (string, error) {
	l := r.list(ctx)
	defer l.Release()
	named := l.Named(name)
	switch {
	case len(named) == 0 && l.Err != nil:
		return "", l.Err
	case len(named) != 1 || named[0].Ambiguous:
		return "", status.New(status.NotFound, "the model repository does not have exactly one model '%s'", name)
	}
	c, err := l.Content(ctx, &named[0], nil)
	if err != nil {
		return "", err
	}
	config := proto.CloneOf(c.Config.ModelConfig)
	config.VersionPolicy = policy
	text, err := modelconfig.MarshalJSON(config)
	return strings.TrimSpace(string(text)), err
}
