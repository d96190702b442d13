package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
)

func (s *perfSettings) apply(o occurrence) error {
	switch {
	case o.later:
		if want, ok := harmless[o.long]; ok && strings.EqualFold(o.text, want) {
			return nil
		}
		return fmt.Errorf("%s is not supported yet", o.name())
	case o.long == "":
		return s.applyShort(o)
	case o.group == groupMeasure:
		return s.applyMeasure(o)
	case o.group == groupOther:
		return s.applyOther(o)
	}
	return s.applyData(o)
}

func (s *perfSettings) applyMeasure(o occurrence) error {
	c := &s.config
	var err error
	switch o.long {
	case "concurrency-range":
		return s.concurrency(o)
	case "measurement-mode":
		return s.mode(o)
	case "measurement-interval":
		return millis(o, "--measurement-interval (-p)", "> 0 msec.", 1, &c.Interval)
	case "measurement-request-count":
		c.Samples, err = positive(o, "--measurement-request-count", "> 0.", 1)
	case "stability-percentage":
		return s.stability(o)
	case "max-trials":
		c.MaxTrials, err = positive(o, "--max-trials (-r)", "> 0.", 1)
	case "percentile":
		return s.percentile(o)
	case "latency-threshold":
		return millis(o, "--latency-threshold (-l)", ">= 0 msecs.", 0, &c.LatencyLimit)
	case "binary-search":
		c.Search = perf.Binary
	case "request-count":
		first := c.RequestCount
		c.RequestCount, err = positive(o, "--request-count", "> 0.", 1)
		c.RequestCount = cmp.Or(first, c.RequestCount) // the first one counts
	case "warmup-request-count":
		c.WarmupCount, err = positive(o, "--warmup-request-count", ">= 0.", 0)
	case "async":
		c.Async = true
	case "sync":
		c.Sync = true
	case "max-threads":
		s.maxThreads, err = positive(o, "--max-threads", "> 0.", 1)
	}
	return err
}

func (s *perfSettings) applyData(o occurrence) error {
	var err error
	switch o.long {
	case "input-data":
		return s.inputData(o)
	case "data-directory":
		s.deprecated("--data-directory", "--input-data")
		s.dataDir = true
		s.config.Data.Source = data.Files
		s.config.Data.Paths = append(s.config.Data.Paths, o.text)
	case "shape":
		return s.shape(o)
	case "string-length":
		s.config.Data.StringLength, err = positive(o, "--string-length", "> 0", 1)
	case "string-data":
		s.config.Data.StringData = o.text
	case "service-kind":
		if o.text != "triton" {
			err = fmt.Errorf("--service-kind %s is not supported yet, only triton", o.text)
		}
	}
	return err
}

func (s *perfSettings) applyOther(o occurrence) error {
	switch o.long {
	case "verbose-csv":
		s.csvMore = true
	case "collect-metrics":
		s.config.CollectMetrics = true
	case "metrics-url":
		s.config.MetricsURL = o.text
	case "metrics-interval":
		s.metricsInterval = true
		return millis(o, "--metrics-interval", "> 0 msecs.", 1, &s.config.MetricsInterval)
	case "table":
		if !slices.Contains([]string{"auto", "always", "never"}, o.text) {
			return fmt.Errorf("--table must be auto, always or never, not %q", o.text)
		}
		s.table = o.text
	case "version":
		s.version = true
	case "help":
		s.help = true
	}
	return nil
}

func (s *perfSettings) applyShort(o occurrence) error {
	var err error
	switch o.short {
	case 'm':
		s.config.Model = o.text
	case 'x':
		s.config.Version = o.text
	case 'b':
		s.config.Batches, err = batches(o)
	case 'u':
		s.client.Address = o.text
	case 'i':
		if s.client.Protocol, err = client.ParseProtocol(o.text); err != nil {
			err = errors.New("Failed to parse -i (protocol). The value should be either HTTP or gRPC.")
		}
	case 'H':
		name, value, ok := strings.Cut(o.text, ":")
		if !ok {
			return fmt.Errorf("Failed to parse -H. The value must be <name:value>, not %q", o.text)
		}
		s.client.Headers[name] = value
	case 'f':
		s.csv = o.text
	case 'v':
		s.verbose++
	case 't':
		s.deprecated("-t", "--concurrency-range")
		s.config.Concurrency.Start, err = integer(o, o.text)
	case 'c':
		s.deprecated("-c", "--concurrency-range")
		s.config.Concurrency.End, err = integer(o, o.text)
	case 'd':
		s.deprecated("-d", "--concurrency-range")
	case 'z':
		s.deprecated("-z", "--input-data=zero")
		s.zero = true
		s.config.Data.Source = data.Zero
	}
	return err
}

func (s *perfSettings) deprecated(old, instead string) {
	s.warnings = append(s.warnings, fmt.Sprintf("Warning: %s is deprecated and will be removed in an upcoming version. Use %s instead.", old, instead))
}

func (s *perfSettings) concurrency(o occurrence) error {
	parts := strings.Split(o.text, ":")
	if len(parts) > 3 {
		return errors.New("Failed to parse --concurrency-range. The value does not match <start:end:step>.")
	}
	c := &s.config.Concurrency
	for i, into := range []*int{&c.Start, &c.End, &c.Step}[:len(parts)] {
		n, err := integer(o, parts[i])
		if err != nil || n < 0 {
			return errParse(o)
		}
		*into = n
	}
	return nil
}

func (s *perfSettings) mode(o occurrence) error {
	switch o.text {
	case "time_windows":
		s.config.Windows = perf.TimeWindows
	case "count_windows":
		s.config.Windows = perf.CountWindows
	default:
		return fmt.Errorf("Failed to parse --measurement-mode. Unsupported type provided: '%s'. The available options are 'time_windows' or 'count_windows'.", o.text)
	}
	return nil
}

func (s *perfSettings) stability(o occurrence) error {
	f, err := strconv.ParseFloat(leading(o.text, "0123456789.eE+-"), 32)
	if err != nil {
		return errParse(o)
	}
	if f < 0 {
		return errors.New("Failed to parse --stability-percentage (-s). The value must be >= 0.0.")
	}
	s.config.Stability = float64(float32(f) / 100)
	return nil
}

func (s *perfSettings) percentile(o occurrence) error {
	n, err := integer(o, o.text)
	if err != nil || n != -1 && (n < 1 || n > 99) {
		return errors.New("Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).")
	}
	s.config.Percentile = max(n, 0)
	return nil
}

// maxBatches bounds a range of batch sizes.
const maxBatches = 1000

// batches reads one batch size, a list, a range, or a list of these.
func batches(o occurrence) ([]int, error) {
	errSize := errors.New("Failed to parse -b (batch size). The value must be > 0.")
	var all []int
	for _, item := range strings.Split(o.text, ",") {
		var r [3]int
		parts := strings.Split(item, ":")
		if len(parts) > 3 {
			return nil, fmt.Errorf("Failed to parse -b (batch size). %q is not <start:end:step>.", item)
		}
		for i, p := range parts {
			var err error
			if r[i], err = integer(o, p); err != nil {
				return nil, err
			}
			if r[i] < 1 {
				return nil, errSize
			}
		}
		end, step := max(r[0], r[1]), max(r[2], 1)
		if len(parts) > 1 && r[1] < r[0] || (end-r[0])/step+len(all) >= maxBatches {
			return nil, fmt.Errorf("Failed to parse -b (batch size). %q must rise, over at most %d sizes.", item, maxBatches)
		}
		for b := r[0]; b <= end; b += step {
			if !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all, nil
}

func (s *perfSettings) inputData(o occurrence) error {
	d := &s.config.Data
	if _, err := os.Stat(o.text); err == nil {
		d.Source = data.Files
		d.Paths = append(d.Paths, o.text)
		return nil
	}
	switch o.text {
	case "zero":
		s.zero = true
		d.Source = data.Zero
	case "random":
		d.Source = data.Random
	default:
		return fmt.Errorf("Failed to parse --input-data. Unsupported type provided: '%s'. The available options are 'zero', 'random', path to a directory, or a json file.", o.text)
	}
	return nil
}

func (s *perfSettings) shape(o occurrence) error {
	i := strings.LastIndexByte(o.text, ':')
	if i < 0 {
		return errors.New("Failed to parse --shape. There must be a colon after input name.")
	}
	var shape []int64
	for _, d := range strings.Split(o.text[i+1:], ",") {
		n, err := integer(o, d)
		if err != nil {
			return err
		}
		if n <= 0 {
			return errors.New("Failed to parse --shape. The dimensions of input tensor must be > 0.")
		}
		shape = append(shape, int64(n))
	}
	if s.config.Data.Shapes == nil {
		s.config.Data.Shapes = map[string][]int64{}
	}
	s.config.Data.Shapes[o.text[:i]] = shape
	return nil
}
