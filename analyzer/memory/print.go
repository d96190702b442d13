// The result of an analysis is printed as a table with its conclusions, in text, Markdown or HTML, as CSV and as
// JSON.

package memory

import (
	"strconv"
	"time"
)

// sizeText formats a number of bytes for people.
func sizeText(bytes float64) string {
	const mib = 1 << 20
	if bytes >= 10<<30 {
		return decimal(bytes/(1<<30), 1) + " GiB"
	}
	return decimal(bytes/mib, 1) + " MiB"
}

// milliseconds converts a duration to the unit of all reports.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func decimal(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
