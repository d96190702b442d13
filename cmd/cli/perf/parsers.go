package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
)

// The errors have perf_analyzer's texts, which scripts match.

func (o *options) setWindows(text string) error {
	switch text {
	case "time_windows":
		o.config.Windows = perf.TimeWindows
	case "count_windows":
		o.config.Windows = perf.CountWindows
	default:
		return fmt.Errorf("Failed to parse --measurement-mode. Unsupported type provided: '%s'. The available options are 'time_windows' or 'count_windows'.", text)
	}
	return nil
}

func (o *options) setStability(text string) error {
	f, err := strconv.ParseFloat(leading(text, "0123456789.eE+-"), 32)
	if err != nil {
		return parseError("--stability-percentage", text)
	}
	if f < 0 {
		return errors.New("Failed to parse --stability-percentage (-s). The value must be >= 0.0.")
	}
	o.config.Stability = float64(float32(f) / 100)
	return nil
}

func (o *options) setPercentile(text string) error {
	p, err := number("--percentile", text)
	if err != nil || p != -1 && (p <= 0 || p >= 100) {
		return errors.New("Failed to parse --percentile. The value must be -1 for not reporting or in range (0, 100).")
	}
	o.config.Percentile = max(p, 0)
	return nil
}

// maxBatches is the maximum number of batch sizes in a range.
const maxBatches = 1000

// batches reads one batch size, a list, a range, or a list of these.
func batches(text string) ([]int, error) {
	errSize := errors.New("Failed to parse -b (batch size). The value must be > 0.")
	var all []int
	for _, item := range strings.Split(text, ",") {
		var r [3]int
		parts := strings.Split(item, ":")
		if len(parts) > 3 {
			return nil, fmt.Errorf("Failed to parse -b (batch size). %q is not <start:end:step>.", item)
		}
		for i, p := range parts {
			var err error
			if r[i], err = integer("-b", p); err != nil {
				return nil, parseError("-b", text)
			}
			if r[i] < 1 {
				return nil, errSize
			}
		}
		end, step := max(r[0], r[1]), max(r[2], 1)
		if len(parts) > 1 && r[1] < r[0] || (end-r[0])/step+len(all) >= maxBatches {
			return nil, fmt.Errorf("Failed to parse -b (batch size). %q must be an increasing range of at most %d sizes.", item, maxBatches)
		}
		for b := r[0]; b <= end; b += step {
			if !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all, nil
}

func (o *options) addModel(text string) error {
	if !slices.Contains(o.models, text) {
		o.models = append(o.models, text)
	}
	o.config.Model = text
	return nil
}

// AddInputData parses one value of --input-data, also for analyze.
func AddInputData(d *data.Options, text string) error {
	if _, err := os.Stat(text); err == nil {
		d.Source = data.Files
		d.Paths = append(d.Paths, text)
		return nil
	}
	switch text {
	case "zero":
		d.Source = data.Zero
	case "random":
		d.Source = data.Random
	default:
		return fmt.Errorf("Failed to parse --input-data. Unsupported type provided: '%s'. The available options are 'zero', 'random', path to a directory, or a json file.", text)
	}
	return nil
}

// AddShape parses one value of --shape, also for analyze.
func AddShape(d *data.Options, text string) error {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return errors.New("Failed to parse --shape. There must be a colon after input name.")
	}
	var shape []int64
	for _, dim := range strings.Split(text[i+1:], ",") {
		n, err := integer("--shape", dim)
		if err != nil {
			return parseError("--shape", text)
		}
		if n <= 0 {
			return errors.New("Failed to parse --shape. The dimensions of input tensor must be > 0.")
		}
		shape = append(shape, int64(n))
	}
	if d.Shapes == nil {
		d.Shapes = map[string][]int64{}
	}
	d.Shapes[text[:i]] = shape
	return nil
}

func (o *options) setProtocol(text string) (err error) {
	if o.client.Protocol, err = client.ParseProtocol(text); err != nil {
		return errors.New("Failed to parse -i (protocol). The value should be either HTTP or gRPC.")
	}
	return nil
}

func (o *options) addHeader(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("Failed to parse -H. The value must be <name:value>, not %q", text)
	}
	o.client.Headers[name] = value
	return nil
}

func (o *options) setMetricsInterval(text string) (err error) {
	o.metricsInterval = true
	o.config.MetricsInterval, err = o.parseTime(time.Millisecond, "> 0 msecs.", "metrics-interval", "", text)
	return err
}

func (o *options) setTable(text string) error {
	if !slices.Contains([]string{"auto", "always", "never"}, text) {
		return fmt.Errorf("--table must be auto, always or never, not %q", text)
	}
	o.table = text
	return nil
}
