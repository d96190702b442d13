// Package right names what callers may do: the actions that a policy grants. Each call of
// each protocol is one action.
package right

import "slices"

// Action is a kind of call.
type Action uint8

// The actions. Those of a model are granted for some models; the others concern the whole
// server.
const (
	// None is no action. Nobody has it, so that a call without an entry is refused.
	None         Action = iota
	Health              // is the server live, ready
	Ready               // is a model ready
	Infer               // infer, generate, streams
	Metadata            // metadata of models, of the server, and the protocol's description
	Config              // configuration of a model
	Statistics          // statistics of a model
	Index               // the models in the repository
	Load                // load and unload a model
	Traffic             // read and change traffic rules, which may send requests to any model
	State               // read and apply the desired state
	SharedMemory        // list, register and unregister regions, and use them in requests
	Settings            // read and change settings of logs and traces
	Metrics             // the metrics endpoint
	count
)

var names = [count]string{
	Health: "health", Ready: "ready", Infer: "infer", Metadata: "metadata", Config: "config", Statistics: "statistics", Index: "index",
	Load: "load", Traffic: "traffic", State: "state", SharedMemory: "shared-memory", Settings: "settings", Metrics: "metrics",
}

// String returns the action's name in policies.
func (a Action) String() string {
	if a > None && a < count {
		return names[a]
	}
	return "none"
}

// Parse returns the action of a name.
func Parse(name string) (Action, bool) {
	i := slices.Index(names[1:], name)
	return Action(i + 1), i >= 0
}

// OfModel reports whether the action concerns one model at a time.
func (a Action) OfModel() bool {
	switch a {
	case Ready, Infer, Metadata, Config, Statistics, Index, Load:
		return true
	}
	return false
}

// Control reports whether the action concerns the operation of the server. A server with a port
// for control serves it only there.
func (a Action) Control() bool {
	switch a {
	case Index, Load, Traffic, State, SharedMemory, Settings:
		return true
	}
	return false
}

// Probe reports whether the action only asks whether something is alive or ready.
func (a Action) Probe() bool { return a == Health || a == Ready }

// All returns all actions.
func All() []Action {
	var all []Action
	for a := None + 1; a < count; a++ {
		all = append(all, a)
	}
	return all
}

// Set is a set of actions.
type Set uint32

// Add returns the set with an action.
func (s Set) Add(a Action) Set { return s | 1<<a }

// Has reports whether the set has an action.
func (s Set) Has(a Action) bool { return a > None && a < count && s&(1<<a) != 0 }
