package repository

import (
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/store"
)

// stepCalls finds the models of an ensemble's steps, which are known by ID since the
// ensemble was loaded.
type stepCalls struct {
	r   *Repository
	ids map[string]store.ID // by name
}

func (r *Repository) stepCalls(c *layout.Content) *stepCalls {
	s := &stepCalls{r, map[string]store.ID{}}
	for i, step := range c.Config.GetEnsembleScheduling().GetStep() {
		s.ids[step.GetModelName()] = c.Parts[i]
	}
	return s
}

// Hold takes a reference to the model of a step.
func (s *stepCalls) Hold(name, version string) (infer.Callee, error) {
	id := s.ids[name]
	for {
		now := s.r.view.Load()
		if v := now.named(id).serves(version); v != nil {
			if step, ok := v.Call(); ok {
				return step, nil
			}
		}
		if s.r.view.Load() == now {
			return nil, notFound("Request for unknown model: '%s' has no available versions", id)
		}
	}
}

// serves returns a version that is ready, the newest for an empty number.
func (m *served) serves(number string) *model.Loaded {
	if number == "" || m == nil {
		return m.newest()
	}
	if i := slices.IndexFunc(m.entries, func(e entry) bool { return e.text == number && e.state == stateReady }); i >= 0 {
		return m.entries[i].version
	}
	return nil
}

// engineCalls finds the models that an engine calls by name. Of several of a name it
// is that of the calling model's own space.
type engineCalls struct {
	r     *Repository
	space string
}

// Hold takes a reference to a ready version. It may do so while the server ends.
func (e *engineCalls) Hold(name, version string) (infer.Callee, error) {
	for {
		now := e.r.view.Load()
		v, err := e.find(now, name, version)
		if err == nil {
			if step, ok := v.Call(); ok {
				return step, nil
			}
		}
		if e.r.view.Load() == now {
			if err == nil {
				err = status.New(status.Unavailable, "Request for unknown model: '%s' version %d is not at ready state", name, v.Number())
			}
			return nil, err
		}
	}
}

func (e *engineCalls) find(now *view, name, version string) (*model.Loaded, error) {
	m := now.named(store.ID{Space: e.space, Name: name})
	if m == nil || m.newest() == nil {
		var err error
		if m, err = e.r.pick(now, name); err != nil {
			return nil, err
		}
	}
	found, err := m.find(name, version)
	if err != nil {
		return nil, err
	}
	return found.version, nil
}

var (
	_ infer.Submitter = (*stepCalls)(nil)
	_ infer.Submitter = (*engineCalls)(nil)
)
