// Package plugin runs the models of backends that are shared libraries, built for Triton's
// backend API. It has all functions of that API (TRITONBACKEND_...), in C, and the entry
// points that libraries have are called from here.
//
// What a backend reads of a request is answered in C, from structs that Go has filled before
// the execution. Only events enter Go: a response or release that comes outside of the
// execution, memory for large outputs, states of sequences. docs/adr/0032-backend-plugins.md
// has the reasons.
package plugin

import (
	"strings"

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

// Key returns a text by which a child process finds the backend.
func (l Location) Key() string {
	return keyPrefix + strings.Join([]string{l.Name, l.Library, l.Artifacts, l.Settings}, keySeparator)
}

// ParseKey returns the location of a key. It reports false for the name of another backend.
func ParseKey(key string) (Location, bool) {
	text, ok := strings.CutPrefix(key, keyPrefix)
	parts := strings.Split(text, keySeparator)
	if !ok || len(parts) != 4 {
		return Location{}, false
	}
	return Location{Name: parts[0], Library: parts[1], Artifacts: parts[2], Settings: parts[3]}, true
}

// No path has a character 0.
const (
	keyPrefix    = "library\x00"
	keySeparator = "\x00"
)

var _ backend.AutoCompleter = (*Backend)(nil)
