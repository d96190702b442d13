package measure

import "time"

// Usage is how much processor time was used until now.
type Usage struct {
	CPU   time.Duration // of this process
	Cores float64       // that this process may use
	// Busy and Total are the time of all processors of the machine, used by any process and
	// altogether; 0 where they are not known.
	Busy, Total time.Duration
}
