package perf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
)

// options holds what a command line sets.
type options struct {
	config     perf.Config
	models     []string // all -m
	name       string   // of the model, among several
	mpi        bool
	observer   func(perf.Observer) perf.Observer // wraps that of the run: among several models, to wait for the others
	together   bool                              // the model is measured with others
	client     client.Options
	csv        string
	csvVerbose bool
	export     string
	tls        transportSecurity

	compression      string // of gRPC requests; empty: none
	compressionGiven bool
	verbose          int
	table            string
	output           flags.Output
	targets          flags.OutputTargets
	noTUI            bool
	help             bool
	version          bool
	warnings         []warning
	failOn           []string // conditions of --fail-on

	concurrency, rate perf.Range // of the load mode that config.Mode names
	deprecatedMode    bool       // -t or -c: concurrency, whatever else is given
	loadMode          string     // the name of the option's load mode; empty: not given
	maxThreads        int        // 0: not given
	metricsInterval   bool
	onceRange         perf.Range // of the load modes that send each request once

	llm languageModel

	endpoint, signature, method string // of the kinds of servers that need them
	repository, serverDirectory string // of a server in this process
	zeroInputs, dataDirectory   bool   // inputs of zeros, inputs from --data-directory
	jsonInputs, jsonOutputs     bool   // tensors of HTTP messages in JSON
}

func newOptions() *options {
	o := &options{
		config: perf.DefaultConfig(""), table: "auto", failOn: []string{failOnUnstable, failOnErrors},
		signature: "serving_default", serverDirectory: "/opt/tritonserver",
	}
	o.concurrency, o.rate = o.config.Range, o.config.Range
	o.client.Headers = map[string]string{}
	o.observer = func(next perf.Observer) perf.Observer { return next }
	return o
}

// flags returns perf_analyzer's options, each of which sets a field of o.
func (o *options) flags(p process.Process) *flags.Set {
	set := pflag.NewFlagSet("perf", pflag.ContinueOnError)
	set.SortFlags = false
	t := table{flags.New(p, "perf", set)}
	o.addMeasurementFlags(t)
	o.addInputFlags(t)
	o.addServerFlags(t)
	o.addOtherFlags(t)
	o.addDeprecatedFlags(t)
	return t.Set
}

func (o *options) addMeasurementFlags(t table) {
	c := &o.config
	t.Group("I. MEASUREMENT PARAMETERS")
	t.value("model", "m", "<model>", "model to measure; required. Several are measured at once: -m a -m b, or with options for each: -m a -b 4 : -m b", o.addModel)
	t.toggle("enable-mpi", "", "accepted for scripts: one process measures several models, as -m a -m b or a [options] : -m b [options]", func() { o.mpi = true })
	t.text(&c.Version, "model-version", "x", "<version>", "version of the model (the newest)")
	o.addLoadFlags(t)
	o.addScheduleFlags(t)
	o.addOnceFlags(t)
	t.value("measurement-mode", "", "<time_windows|count_windows>", "what bounds a window: its time or its requests (time_windows)", o.setWindows)
	o.addDuration(t, &c.Interval, time.Millisecond, "> 0 msec.", "measurement-interval", "p", "length of a time window, in milliseconds or with a unit: 5s; the real window is 1.2 times as long (5000)")
	t.integer(&c.Samples, 1, "> 0.", "measurement-request-count", "", "<n>", "requests in a count window (50)")
	t.value("stability-percentage", "s", "<percent>", "maximum spread of three consecutive windows, in percent (10)", o.setStability)
	t.integer(&c.MaxTrials, 1, "> 0.", "max-trials", "r", "<n>", "maximum number of windows at each level (10)")
	t.value("percentile", "", "<0..100>", "percentile of latency that decides stability and is reported, such as 99.9; -1 is the average (-1)", o.setPercentile)
	o.addDuration(t, &c.LatencyLimit, 0, ">= 0 msecs.", "latency-threshold", "l", "stop at the first level above this latency, in milliseconds or with a unit: 500us; 0 is no limit (0)")
	t.value("stop-when", "", "<ci<2%>", "end a level when its 95 % confidence intervals are this narrow, instead of when three windows agree; ci(throughput), ci(avg) or ci(p99) name one interval, and several goals have commas between them; throughput<1000 beside them ends a level that is slower with confidence", o.setStopWhen)
	t.integer(&c.Repeats, 1, "> 0.", "repeat", "", "<n>", "measure the whole sweep this number of times, one after the other, so that every level is measured at several times (1)")
	t.value("request-count", "", "<n>", "send this number of requests and stop; 0 is no limit (0)", func(text string) error {
		n, err := atLeast(1, "> 0.", "request-count", "", text)
		c.RequestCount = cmp.Or(c.RequestCount, n) // the first value counts
		return err
	})
	t.integer(&c.WarmupCount, 0, ">= 0.", "warmup-request-count", "", "<n>", "requests to send before the measurement of each level (0)")
	t.toggle("async", "a", "decide stability by throughput alone, as perf_analyzer does for asynchronous calls", func() { c.Async = true })
	t.toggle("sync", "", "synchronous calls (the default)", func() { c.Sync = true })
}

func (o *options) addInputFlags(t table) {
	c, d := &o.config, &o.config.Data
	t.Group("II. INPUT DATA OPTIONS")
	t.value("batch-size", "b", "<n|list|range>", "batch sizes: one, a list 1,4,16 or a range 1:16, 1:16:5 (1)", func(text string) (err error) {
		c.Batches, err = batches(text)
		c.Batching = true
		return err
	})
	t.value("input-data", "", "<random|zero|path>", "input data: random numbers, zeros, a JSON file (may be repeated) or a folder (random)", func(text string) error {
		err := AddInputData(d, text)
		o.zeroInputs = o.zeroInputs || d.Source == data.Zero
		return err
	})
	t.value("shape", "", "<name:d1,d2>", "shape of an input with variable dimensions; may be repeated", func(text string) error {
		return AddShape(d, text)
	})
	t.integer(&d.StringLength, 1, "> 0", "string-length", "", "<n>", "length of random strings (128)")
	t.text(&d.StringData, "string-data", "", "<text>", "text of all strings, instead of random ones")
	o.addRandomFlags(t)
	o.addSequenceFlags(t)
	o.addTensorFlags(t)
}

func (o *options) addServerFlags(t table) {
	t.Group("III. SERVER DETAILS")
	t.text(&o.client.Address, "url", "u", "<host:port>", "address of the server (localhost:8000, with gRPC localhost:8001)")
	t.value("protocol", "i", "<http|grpc>", "protocol (http)", o.setProtocol)
	t.toggle("streaming", "", "send requests over gRPC streams; models may send any number of responses", func() { o.config.Streaming = true })
	t.value("header", "H", "<name:value>", "header or gRPC metadata of every request; may be repeated", o.addHeader)
	o.addTLSFlags(t)
	o.addRequestFlags(t)
	o.addServiceFlags(t)
}

func (o *options) addOtherFlags(t table) {
	c := &o.config
	t.Group("IV. OTHER OPTIONS")
	t.text(&o.csv, "csv-file", "f", "<file>", "write a CSV report")
	t.toggle("verbose-csv", "", "write more columns to the CSV report", func() { o.csvVerbose = true })
	t.value("profile-export-file", "", "<file>", "write every request with its times and tensors as JSON", func(text string) error {
		if _, err := os.Lstat(text); err == nil {
			return errors.New("Failed to parse --profile-export-file. Path must not already exist.")
		}
		o.export, c.Profile = text, true
		return nil
	})
	t.toggle("collect-metrics", "", "read the server's GPU metrics during the measurement", func() { c.CollectMetrics = true })
	t.text(&c.MetricsURL, "metrics-url", "", "<url>", "address of the metrics (port 8002 of the server, /metrics)")
	t.value("metrics-interval", "", "<msec|time>", "time between readings of the metrics, in milliseconds or with a unit: 1s (1000)", o.setMetricsInterval)
	o.addLLMFlags(t)
	o.addTraceFlags(t)
	t.value("table", "", "<auto|always|never>", "print the closing table; auto prints it on a terminal and for several batch sizes (auto)", o.setTable)
	t.value("fail-on", "", "<unstable,errors,late|none>", "exit with 2 after a level that was not stable or that the client limited, with 99 at the first request that fails (unstable,errors)", o.setFailOn)
	t.value("config", "", "<file>", "file with settings in YAML, JSON or TOML; its keys are long options", func(string) error { return nil }) // fromEnvironmentAndFile reads it
	o.addResultFlags(t)
	t.MarkOwn("table", "config", "model", "model-version", "batch-size", "url", "protocol", "header", "csv-file", "print-windows", "stop-when", "fail-on", "repeat")
	t.toggle("version", "", "print the version", func() { o.version = true })
	t.toggle("print-windows", "v", "print every window", func() { o.verbose++ })
	t.toggle("help", "h", "print the options", func() { o.help = true })
	t.MarkCommandLineOnly("version", "help")
}

func (o *options) addDeprecatedFlags(t table) {
	c := &o.config
	t.Group("")
	t.value("", "t", "<n>", "deprecated", func(text string) error {
		o.warnDeprecated("-t", "--concurrency-range")
		return o.setDeprecatedConcurrency(&o.concurrency.Start, "-t", text)
	})
	t.value("", "c", "<n>", "deprecated", func(text string) error {
		o.warnDeprecated("-c", "--concurrency-range")
		return o.setDeprecatedConcurrency(&o.concurrency.End, "-c", text)
	})
	t.toggle("", "d", "deprecated", func() { o.warnDeprecated("-d", "--concurrency-range") })
	t.toggle("", "z", "deprecated", func() {
		o.warnDeprecated("-z", "--input-data=zero")
		o.zeroInputs = true
		c.Data.Source = data.Zero
	})
	t.value("data-directory", "", "<dir>", "deprecated", func(text string) error {
		o.warnDeprecated("--data-directory", "--input-data")
		o.dataDirectory = true
		c.Data.Source = data.Files
		c.Data.Paths = append(c.Data.Paths, text)
		return nil
	})
}

// setDeprecatedConcurrency reads an end of the range of concurrencies. It chooses that load
// mode, but a later option may choose another one.
func (o *options) setDeprecatedConcurrency(to *float64, option, text string) error {
	if o.loadMode != "" {
		return fmt.Errorf("Cannot use both %s and DeprecatedConcurrency inference load modes.", o.loadMode)
	}
	n, err := integer(option, text)
	*to = float64(n)
	o.deprecatedMode = true
	return err
}

func (o *options) warnDeprecated(old, instead string) {
	o.warn(fmt.Sprintf("Warning: %s is deprecated and will be removed in an upcoming version. Use %s instead.", old, instead))
}
