//go:build !linux

package measure

import "runtime"

// ReadUsage returns the number of cores. The processor time is not known.
func ReadUsage() Usage { return Usage{Cores: float64(runtime.GOMAXPROCS(0))} }
