package repository

import "sync"

// overrides are the configurations that clients have loaded models with, of models that were
// unloaded to make room: a request loads them with the same configuration again.
type overrides struct {
	mu  sync.Mutex
	all map[string]*string
}

// keep records the configuration of a model that is unloaded; nil: that of the store.
func (o *overrides) keep(name string, config *string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if config == nil {
		delete(o.all, name)
		return
	}
	if o.all == nil {
		o.all = map[string]*string{}
	}
	o.all[name] = config
}

// get returns the configuration to load a model with; nil: that of the store.
func (o *overrides) get(name string) *string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[name]
}
