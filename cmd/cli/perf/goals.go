package perf

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triton/perf"
)

// goal matches one goal of --stop-when: ci<2%, ci(p99)<5%.
var goal = regexp.MustCompile(`^ci(?:\(([a-z0-9.]+)\))?<=?([0-9.]+)%$`)

// stopBelow matches throughput<1200.
var stopBelow = regexp.MustCompile(`^throughput<([0-9.]+)$`)

// setStopWhen reads the goals of --stop-when.
func (o *options) setStopWhen(text string) error {
	o.config.StopWhen, o.config.StopBelow = nil, 0
	for part := range strings.SplitSeq(strings.ReplaceAll(text, " ", ""), ",") {
		if m := stopBelow.FindStringSubmatch(part); m != nil {
			limit, err := strconv.ParseFloat(m[1], 64)
			if err != nil || limit <= 0 {
				return parseError("--stop-when", part)
			}
			o.config.StopBelow = limit
			continue
		}
		m := goal.FindStringSubmatch(part)
		if m == nil {
			return fmt.Errorf("Failed to parse --stop-when. '%s' is not of the form ci<2%%, ci(throughput)<2%%, ci(avg)<2%%, ci(p99)<2%% or, beside one of these, throughput<1000.", part)
		}
		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return parseError("--stop-when", part)
		}
		g := perf.Goal{Figure: m[1], Width: percent / 100}
		if err := g.Validate(); err != nil {
			return fmt.Errorf("Failed to parse --stop-when. %w.", err)
		}
		o.config.StopWhen = append(o.config.StopWhen, g)
	}
	if len(o.config.StopWhen) == 0 {
		return fmt.Errorf("Failed to parse --stop-when. '%s' ends slow levels only. Add a goal for the others, such as ci(throughput)<5%%.", text)
	}
	return nil
}

// The conditions of --fail-on.
const (
	failOnUnstable = "unstable"
	failOnErrors   = "errors"
	failOnLate     = "late"
	failOnNone     = "none"
)

// setFailOn reads the conditions of --fail-on.
func (o *options) setFailOn(text string) error {
	o.failOn = nil
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if !slices.Contains([]string{failOnUnstable, failOnErrors, failOnLate, failOnNone}, part) {
			return fmt.Errorf("Failed to parse --fail-on. Unsupported condition provided: '%s'. The available conditions are unstable, errors, late and none.", part)
		}
		o.failOn = append(o.failOn, part)
	}
	if slices.Contains(o.failOn, failOnNone) && len(o.failOn) > 1 {
		return fmt.Errorf("Failed to parse --fail-on. 'none' excludes other conditions.")
	}
	o.config.TolerateErrors = !o.failsOn(failOnErrors)
	return nil
}

func (o *options) failsOn(condition string) bool { return slices.Contains(o.failOn, condition) }
