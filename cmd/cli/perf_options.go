package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
)

// perfSettings is a parsed command line of perf.
type perfSettings struct {
	config   perf.Config
	client   client.Options
	csv      string
	verbose  int
	csvMore  bool
	table    string
	help     bool
	version  bool
	warnings []string

	urlGiven, metricsURLGiven, metricsIntervalGiven bool
	maxThreads                                      int
	maxThreadsGiven                                 bool
	zero, dataDir                                   bool
}

func newPerfSettings() *perfSettings {
	s := &perfSettings{config: perf.DefaultConfig(""), table: "auto"}
	s.client.Headers = map[string]string{}
	return s
}

// parsePerf reads a command line, and from the environment and the settings
// file what is not on it.
func parsePerf(w World, args []string) (*perfSettings, error) {
	met, _, err := getopt(perfOptions, args) // other arguments are ignored, as ever
	if err != nil {
		return nil, err
	}
	if met, err = complete(w, met); err != nil {
		return nil, err
	}
	s := newPerfSettings()
	for _, o := range met {
		if err := s.apply(o); err != nil {
			return nil, err
		}
		if s.help || s.version {
			return s, nil
		}
	}
	return s, s.finish()
}

// complete puts settings from the environment and the file before what was
// given on the command line. The flag set lends its names to settle.
func complete(w World, met []occurrence) ([]occurrence, error) {
	set := pflag.NewFlagSet("perf", pflag.ContinueOnError)
	file := ""
	for i := range perfOptions {
		o := &perfOptions[i]
		switch {
		case o.long == "" || o.later || o.group == "" || o.long == "version" || o.long == "help":
			continue
		case o.value == "":
			set.Bool(o.long, false, "")
		default:
			set.StringArray(o.long, nil, "")
		}
	}
	for _, o := range met {
		if f := set.Lookup(o.long); f != nil {
			f.Changed = true // the command line wins
		}
		if o.long == "config" {
			file = o.text
		}
	}
	if err := settle(w, set, file); err != nil {
		return nil, err
	}
	var all []occurrence
	for i := range perfOptions {
		o := &perfOptions[i]
		f := set.Lookup(o.long)
		switch {
		case f == nil || !f.Changed || slices.ContainsFunc(met, func(m occurrence) bool { return m.option == o }):
		case o.value != "":
			texts, _ := set.GetStringArray(o.long)
			for _, text := range texts {
				all = append(all, occurrence{o, text})
			}
		case f.Value.String() == "true":
			all = append(all, occurrence{o, ""})
		}
	}
	return append(all, met...), nil
}

// leading is the longest prefix of text that is a number of the kind that
// accepts says, as C++'s stoi and stod read it.
func leading(text string, accepts string) string {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (strings.IndexByte(accepts, text[end]) >= 0 || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	return text[:end]
}

func errParse(o occurrence) error {
	return fmt.Errorf("Failed to parse %s. Invalid value provided: %s", o.name(), o.text)
}

func integer(o occurrence, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(leading(text, "0123456789"), "+"))
	if err != nil {
		return 0, errParse(o)
	}
	return n, nil
}

// positive reads a number that must be above a bound; label and tail make the
// error's text.
func positive(o occurrence, label, tail string, atLeast int) (int, error) {
	n, err := integer(o, o.text)
	if err == nil && n < atLeast {
		err = fmt.Errorf("Failed to parse %s. The value must be %s", label, tail)
	}
	return n, err
}

func (s *perfSettings) apply(o occurrence) error {
	if o.later {
		if want, ok := harmless[o.long]; ok && strings.EqualFold(o.text, want) {
			return nil
		}
		return fmt.Errorf("%s is not supported yet", o.name())
	}
	if o.long == "" {
		return s.applyShort(o)
	}
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
		n := c.RequestCount
		c.RequestCount, err = positive(o, "--request-count", "> 0.", 1)
		if n > 0 {
			c.RequestCount = n // the first one counts
		}
	case "warmup-request-count":
		c.WarmupCount, err = positive(o, "--warmup-request-count", ">= 0.", 0)
	case "async":
		c.Async = true
	case "sync":
		c.Sync = true
	case "max-threads":
		s.maxThreadsGiven = true
		s.maxThreads, err = positive(o, "--max-threads", "> 0.", 1)
	case "verbose-csv":
		s.csvMore = true
	case "collect-metrics":
		c.CollectMetrics = true
	case "metrics-url":
		c.MetricsURL, s.metricsURLGiven = o.text, true
	case "metrics-interval":
		s.metricsIntervalGiven = true
		return millis(o, "--metrics-interval", "> 0 msecs.", 1, &c.MetricsInterval)
	default:
		return s.applyOther(o)
	}
	return err
}

func (s *perfSettings) applyOther(o occurrence) error {
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
	case "table":
		if !slices.Contains([]string{"auto", "always", "never"}, o.text) {
			err = fmt.Errorf("--table must be auto, always or never, not %q", o.text)
		}
		s.table = o.text
	case "config": // read before all others
	case "version":
		s.version = true
	case "help":
		s.help = true
	}
	return err
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
		s.client.Address, s.urlGiven = o.text, true
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

func millis(o occurrence, label, tail string, atLeast int, into *time.Duration) error {
	n, err := positive(o, label, tail, atLeast)
	*into = time.Duration(n) * time.Millisecond
	return err
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

// finish derives what depends on several options and checks them together, in
// perf_analyzer's order.
func (s *perfSettings) finish() error {
	c := &s.config
	if !s.urlGiven {
		s.client.Address = "localhost:8000"
		if s.client.Protocol == client.GRPC {
			s.client.Address = "localhost:8001"
		}
	}
	if c.CollectMetrics && !s.metricsURLGiven {
		c.MetricsURL = metricsURL(s.client.Address)
	}
	if c.RequestCount > 0 {
		c.Windows, c.Samples = perf.CountWindows, c.RequestCount
	}
	r := c.Concurrency
	switch {
	case c.Model == "":
		return errors.New("Failed to parse -m (model name). The value must be specified.")
	case r.Start <= 0:
		return errors.New("The start of the search range must be > 0")
	case s.zero && s.dataDir:
		return errors.New("The -z flag cannot be set when --data-directory is provided.")
	case c.Async && c.Sync:
		return errors.New("Cannot specify --async and --sync simultaneously.")
	case r.End == 0 && c.LatencyLimit == 0:
		return errors.New("The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously")
	case c.Search == perf.Binary && r.End == 0:
		return errors.New("The end of the range can not be 0 (or 0.0) for binary search mode.")
	case c.Search == perf.Binary && c.LatencyLimit == 0:
		return errors.New("The --latency-threshold cannot be 0 for binary search mode.")
	case c.Search == perf.Binary && r.End < r.Start:
		return errors.New("The end of the range can not be less than start of the range for binary search mode.")
	case c.WarmupCount > 0 && r.Start < r.End:
		return errors.New("--warmup-request-count not supported with multiple concurrency values in one run")
	case c.RequestCount > 0 && c.RequestCount < r.Start:
		return errors.New("--request-count can not be less than concurrency")
	case c.RequestCount > 0 && r.Start < r.End:
		return errors.New("--request-count not supported with multiple concurrency values in one run")
	case s.metricsURLGiven && !c.CollectMetrics:
		return errors.New("Must specify --collect-metrics when using the --metrics-url option.")
	case s.metricsIntervalGiven && !c.CollectMetrics:
		return errors.New("Must specify --collect-metrics when using the --metrics-interval option.")
	case r.Step == 0 && r.End > r.Start:
		return errors.New("The step of --concurrency-range must be > 0 when its end is above its start.")
	}
	s.threads()
	return nil
}

// threads does what perf_analyzer does to its thread count: as many as
// concurrent requests when calls are synchronous.
func (s *perfSettings) threads() {
	c := &s.config
	switch {
	case c.Async:
	case c.Concurrency.End == 0:
		s.warnings = append(s.warnings, "WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		if !s.maxThreadsGiven {
			s.maxThreads = 16
		}
		c.Concurrency.End = max(s.maxThreads, c.Concurrency.Start)
	case s.maxThreadsGiven:
		s.warnings = append(s.warnings, "WARNING: Overriding max_threads specification to ensure requested concurrency range.")
	}
}

// metricsURL is the metrics port of the host that serves.
func metricsURL(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	address, _, _ = strings.Cut(address, "/")
	if i := strings.LastIndexByte(address, ':'); i >= 0 && !strings.HasSuffix(address, "]") {
		address = address[:i]
	}
	return address + ":8002/metrics"
}
