package infertest

import (
	"strconv"
	"strings"
	"time"
)

// Step is one action of a scripted model for a request.
type Step struct {
	Word string
	At   time.Duration // since the beginning of the script
}

// ParseScript reads what a model does for one request, in words from left to right:
//
//	d10      wait 10 ms
//	r, R     send a response; the final one
//	e, E     send an error; the final one
//	0        send a response without data
//	f        send the final response, without data
//	|        return from Execute; the rest follows
//	fail     fail the batch
//	panic    panic
//
// A test may add words of its own. A wait adds to the times of the steps that follow it.
func ParseScript(text string) []Step {
	var all []Step
	var at time.Duration
	for w := range strings.FieldsSeq(text) {
		if ms, err := strconv.Atoi(strings.TrimPrefix(w, "d")); err == nil && w[0] == 'd' {
			at += time.Duration(ms) * time.Millisecond
			continue
		}
		all = append(all, Step{w, at})
	}
	return all
}
