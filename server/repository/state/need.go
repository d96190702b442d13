package state

// Need says whether an operation must load a model, why, and with which configuration.
type Need struct {
	Why Why
	// Override is the configuration that replaces the store's; nil: none does.
	Override *string
}

// Why is the reason of a Need.
type Why uint8

// The reasons. Those from Requested on are reasons to load.
const (
	Unchanged   Why = iota // what serves is what the store has
	Unsettled              // what was changed does not stand still
	Tried                  // it failed, is the same since, and this operation does not try again
	Unloaded               // it made room meanwhile: the next request loads it
	Requested              // with a configuration of a client, or without the one that it has
	Changed                // the store has other content, in another place, or for the first time
	Broken                 // a version has lost all its instances
	Reconnected            // a step of an ensemble means another model than before
)

// Load reports whether the model must be loaded.
func (n Need) Load() bool { return n.Why >= Requested }

// Need answers for all operations whether the model must be loaded. The model is in the store and can be
// read.
func (f *Finding) Need() Need {
	same := f.Last != nil && f.Last.Stamp.Same(f.Stamp)
	switch {
	case f.Unsettled:
		return Need{Why: Unsettled}
	case f.Unloaded:
		return Need{Why: Unloaded}
	case f.SeenBefore && (f.Broken || !same):
		return Need{Why: Tried}
	case f.Override != nil, f.Again:
		return Need{Requested, f.Override}
	case !same, f.Last.Location != f.Location:
		return Need{Changed, nil}
	case f.Broken:
		return Need{Broken, f.Last.Override}
	case f.Reconnected:
		return Need{Reconnected, f.Last.Override}
	}
	return Need{Why: Unchanged}
}
