package perf

import (
	"errors"
	"strings"

	"triton/perf"
)

// addOnceFlags adds the load modes that send each request once.
func (o *options) addOnceFlags(t table) {
	t.value("periodic-concurrency-range", "", "<start:end:step>", "start with some requests, and add step more whenever the newest ones have had --request-period responses, up to the end; needs --streaming and --profile-export-file", o.setPeriodic)
	t.integer(&o.config.Period, 1, "> 0", "request-period", "", "<n>", "responses after which --periodic-concurrency-range adds requests (10)")
	t.value("session-concurrency", "", "<n>", "keep this number of sessions open, in each of which the next turn follows the answer; needs --service-kind openai", func(text string) error {
		if err := o.chooseLoadMode(perf.Sessions, "SessionConcurrency"); err != nil {
			return err
		}
		n, err := integer("--session-concurrency", text)
		if err == nil && n < 1 {
			err = errors.New("Failed to parse --session-concurrency. Session concurrency must be > 0.")
		}
		o.onceRange.Start = float64(n)
		return err
	})
}

func (o *options) setPeriodic(text string) error {
	if err := o.chooseLoadMode(perf.Periodic, "PeriodicConcurrency"); err != nil {
		return err
	}
	wrong := func(text string) error {
		return errors.New("Failed to parse --periodic-concurrency-range. " + text)
	}
	parts := strings.Split(text, ":")
	switch {
	case len(parts) < 2:
		return wrong("Both <start> and <end> values must be provided.")
	case len(parts) > 3:
		return wrong("The value does not match <start:end:step>.")
	}
	n := [3]int{2: 1}
	for i, part := range parts {
		var err error
		if n[i], err = integer("--periodic-concurrency-range", part); err != nil || n[i] < 0 {
			return parseError("--periodic-concurrency-range", text)
		}
	}
	start, end, step := n[0], n[1], n[2]
	switch {
	case step == 0:
		return wrong("The <step> value must be > 0.")
	case start > end:
		return wrong("The <start> must be <= <end>.")
	case (end-start)%step != 0:
		return wrong("The <step> value must be a factor of the range size (<end> - <start>).")
	case start == 0:
		return wrong("The <start> value must be > 0.")
	}
	o.onceRange = perf.Range{Start: float64(start), End: float64(end), Step: float64(step)}
	return nil
}

// checkOnce checks the options of these load modes together. The data decides the number of
// requests, and there is no warm-up.
func (o *options) checkOnce() error {
	c := &o.config
	if c.Mode != perf.Periodic && c.Mode != perf.Sessions {
		return nil
	}
	switch {
	case c.Mode == perf.Periodic && !c.Streaming:
		return errors.New("The --periodic-concurrency-range option requires bi-directional gRPC streaming.")
	case c.Mode == perf.Periodic && o.export == "":
		return errors.New("Must provide --profile-export-file when using the --periodic-concurrency-range option.")
	}
	if c.WarmupCount > 0 {
		o.warnOwn("WARNING: --warmup-request-count has no effect with --periodic-concurrency-range and --session-concurrency.")
		c.WarmupCount = 0
	}
	if c.RequestCount > 0 {
		o.warnOwn("WARNING: --request-count has no effect with --periodic-concurrency-range and --session-concurrency.")
		c.RequestCount = 0
	}
	return nil
}
