package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/perf"
)

// addLoadFlags adds the options that say how requests are started.
func (o *options) addLoadFlags(t table) {
	c := &o.config
	t.value("concurrency-range", "", "<start:end:step|list>", "concurrencies to measure at, as a range or a list of numbers and ranges 1,2,4:16:4; with end 0 the sweep ends at the latency threshold (1:1:1)", o.setConcurrency)
	t.value("request-rate-range", "", "<start:end:step|list>", "send requests at these rates per second instead, whether or not earlier ones are answered", o.setRate)
	t.value("request-distribution", "", "<constant|poisson>", "intervals between the requests of a rate (constant)", func(text string) error {
		switch text {
		case "constant":
			c.Distribution = perf.Constant
		case "poisson":
			c.Distribution = perf.Poisson
		default:
			return fmt.Errorf("Failed to parse --request-distribution. Unsupported type provided: '%s'. Choices are 'poisson' or 'constant'.", text)
		}
		return nil
	})
	t.value("request-intervals", "", "<file>", "send requests at the intervals of a file instead: one number of microseconds in each line, used in turn", o.setIntervals)
	t.toggle("binary-search", "", "find the highest level within the latency threshold", func() { c.Search = perf.Binary })
	t.integer(&c.Sequences.Slots, 1, "> 0.", "num-of-sequences", "", "<n>", "sequences that are open at a time, with a rate or intervals (4)")
	t.toggle("serial-sequences", "", "send a request of a sequence only after the one before is answered, as without this option", func() {})
	t.value("max-threads", "", "<n>", "maximum number of requests in flight with a rate or intervals, or the highest concurrency of a range with end 0 (1024, or 16)", func(text string) (err error) {
		o.maxThreads, err = atLeast(1, "> 0.", "max-threads", "", text)
		c.MaxInFlight = o.maxThreads
		return err
	})
}

// addSequenceFlags adds the options of sequences of requests.
func (o *options) addSequenceFlags(t table) {
	q := &o.config.Sequences
	t.value("sequence-length", "", "<n>", "requests of a sequence (the steps of its data, or 20)", func(text string) (err error) {
		if q.Length, err = integer("--sequence-length", text); err == nil && q.Length <= 0 {
			o.warn("WARNING: The sequence length must be > 0. Perf Analyzer will use default value if it is measuring on sequence model.")
			q.Length = 20
		}
		return err
	})
	t.value("sequence-length-variation", "", "<percent>", "maximum random deviation of the length, in percent (20)", func(text string) error {
		percent, err := number("--sequence-length-variation", text)
		q.Variation = percent / 100
		return err
	})
	t.value("sequence-id-range", "", "<start:end>", "IDs of sequences, without the end (1:4294967296)", o.setSequenceIDs)
}

// chooseLoadMode records the load mode that an option chooses. A second option is an error.
func (o *options) chooseLoadMode(m perf.Mode, name string) error {
	if o.loadMode != "" {
		return fmt.Errorf("Cannot use both %s and %s inference load modes.", o.loadMode, name)
	}
	o.loadMode, o.config.Mode = name, m
	return nil
}

func (o *options) setConcurrency(text string) error {
	if err := o.chooseLoadMode(perf.Concurrency, "Concurrency"); err != nil {
		return err
	}
	return o.setRange(&o.concurrency, "--concurrency-range", text, func(part string) (float64, error) {
		n, err := integer("--concurrency-range", part)
		return float64(n), err
	})
}

func (o *options) setRate(text string) error {
	if err := o.chooseLoadMode(perf.RequestRate, "RequestRate"); err != nil {
		return err
	}
	return o.setRange(&o.rate, "--request-rate-range", text, func(part string) (float64, error) {
		return number("--request-rate-range", part)
	})
}

// setRange reads a range start:end:step or, which perf_analyzer does not know, a list of
// numbers and ranges.
func (o *options) setRange(r *perf.Range, option, text string, read func(string) (float64, error)) error {
	if !strings.Contains(text, ",") {
		return readRange(r, option, text, read)
	}
	o.warnOwn("WARNING: " + option + " " + text + " is read as a list of levels. perf_analyzer reads only its first number.")
	var list []float64
	for _, item := range strings.Split(text, ",") {
		one := perf.Range{Step: 1}
		if err := readRange(&one, option, item, read); err != nil {
			return err
		}
		switch {
		case !strings.Contains(item, ":"):
			one.End = one.Start
		case one.End < one.Start || one.Step <= 0 || (one.End-one.Start)/one.Step >= float64(maxLevels-len(list)):
			return fmt.Errorf("Failed to parse %s. %q must be an increasing range of at most %d levels.", option, item, maxLevels)
		}
		for v := one.Start; v <= one.End; v += one.Step {
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	*r = perf.Range{List: list, Start: list[0], End: list[len(list)-1]}
	return nil
}

// maxLevels is the maximum number of levels in a list.
const maxLevels = 1000

func readRange(r *perf.Range, option, text string, read func(string) (float64, error)) error {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return errors.New("Failed to parse " + option + ". The value does not match <start:end:step>.")
	}
	for i, into := range []*float64{&r.Start, &r.End, &r.Step}[:len(parts)] {
		v, err := read(parts[i])
		if err != nil || v < 0 {
			return parseError(option, text)
		}
		*into = v
	}
	return nil
}

// number parses the number at the start of a text, like C++'s stod. It must be finite.
func number(option, text string) (float64, error) {
	text = leading(text, "0123456789.eE+-")
	for end := len(text); end > 0; end-- {
		f, err := strconv.ParseFloat(text[:end], 64)
		switch {
		case err != nil:
		case math.IsInf(f, 0):
			return 0, parseError(option, text)
		default:
			return f, nil
		}
	}
	return 0, parseError(option, text)
}

func (o *options) setIntervals(text string) error {
	if err := o.chooseLoadMode(perf.Intervals, "CustomIntervals"); err != nil {
		return err
	}
	if info, err := os.Stat(text); err != nil || !info.Mode().IsRegular() {
		return errors.New("Failed to parse --request-intervals. The value must be a valid file path")
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return fmt.Errorf("failed to open file '%s'", text)
	}
	o.config.Intervals, err = intervals(text, string(content))
	return err
}

// intervals reads one number of microseconds from each line of a file.
func intervals(file, content string) ([]time.Duration, error) {
	var all []time.Duration
	var sum time.Duration
	for i, line := range strings.Split(strings.TrimRight(content, "\r\n"), "\n") {
		us, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil || us < 0 || us > math.MaxInt64/int64(time.Microsecond) {
			if content == "" {
				return nil, fmt.Errorf("file '%s' is empty", file)
			}
			return nil, fmt.Errorf("%s:%d: %q is not an interval, a whole number of microseconds", file, i+1, line)
		}
		all = append(all, time.Duration(us)*time.Microsecond)
		if all[i] > math.MaxInt64-sum {
			return nil, fmt.Errorf("%s:%d: the sum of the intervals is more than 292 years", file, i+1)
		}
		sum += all[i]
	}
	if sum == 0 {
		return nil, fmt.Errorf("%s: the intervals must not all be 0", file)
	}
	return all, nil
}

func (o *options) setSequenceIDs(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) > 2 {
		return errors.New("Failed to parse --sequence-id-range. The value does not match <start:end>.")
	}
	var ids [2]int
	for i, part := range parts {
		var err error
		if ids[i], err = integer("--sequence-id-range", part); err != nil {
			return parseError("--sequence-id-range", text)
		}
		if ids[i] < 0 {
			return errors.New("Failed to parse --sequence-id-range. The range values must be >= 0.")
		}
	}
	q := &o.config.Sequences
	if len(parts) == 2 {
		if ids[0] >= ids[1] {
			return errors.New("Failed to parse --sequence-id-range. The 'end' value must be greater than 'start' value.")
		}
		q.IDCount = uint64(ids[1] - ids[0])
	}
	if ids[0] == 0 {
		o.warn("WARNING: using an invalid start sequence id. Perf Analyzer will use default value if it is measuring on sequence model.")
		ids[0] = 1
	}
	q.FirstID = uint64(ids[0])
	return nil
}
