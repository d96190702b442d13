package repository

import (
	"maps"
	"sync"

	"triton/server/store"
)

// overrides are the configurations that clients have loaded models with, of models that were
// unloaded to make room: a request loads them with the same configuration again. The desired state
// of a fleet gives models that are not loaded their configuration in the same way.
type overrides struct {
	mu  sync.Mutex
	all map[store.ID]*string
}

// keep records the configuration of a model that is unloaded; nil: that of the store.
func (o *overrides) keep(id store.ID, config *string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if config == nil {
		delete(o.all, id)
		return
	}
	if o.all == nil {
		o.all = map[store.ID]*string{}
	}
	o.all[id] = config
}

// forget removes the configurations of all models of a name.
func (o *overrides) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.all, func(id store.ID, _ *string) bool { return id.Name == name })
}

// get returns the configuration to load a model with; nil: that of the store.
func (o *overrides) get(id store.ID) *string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[id]
}
