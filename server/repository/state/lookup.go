package state

import (
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/model"
)

// Acquire finds a ready version and takes a reference to it. An empty number stands for the
// newest version.
func (s *Actual) Acquire(name, number string) (infer.Model, error) {
	for {
		now := s.current.Load()
		m, err := s.modelNamed(now, name)
		if err == nil && number == "" && m != nil && m.newest != nil {
			if m.newest.Acquire() {
				return m.newest, nil // as *Newest, so that rules and a Chooser may still pick another version
			}
			err = m.notReady(m.newest.Number())
		} else if err == nil {
			var v *Version
			if v, err = m.find(name, number); err == nil {
				if v.Loaded.Acquire() {
					return v.Loaded, nil
				}
				err = m.notReady(v.Number)
			}
		}
		// If the version was closed meanwhile, there is a new snapshot.
		if s.current.Load() == now {
			return nil, err
		}
	}
}

// Ready reports whether a version works and passes its readiness checks, which may take
// seconds; false without an error for an unknown model.
func (s *Actual) Ready(name, number string) (bool, error) {
	if number != "" {
		if _, err := infer.ParseVersion(number); err != nil {
			return false, err
		}
	}
	m, err := s.modelNamed(s.current.Load(), name)
	if err != nil {
		return false, nil
	}
	v, err := m.find(name, number)
	return err == nil && v.passesChecks(s.opts.Log), nil
}

// modelNamed returns the model of a name. Without namespacing it returns nil, and no error,
// when there is none.
func (s *Actual) modelNamed(now *Snapshot, name string) (*Model, error) {
	if s.opts.Listed != nil {
		id, n := s.identify(now, "", name)
		if n > 1 {
			return nil, ambiguous(n, name)
		}
		return now.Model(id), nil
	}
	same := now.Named(name)
	if !s.opts.Namespacing {
		if len(same) == 0 {
			return nil, nil
		}
		return same[0], nil
	}
	if len(same) == 0 {
		return nil, status.New(status.InvalidArg, "Request for unknown model: '%s' is not found", name)
	}
	var found *Model
	n := 0
	for _, m := range same {
		if m.Desired {
			found = m
			n++
		}
	}
	switch n {
	case 0:
		return nil, notFound("Identifier of model '%s' is not found in global map", name)
	case 1:
		return found, nil
	}
	return nil, ambiguous(n, name)
}

// find returns a ready version of m, which is nil for an unknown name.
func (m *Model) find(name, number string) (*Version, error) {
	if number == "" {
		switch {
		case m == nil:
			return nil, notFound("Request for unknown model: '%s' is not found", name)
		case m.newest == nil:
			return nil, notFound("Request for unknown model: '%s' has no available versions", m.label)
		}
		return m.Version(m.newest.Number()), nil
	}
	n, err := infer.ParseVersion(number)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, notFound("Request for unknown model: '%s' is not found", name)
	}
	v := m.Version(n)
	switch {
	case v == nil:
		return nil, notFound("Request for unknown model: '%s' version %d is not found", m.label, n)
	case v.State != VersionReady:
		return nil, m.notReady(n)
	}
	return v, nil
}

// readyVersion returns a ready version, the newest for an empty number; nil when there is none.
func (m *Model) readyVersion(number string) *model.LoadedVersion {
	if number == "" || m == nil {
		return m.Newest()
	}
	if i := slices.IndexFunc(m.Versions, func(v Version) bool { return v.text == number && v.State == VersionReady }); i >= 0 {
		return m.Versions[i].Loaded
	}
	return nil
}

func notFound(format string, args ...any) error {
	return status.New(status.NotFound, format, args...)
}

func (m *Model) notReady(n int64) error {
	return status.New(status.Unavailable, "Request for unknown model: '%s' version %d is not at ready state", m.label, n)
}
