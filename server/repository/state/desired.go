package state

import (
	"iter"
	"maps"
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

// Desired is the models to serve. Operations edit it under the lock of the repository.
type Desired struct {
	models map[store.ID]*desiredModel
	// users are the ensembles that have a model as a step. over counts, by the name of a model, the
	// steps that ensembles of another name have with it, and under, by the name of an ensemble, those it
	// has with models of another name. A store may have thousands of ensembles over the same model, so
	// nothing goes over all models to find them.
	users       map[store.ID]map[store.ID]bool
	over, under ensembleLinks
}

// NewDesired returns a state without models.
func NewDesired() *Desired {
	return &Desired{models: map[store.ID]*desiredModel{}, users: map[store.ID]map[store.ID]bool{}, over: ensembleLinks{}, under: ensembleLinks{}}
}

// desiredModel is a model to serve. It stays in the state while it cannot serve, so that an
// ensemble serves again when the models of its steps do.
type desiredModel struct {
	by      Requester
	content *layout.Content // of the last read
}

// Add adds a requester to a model and, if its content was read, replaces the content. A
// model whose content could never be read is not added: there is nothing to load.
func (s *Desired) Add(id store.ID, by Requester, c *layout.Content) {
	m := s.models[id]
	switch {
	case m == nil && c == nil:
		return
	case m == nil:
		m = &desiredModel{}
		s.models[id] = m
	}
	m.by |= by
	if c == nil {
		return
	}
	if c.Ensemble() { // an ensemble is loaded again when its composing models are
		c.Folder.Hold()
	}
	if m.content != nil {
		s.unlink(id, m)
	}
	m.release()
	m.content = c
	s.link(id, c)
}

// release gives up the folder of an ensemble.
func (m *desiredModel) release() {
	if m.content != nil && m.content.Ensemble() {
		m.content.Folder.Release()
	}
}

// Remove removes models and, with dependents, those that only they need as steps. It
// returns all models that are to be unloaded.
func (s *Desired) Remove(ids []store.ID, dependents bool) []store.ID {
	removed := slices.Clone(ids)
	for i := 0; i < len(removed); i++ {
		m := s.models[removed[i]]
		if m == nil {
			continue
		}
		s.drop(removed[i], m)
		if !dependents {
			continue
		}
		for _, p := range m.content.ComposingModels {
			if composing := s.models[p]; composing != nil && composing.by == ByStep && len(s.users[p]) == 0 && !slices.Contains(removed, p) {
				removed = append(removed, p)
			}
		}
	}
	return removed
}

// Clear removes all models.
func (s *Desired) Clear() {
	for id, m := range s.models {
		s.drop(id, m)
	}
}

func (s *Desired) drop(id store.ID, m *desiredModel) {
	s.unlink(id, m)
	m.release()
	delete(s.models, id)
}

// Len returns the number of models.
func (s *Desired) Len() int { return len(s.models) }

// IDs returns the models in any order.
func (s *Desired) IDs() iter.Seq[store.ID] { return maps.Keys(s.models) }

// Has reports whether the state has a model.
func (s *Desired) Has(id store.ID) bool { return s.models[id] != nil }

// Content returns the content to load a model from. The model is in the state.
func (s *Desired) Content(id store.ID) *layout.Content { return s.models[id].content }

// ComposingModels returns the models of an ensemble's steps, by step.
func (s *Desired) ComposingModels(id store.ID) []store.ID {
	if m := s.models[id]; m != nil {
		return m.content.ComposingModels
	}
	return nil
}

// RequestedBy returns what requested a model; 0 if the state does not have it.
func (s *Desired) RequestedBy(id store.ID) Requester {
	if m := s.models[id]; m != nil {
		return m.by
	}
	return 0
}
