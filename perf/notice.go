package perf

import "fmt"

// notice sends a text of perf_analyzer.
func (r *run) notice(text string) { r.observe(Notice{text}) }

// warn sends a notice that perf_analyzer does not have.
func (r *run) warn(format string, args ...any) {
	r.observe(Warning{"WARNING: " + fmt.Sprintf(format, args...)})
}
