package extension

import "time"

// Shed refuses requests while all that a caller has in the queue wait for too long.
type Shed struct {
	Target   time.Duration // a delay that may stand
	Interval time.Duration // how long a longer one may
}

// shedInterval is the default: a burst of that length is no overload.
const shedInterval = 100 * time.Millisecond

func (r *reader) shed() *Shed {
	defer r.unknown("queue_shed_")
	_, hasInterval := r.text(keyShedInterval)
	if _, ok := r.text(keyShedTarget); !ok {
		if hasInterval {
			r.add(keyShedInterval, "set "+keyShedTarget+" too", "without %s nothing is refused", keyShedTarget)
		}
		return nil
	}
	if r.GetSequenceBatching() != nil || r.GetEnsembleScheduling() != nil {
		r.add(keyShedTarget, "remove it", "only models without sequence batching and ensemble scheduling can refuse requests that wait too long")
	}
	s := &Shed{Target: r.micros(keyShedTarget), Interval: shedInterval}
	if hasInterval {
		s.Interval = r.micros(keyShedInterval)
	}
	return s
}
