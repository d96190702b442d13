package kserve

import "time"

// maxMicros stands for an unlimited time: 71 years in microseconds, so that adding it to the current
// time does not overflow.
const maxMicros = 1 << 51

// Micros converts microseconds of a message or a configuration. The result is bounded, so that a
// time can be added to it.
func Micros(n uint64) time.Duration { return time.Duration(min(n, maxMicros)) * time.Microsecond }

// Timeout returns how long the request may wait; 0 is without a limit.
func (r *Request) Timeout() time.Duration { return Micros(r.TimeoutMicros) }
