// Package library runs a repository agent that is in a library: a libtritonrepoagent_<name>.so that
// was built for Triton's server. It has the functions of the C API that such a library calls, and no
// opinion on when an agent is called.
package library

import (
	"triton/pkg/sharedlib"
	"triton/pkg/status"
)

// Action is what happens to a model, with the numbers of the C API.
type Action int

// The actions.
const (
	Load Action = iota
	LoadComplete
	LoadFail
	Unload
	UnloadComplete
)

// String returns the name of an action in the C API.
func (a Action) String() string {
	return "TRITONREPOAGENT_ACTION_" + [...]string{"LOAD", "LOAD_COMPLETE", "LOAD_FAIL", "UNLOAD", "UNLOAD_COMPLETE"}[a]
}

// Location is where the files of a model are.
type Location struct {
	Path string
	// Remote reports that the path is not one of this machine.
	Remote bool
}

// Spec describes a model to an agent.
type Spec struct {
	Location Location
	// Config is the configuration as JSON; empty: there is none.
	Config string
	// Parameters are pairs of a name and a value.
	Parameters [][2]string
}

// FileName returns the name of the library of an agent.
func FileName(name string) string { return "libtritonrepoagent_" + name + ".so" }

// Find returns the path of the library of an agent in a folder of agents.
func Find(dir, name string) (path string, found bool) {
	return sharedlib.Find(dir, name, FileName(name))
}

// NotFound returns the error for an agent whose library is missing. The text is Triton's.
func NotFound(dir, name string) error {
	return status.New(status.InvalidArg, "unable to find '%s' for repo agent '%s', searched: %s", FileName(name), name, dir)
}
