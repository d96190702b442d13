package extension

import (
	"strconv"
	"time"
)

// Residency is how long a model stays loaded when models are loaded on demand.
type Residency struct {
	// Pinned models are loaded at the start and are not unloaded.
	Pinned bool
	// KeepAlive is the time after which an idle model is unloaded; negative: never; nil: that of
	// the server.
	KeepAlive *time.Duration
	// Priority orders the models that are unloaded to make room: those of a lower one first.
	Priority int
}

// Bounds of the parameters.
const (
	maxKeepAlive = 365 * 24 * time.Hour
	maxPriority  = 100
)

func (r *reader) residency() Residency {
	defer r.unknown("on_demand_")
	s := Residency{Pinned: r.boolean(keyPin), Priority: int(r.number(keyPriority, -maxPriority, maxPriority))}
	text, ok := r.text(keyKeepAlive)
	if !ok {
		return s
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds != -1 && !(seconds >= 0 && seconds <= maxKeepAlive.Seconds()) {
		r.add(keyKeepAlive, "write a number of seconds, 0 to unload an idle model at once, or -1 to keep it",
			"'%s' is neither -1 nor a number of seconds from 0 to %d", text, int64(maxKeepAlive.Seconds()))
		return s
	}
	after := time.Duration(seconds * float64(time.Second))
	s.KeepAlive = &after
	return s
}

// boolean returns a parameter that is "true" or "false"; false if it is not set.
func (r *reader) boolean(key string) bool {
	text, ok := r.text(key)
	if ok && text != "true" && text != "false" {
		r.add(key, `write "true" or "false"`, "'%s' is neither true nor false", text)
	}
	return text == "true"
}
