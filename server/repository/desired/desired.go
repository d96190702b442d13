// Package desired is the desired state of a server's models: the models to serve, what
// requested each, and the content to load. Package repository brings the actual state to
// it.
package desired

import (
	"slices"

	"triton/server/repository/layout"
	"triton/server/store"
)

// Requester is what requested a model.
type Requester uint8

// The requesters. A model may have several.
const (
	ByStart Requester = 1 << iota
	ByPoll
	ByClient
	ByStep   // an ensemble has the model as a step
	ByDemand // a request
)

// State is the models to serve. Operations edit it under the lock of the repository.
type State map[store.ID]*model

// model is a model to serve. It stays in the state while it cannot serve, so that an
// ensemble serves again when the models of its steps do.
type model struct {
	by      Requester
	content *layout.Content // of the last read
}

// Add adds a requester to a model and, if its content was read, replaces the content. A
// model whose content could never be read is not added: there is nothing to load.
func (s State) Add(id store.ID, by Requester, c *layout.Content) {
	m := s[id]
	switch {
	case m == nil && c == nil:
		return
	case m == nil:
		m = &model{}
		s[id] = m
	}
	m.by |= by
	if c == nil {
		return
	}
	if c.Ensemble() { // an ensemble is loaded again when its composing models are
		c.Folder.Hold()
	}
	m.release()
	m.content = c
}

// release gives up the folder of an ensemble.
func (m *model) release() {
	if m.content != nil && m.content.Ensemble() {
		m.content.Folder.Release()
	}
}

// Remove removes models and, with dependents, those that only they need as steps. It
// returns all models that are to be unloaded.
func (s State) Remove(ids []store.ID, dependents bool) []store.ID {
	removed := slices.Clone(ids)
	for i := 0; i < len(removed); i++ {
		m := s[removed[i]]
		if m == nil {
			continue
		}
		m.release()
		delete(s, removed[i])
		if !dependents {
			continue
		}
		for _, p := range m.content.ComposingModels {
			if composing := s[p]; composing != nil && composing.by == ByStep && len(s.users(p)) == 0 && !slices.Contains(removed, p) {
				removed = append(removed, p)
			}
		}
	}
	return removed
}

// Clear removes all models.
func (s State) Clear() {
	for id, m := range s {
		m.release()
		delete(s, id)
	}
}

// Has reports whether the state has a model.
func (s State) Has(id store.ID) bool { return s[id] != nil }

// Content returns the content to load a model from. The model is in the state.
func (s State) Content(id store.ID) *layout.Content { return s[id].content }

// ComposingModels returns the models of an ensemble's steps, by step.
func (s State) ComposingModels(id store.ID) []store.ID {
	if m := s[id]; m != nil {
		return m.content.ComposingModels
	}
	return nil
}

// RequestedBy returns what requested a model; 0 if the state does not have it.
func (s State) RequestedBy(id store.ID) Requester {
	if m := s[id]; m != nil {
		return m.by
	}
	return 0
}
