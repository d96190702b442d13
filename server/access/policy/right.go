package policy

import "slices"

// Action is a kind of call: each call of each protocol is one.
type Action uint8

// The actions. Those of a model are granted for some models; the others concern the whole
// server.
const (
	// ActionNone is no action. Nobody has it, so that a call without an entry is refused.
	ActionNone         Action = iota
	ActionHealth              // is the server live, ready
	ActionReady               // is a model ready
	ActionInfer               // infer, generate, streams
	ActionMetadata            // metadata of models, of the server, and the protocol's description
	ActionConfig              // configuration of a model
	ActionStatistics          // statistics of a model
	ActionIndex               // the models in the repository
	ActionLoad                // load and unload a model
	ActionTraffic             // read and change traffic rules, which may send requests to any model
	ActionState               // read and apply the fleet state
	ActionSharedMemory        // list, register and unregister regions, and use them in requests
	ActionSettings            // read and change settings of logs and traces
	ActionMetrics             // the metrics endpoint
	ActionProfile             // profiles of the process
	actionCount
)

var actionNames = [actionCount]string{
	ActionHealth: "health", ActionReady: "ready", ActionInfer: "infer", ActionMetadata: "metadata", ActionConfig: "config", ActionStatistics: "statistics", ActionIndex: "index",
	ActionLoad: "load", ActionTraffic: "traffic", ActionState: "state", ActionSharedMemory: "shared-memory", ActionSettings: "settings", ActionMetrics: "metrics",
	ActionProfile: "profile",
}

// String returns the action's name in policies.
func (a Action) String() string {
	if a > ActionNone && a < actionCount {
		return actionNames[a]
	}
	return "none"
}

// ParseAction returns the action of a name.
func ParseAction(name string) (Action, bool) {
	i := slices.Index(actionNames[1:], name)
	return Action(i + 1), i >= 0
}

// OfModel reports whether the action concerns one model at a time.
func (a Action) OfModel() bool {
	switch a {
	case ActionReady, ActionInfer, ActionMetadata, ActionConfig, ActionStatistics, ActionIndex, ActionLoad:
		return true
	}
	return false
}

// Control reports whether the action concerns the operation of the server. A server with a port
// for control serves it only there.
func (a Action) Control() bool {
	switch a {
	case ActionIndex, ActionLoad, ActionTraffic, ActionState, ActionSharedMemory, ActionSettings:
		return true
	}
	return false
}

// Probe reports whether the action only asks whether something is alive or ready.
func (a Action) Probe() bool { return a == ActionHealth || a == ActionReady }

// AllActions returns all actions.
func AllActions() []Action {
	var all []Action
	for a := ActionNone + 1; a < actionCount; a++ {
		all = append(all, a)
	}
	return all
}

// Actions is a set of actions.
type Actions uint32

// Add returns the set with an action.
func (s Actions) Add(a Action) Actions { return s | 1<<a }

// Has reports whether the set has an action.
func (s Actions) Has(a Action) bool { return a > ActionNone && a < actionCount && s&(1<<a) != 0 }
