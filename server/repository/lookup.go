package repository

import (
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/server/infer"
)

// Model finds a ready version and takes a reference to it.
func (r *Repository) Model(name, number string) (infer.Model, error) {
	if p := r.phase.Load(); !serves(p) {
		return nil, errServer(p)
	}
	for {
		now := r.view.Load()
		m, err := r.pick(now, name)
		if err == nil && number == "" && m != nil && m.any != nil {
			if m.any.Acquire() {
				return m.any, nil
			}
			err = m.notReady(m.any.Number())
		} else if err == nil {
			var e *entry
			if e, err = m.find(name, number); err == nil {
				if e.version.Acquire() {
					return e.version, nil
				}
				err = m.notReady(e.number)
			}
		}
		// A version may go while it is looked up: then there is a new view.
		if r.view.Load() == now {
			return nil, err
		}
	}
}

// pick is the model of a name; nil when there is none.
func (r *Repository) pick(v *view, name string) (*served, error) {
	same := v.models[name]
	if !r.opts.Namespacing {
		if len(same) == 0 {
			return nil, nil
		}
		return same[0], nil
	}
	if len(same) == 0 {
		return nil, status.New(status.InvalidArg, "Request for unknown model: '%s' is not found", name)
	}
	var found *served
	n := 0
	for _, m := range same {
		if m.wanted {
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
	return nil, status.New(status.InvalidArg,
		"There are %d identifiers of model '%s' in global map, model namespace must be provided to resolve ambiguity.", n, name)
}

// find is a ready version of m, which is nil for a name that nothing has.
func (m *served) find(name, number string) (*entry, error) {
	if number == "" {
		switch {
		case m == nil:
			return nil, notFound("Request for unknown model: '%s' is not found", name)
		case m.any == nil:
			return nil, notFound("Request for unknown model: '%s' has no available versions", m.label)
		}
		return m.at(m.any.Number()), nil
	}
	n, err := parseVersion(number)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, notFound("Request for unknown model: '%s' is not found", name)
	}
	e := m.at(n)
	switch {
	case e == nil:
		return nil, notFound("Request for unknown model: '%s' version %d is not found", m.label, n)
	case e.state != stateReady:
		return nil, m.notReady(n)
	}
	return e, nil
}

func (m *served) notReady(n int64) error {
	return status.New(status.Unavailable, "Request for unknown model: '%s' version %d is not at ready state", m.label, n)
}

// parseVersion reads a version that a client named, as C's stol does: what
// follows the number does not matter. Which numbers a model has is decided by
// its directories; version 0 may be one of them.
func parseVersion(s string) (int64, error) {
	digits := strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	for end < len(digits) && (digits[end]-'0' < 10 || end == 0 && (digits[0] == '-' || digits[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(digits[:end], 10, 64)
	if err != nil {
		return 0, status.New(status.InvalidArg,
			"failed to get model version from specified version string '%s' (details: stol), version should be an integral value > 0", s)
	}
	if n < 0 {
		return 0, status.New(status.InvalidArg, "invalid model version specified '%s' , version should be an integral value > 0", s)
	}
	return n, nil
}
