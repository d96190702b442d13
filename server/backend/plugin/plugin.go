// Package plugin runs the models of backends that are shared libraries, built for Triton's
// backend API. It has all functions of that API (TRITONBACKEND_...), in C, and the entry
// points that libraries have are called from here.
//
// What a backend reads of a request is answered in C, from structs that Go has filled before
// the execution. Only events enter Go: a response or release that comes outside of the
// execution, memory for large outputs, states of sequences. docs/adr/0030-backend-plugins.md
// has the reasons.
package plugin

import (
	"triton/pkg/inferencepb"
	"triton/server/backend"
)

// Location is where a backend's files are.
type Location struct {
	Name    string // of the backend
	Library string // the shared library
	// Artifacts is the folder that the library sees as its own; empty: the library's. It
	// differs for backends in Python, which all use the library of the Python backend.
	Artifacts string
	// Settings is the name of the backend whose --backend-config pairs apply; empty: Name.
	Settings string
}

// SettingsOf returns the name of the backend whose --backend-config pairs apply.
func (l Location) SettingsOf() string {
	if l.Settings != "" {
		return l.Settings
	}
	return l.Name
}

// Group is an instance group that a backend prefers, for models whose configuration does not
// say where their instances run.
type Group struct {
	Kind    inferencepb.ModelInstanceGroup_Kind
	Count   int
	Devices []int32
}

var _ backend.AutoCompleter = (*Backend)(nil)
