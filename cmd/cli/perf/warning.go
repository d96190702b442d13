package perf

import (
	"fmt"
	"io"

	"triton/pkg/ui"
)

// warning is a remark about the options of a run.
type warning struct {
	text string
	own  bool // perf_analyzer does not have it
}

// warn adds a warning of perf_analyzer.
func (o *options) warn(text string) { o.warnings = append(o.warnings, warning{text, false}) }

// warnOwn adds a warning that perf_analyzer does not have.
func (o *options) warnOwn(text string) { o.warnings = append(o.warnings, warning{text, true}) }

// writeWarnings writes warnings: those of perf_analyzer as they are, others so that they fit the terminal.
func writeWarnings(w io.Writer, all []warning) {
	for _, one := range all {
		if one.own {
			_ = ui.WriteLine(w, one.text) // nothing can be said about a stream that takes no text
		} else {
			fmt.Fprintln(w, one.text)
		}
	}
}
