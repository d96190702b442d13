package perf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triton/perf"
	"triton/perf/data"
)

// addRandomFlags adds the options of random data. perf_analyzer has none of them.
func (o *options) addRandomFlags(t table) {
	c, d := &o.config, &o.config.Data
	t.value("random-seed", "", "<n>", "seed of random data, of poisson intervals and of sequences (0)", func(text string) (err error) {
		if c.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return parseError("--random-seed", text)
		}
		return nil
	})
	t.integer(&d.Steps, 1, "> 0.", "random-steps", "", "<n>", "number of different requests of random data, sent in turn (1)")
	t.value("input-range", "", "<name:low:high>", "least and greatest random number of an input; may be repeated (0:255 for integers, 0:1 for floats)", func(text string) error {
		return addRange(d, text)
	})
	t.MarkOwn("random-seed", "random-steps", "input-range")
}

// addRange parses one value of --input-range. The name may have colons.
func addRange(d *data.Options, text string) error {
	parts := strings.Split(text, ":")
	if len(parts) < 3 {
		return fmt.Errorf("Failed to parse --input-range. The value must be <name:low:high>, not '%s'.", text)
	}
	bounds := parts[len(parts)-2:]
	for _, bound := range bounds {
		if _, err := strconv.ParseFloat(bound, 64); errors.Is(err, strconv.ErrSyntax) {
			return fmt.Errorf("Failed to parse --input-range. '%s' is not a number.", bound)
		}
	}
	if d.Ranges == nil {
		d.Ranges = map[string]data.Range{}
	}
	d.Ranges[strings.Join(parts[:len(parts)-2], ":")] = data.Range{Low: bounds[0], High: bounds[1]}
	return nil
}

// addScheduleFlags adds the load mode whose times are in the input data.
func (o *options) addScheduleFlags(t table) {
	set := func(string) error { return o.chooseLoadMode(perf.FixedSchedule, "FixedSchedule") }
	f := t.Add(option{"", set}, "fixed-schedule", "", `send each step of the JSON file of --input-data once, at its "timestamp": [milliseconds]`)
	f.NoOptDefVal = "true"
	t.value("speed", "", "<factor>", "speed of a fixed schedule: with 2 it takes half the time (1)", func(text string) error {
		v, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
		if err != nil || !(v > 0 && v < 1e9) {
			return fmt.Errorf("Failed to parse --speed. The value must be a number > 0, not '%s'.", text)
		}
		o.config.Speed = v
		return nil
	})
	t.MarkOwn("speed")
}

// checkInputs checks the options of the input data together.
func (o *options) checkInputs() error {
	c := &o.config
	if c.Data.Source != data.Random && (c.Data.Steps > 1 || len(c.Data.Ranges) > 0) {
		return errors.New("--random-steps and --input-range need random data, the default of --input-data.")
	}
	if c.Mode != perf.FixedSchedule {
		if c.Speed != 0 {
			return errors.New("--speed is only allowed with --fixed-schedule.")
		}
		return nil
	}
	if c.RequestCount != 0 {
		return errors.New("Cannot specify `--request-count` when using `--fixed-schedule`. The request count will be equal to the number of requests in the input data minus the warmup request count.")
	}
	entries, err := data.ScheduleEntries(c.Data)
	switch {
	case err != nil:
		return err
	case c.WarmupCount >= entries:
		return perf.ErrWarmupCount
	case slices.Max(c.Batches) > 1:
		return errors.New("-b must be 1 with --fixed-schedule: each request is one entry of the data.")
	}
	return nil
}
