package perf

import "fmt"

// warn sends a notice that perf_analyzer does not have.
func (r *run) warn(format string, args ...any) {
	r.observe(Warning{"WARNING: " + fmt.Sprintf(format, args...)})
}
