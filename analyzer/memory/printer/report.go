// Package printer prints the result of an analysis: as a table with its conclusions, in text,
// Markdown or HTML, as CSV and as JSON.
package printer

import (
	"strconv"
	"time"
)

// size formats a number of bytes for people.
func size(bytes float64) string {
	const mib = 1 << 20
	if bytes >= 10<<30 {
		return fixed(bytes/(1<<30), 1) + " GiB"
	}
	return fixed(bytes/mib, 1) + " MiB"
}

// milliseconds converts a duration to the unit of all reports.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
