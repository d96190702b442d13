//go:build !linux

package trace

import "triton/server/infer"

// monotonic is a clock of this process alone.
func monotonic() int64 { return infer.Now() }
