package perf

import (
	"triton/perf/data"
	"triton/perf/load"
	"triton/pkg/client/lane"
)

// Sequences configure the requests to a model with sequence batching.
type Sequences struct {
	Slots     int     // sequences that are open at a time, with a schedule
	Length    int     // requests of a sequence; 0: the steps of its stream, or 20
	Variation float64 // maximum random deviation of the length, as a share of it
	FirstID   uint64
	IDCount   uint64 // number of IDs from FirstID on, which are used in turn
}

// DefaultSequences returns perf_analyzer's defaults.
func DefaultSequences() Sequences {
	return Sequences{Slots: 4, Variation: 0.2, FirstID: 1, IDCount: 1<<32 - 1}
}

// defaultLength is the length of sequences of generated data.
const defaultLength = 20

func (s *Settings) sequenceOptions(prepared [][]*lane.Prepared) load.SequenceOptions {
	o := load.SequenceOptions{
		Prepared: prepared, Length: s.Sequences.Length, Variation: s.Sequences.Variation,
		FirstID: s.Sequences.FirstID, IDCount: s.Sequences.IDCount, Seed: s.Seed,
	}
	if o.Length == 0 && s.Data.Source != data.Files {
		o.Length = defaultLength
	}
	return o
}
