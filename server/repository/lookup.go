package repository

import (
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/server/infer"
)

// Model finds a ready version and takes a reference to it.
func (r *Repository) Model(name, number string) (infer.Model, error) {
	if p := r.phase.Load(); p != ready && p != exiting {
		return nil, errServer(p)
	}
	m := r.view.Load().models[name]
	if number == "" && m != nil && m.any != nil {
		if !m.any.acquire() {
			return nil, notReady(m.any.version)
		}
		return m.any, nil
	}
	v, err := m.find(name, number)
	if err != nil {
		return nil, err
	}
	if !v.acquire() {
		return nil, notReady(v)
	}
	return v, nil
}

// find is a ready version of m, which is nil for a name that nothing has.
func (m *model) find(name, number string) (*version, error) {
	if number == "" {
		switch {
		case m == nil:
			return nil, notFound("Request for unknown model: '%s' is not found", name)
		case m.any == nil:
			return nil, notFound("Request for unknown model: '%s' has no available versions", name)
		}
		return m.any.version, nil
	}
	n, err := parseVersion(number)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, notFound("Request for unknown model: '%s' is not found", name)
	}
	v := m.number(n)
	if v == nil {
		return nil, notFound("Request for unknown model: '%s' version %d is not found", name, n)
	}
	if v.state != stateReady {
		return nil, notReady(v)
	}
	return v, nil
}

func notReady(v *version) error {
	return status.New(status.Unavailable, "Request for unknown model: '%s' version %d is not at ready state", v.model, v.number)
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
