package footprint

import (
	"errors"
	"fmt"
	"time"
)

// Config describes what Run measures.
type Config struct {
	// Counts are measured with all batches, in rising order. More are added while they are of use,
	// or where memory decides.
	Counts  []int
	Batches []int // rising
	// MaxInstances caps the answer; 0 is no cap.
	MaxInstances int
	// Headroom returns what to keep free of a number of bytes.
	Headroom func(usable uint64) uint64
	// MinGain is the share by which more instances must raise the throughput to be of use; 0: all are.
	MinGain float64
	// Processors are those that servers may use; 0: not known. More instances of a model that computes on
	// them take proof.
	Processors int
	// Repeats bounds the servers that are started to tell a difference of throughput from noise.
	Repeats int
	// Quick measures, beside Counts, only larger ones while they are better and little time has passed, and memory as far
	// as they show it.
	Quick bool
	// Floor is the smallest cost of an instance that counts.
	Floor uint64
	// Verify runs the answer and one instance more. MaxRuns bounds the servers in all.
	Verify  bool
	MaxRuns int
	// Budget is the time after which no further server is started, except for the first; 0 is no
	// limit.
	Budget time.Duration
	// Doubts are known before: such as shapes that were not given.
	Doubts []string
	Times  Times
}

// Times are the durations of the phases.
type Times struct {
	Sample time.Duration // between two readings
	Settle time.Duration // that memory gets to settle
	Idle   time.Duration // after the stress
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{
		Counts: []int{1, 2, 4}, Batches: []int{1}, Headroom: DefaultHeadroom, MinGain: 0.05, Repeats: 18, Floor: 1 << 20,
		Verify: true, MaxRuns: 32,
		Times: Times{Sample: 100 * time.Millisecond, Settle: 10 * time.Second, Idle: 2 * time.Second},
	}
}

// DefaultHeadroom keeps 5 % free, at least 256 MiB.
func DefaultHeadroom(usable uint64) uint64 { return max(256<<20, usable/20) }

// Validate returns everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	for what, list := range map[string][]int{"instance counts": c.Counts, "batch sizes": c.Batches} {
		if len(list) == 0 || list[0] < 1 {
			errs = append(errs, fmt.Errorf("%s: need positive numbers", what))
		}
		for i, n := range list[min(1, len(list)):] {
			if n <= list[i] {
				errs = append(errs, fmt.Errorf("%s: %v do not rise", what, list))
				break
			}
		}
	}
	if c.Headroom == nil || c.MinGain < 0 || c.Processors < 0 || c.Repeats < 0 || c.Times.Sample <= 0 || c.Times.Settle <= 0 || c.Times.Idle < 0 {
		errs = append(errs, errors.New("the headroom, the smallest gain, the processors, the repeats or the times are not valid"))
	}
	return errors.Join(errs...)
}
