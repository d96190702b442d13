package instance

import (
	"triton/server/infer"
)

// State is the state of an instance.
//
//	from        event                                          to
//	Starting    created and warmed up                          Ready
//	Starting    creation failed: the group does not start      Closed
//	Ready       its call panicked or returned ErrBroken        Broken
//	Ready       reported broken while it was idle              Broken
//	            (backend.BreakNotifier)
//	Broken      the old one is closed, the back-off is over    Restarting
//	Restarting  created and warmed up                          Ready
//	Restarting  creation failed                                Broken
//	any         the group is drained, or a change of the       Closed
//	            instance groups removes it
//
// Only a Ready instance gets batches. docs/adr/0010-instance-life.md describes what
// happens to the requests.
type State uint8

// The states.
const (
	Starting State = iota
	Ready
	Broken
	Restarting
	Closed
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{Starting: "starting", Ready: "ready", Broken: "broken", Restarting: "restarting", Closed: "closed"}[s]
}

// Status describes the state of one instance.
type Status struct {
	Name     string
	State    State
	Reason   string // why it is Broken or Restarting
	Restarts int    // how often it was replaced
}

// Instances lists the instances that take requests, in the order of the configuration.
func (g *Group) Instances() []Status {
	workers := g.members.serving()
	all := make([]Status, len(workers))
	for i, w := range workers {
		w.life.Lock()
		all[i] = Status{Name: w.at.Name, State: w.life.state, Reason: w.life.reason, Restarts: w.life.restarts}
		w.life.Unlock()
	}
	return all
}

// setState changes the state, unless the instance is closed.
func (w *worker) setState(to State, reason string) {
	w.life.Lock()
	defer w.life.Unlock()
	if w.life.state == Closed {
		return
	}
	w.life.state, w.life.reason = to, reason
	if to == Ready {
		w.life.since, w.life.broke = infer.Now(), make(chan struct{})
	}
}

// markBroken takes an instance out of service, once. A running batch continues; no new
// one starts.
func (w *worker) markBroken(why error) {
	w.life.Lock()
	if w.life.state != Ready {
		w.life.Unlock()
		return
	}
	w.life.state, w.life.reason = Broken, why.Error()
	close(w.life.broke)
	if infer.Now()-w.life.since > int64(maxBackOff) {
		w.life.attempts = 0
	}
	w.life.Unlock()
	w.group.opts.Stats.InstanceBroken()
	w.group.opts.Log.Error("an instance broke and is taken out of service until it is restarted", "model", w.group.opts.Name,
		"version", w.group.opts.Version, "instance", w.at.Name, "reason", why)
	w.group.source.Retire(w.slot)
}
