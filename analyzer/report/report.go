// Package report prints the result of an analysis: as a table with its
// conclusions for people, as CSV and as JSON. It computes nothing that the
// result does not have.
package report

import (
	"fmt"
	"strconv"
	"time"
)

// size is a number of bytes for people.
func size(bytes float64) string {
	const mib = 1 << 20
	if bytes >= 10<<30 {
		return strconv.FormatFloat(bytes/(1<<30), 'f', 1, 64) + " GiB"
	}
	return strconv.FormatFloat(bytes/mib, 'f', 1, 64) + " MiB"
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
}

func rate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// plural is "1 instance", "2 instances".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
