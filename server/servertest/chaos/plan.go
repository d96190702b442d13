package chaos

import (
	"math/rand/v2"
	"time"
)

// Event is an episode of a plan.
type Event struct {
	At    time.Duration `json:"at"` // since the start of the events
	Kind  string        `json:"kind"`
	Model string        `json:"model,omitempty"`
	Seed  uint64        `json:"seed"` // of the episode's own choices
}

// Plan is what happens in a run.
type Plan struct {
	Seed     uint64        `json:"seed"`
	Control  Control       `json:"control"`
	Duration time.Duration `json:"duration"`
	Events   []Event       `json:"-"`
}

// kind is a kind of episode.
type kind interface {
	// applies reports whether the kind suits a model. Kinds about the server get the zero
	// Model.
	applies(m Model, c Control) bool
	// play runs an episode. It returns an error if the server did not do what it must. At
	// its end the model serves what is in its folder.
	play(e *episode) error
}

// NewPlan returns the plan of a seed. The plan of a longer duration begins with that of a
// shorter one.
func NewPlan(seed uint64, c Control, d time.Duration) Plan {
	p := Plan{Seed: seed, Control: c, Duration: d}
	rng := rand.New(rand.NewPCG(seed, 0))
	type choice struct{ kind, model string }
	choices := map[string][]choice{}
	var names []string
	for _, k := range kinds {
		var all []choice
		for _, m := range Models() {
			if !m.Still && suits(k.kind, m, c) {
				all = append(all, choice{k.name, m.Name})
			}
		}
		if suits(k.kind, Model{}, c) {
			all = append(all, choice{kind: k.name})
		}
		if len(all) > 0 {
			choices[k.name] = all
			names = append(names, k.name)
		}
	}
	mean := map[Control]time.Duration{Explicit: 300 * time.Millisecond, Poll: 600 * time.Millisecond, Auto: 600 * time.Millisecond}[c]
	for at := time.Duration(0); ; {
		at += time.Duration(rng.Int64N(int64(2 * mean)))
		all := choices[names[rng.IntN(len(names))]]
		pick := all[rng.IntN(len(all))]
		e := Event{At: at.Round(time.Millisecond), Kind: pick.kind, Model: pick.model, Seed: rng.Uint64()}
		if at >= d {
			return p
		}
		p.Events = append(p.Events, e)
	}
}

// suits reports whether a kind may be played with a model in a mode. What happens in a remote store, and to
// models on demand, has kinds of its own: the others say more about files and loads by request.
func suits(k kind, m Model, c Control) bool {
	switch k.(type) {
	case storeUpdate, storeSlow, storeGone, idle:
	case same, cancels, slowReader, logSettings, traceSettings:
		if m.remote {
			return false
		}
	default:
		if m.remote || c == Auto {
			return false
		}
	}
	return k.applies(m, c)
}
