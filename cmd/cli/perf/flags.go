package perf

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
)

// options holds what a command line sets.
type options struct {
	config   perf.Config
	client   client.Options
	csv      string
	csvMore  bool
	verbose  int
	table    string
	help     bool
	version  bool
	warnings []string

	maxThreads        int // 0: not given
	metricsInterval   bool
	zero, directories bool // inputs of zeros, inputs from --data-directory
}

func newOptions() *options {
	o := &options{config: perf.DefaultConfig(""), table: "auto"}
	o.client.Headers = map[string]string{}
	return o
}

// flags returns perf_analyzer's options, each of which sets a field of o.
func (o *options) flags(p process.Process) *flags.Set {
	set := pflag.NewFlagSet("perf", pflag.ContinueOnError)
	set.SortFlags = false
	t := table{flags.New(p, "perf", set)}
	o.measurement(t)
	o.inputs(t)
	o.server(t)
	o.other(t)
	o.deprecated(t)
	return t.Set
}

func (o *options) measurement(t table) {
	c := &o.config
	t.Group("I. MEASUREMENT PARAMETERS")
	t.text(&c.Model, "", "m", "<model>", "the model to measure; required")
	t.text(&c.Version, "", "x", "<version>", "its version (the server's choice)")
	t.value("concurrency-range", "", "<start:end:step>", "concurrent requests to measure at; end 0 goes on to the latency threshold (1:1:1)", o.setConcurrency)
	t.value("measurement-mode", "", "<time_windows|count_windows>", "what bounds a window (time_windows)", o.setMode)
	t.milliseconds(&c.Interval, 1, "> 0 msec.", "measurement-interval", "p", "<msec>", "length of a time window; the real one is 1.2 times as long (5000)")
	t.integer(&c.Samples, 1, "> 0.", "measurement-request-count", "", "<n>", "requests in a count window (50)")
	t.value("stability-percentage", "s", "<percent>", "how far three windows in a row may lie apart (10)", o.setStability)
	t.integer(&c.MaxTrials, 1, "> 0.", "max-trials", "r", "<n>", "windows to try at each level (10)")
	t.value("percentile", "", "<1..99>", "judge and report this latency instead of the average (-1)", o.setPercentile)
	t.milliseconds(&c.LatencyLimit, 0, ">= 0 msecs.", "latency-threshold", "l", "<msec>", "stop at the first level that is slower (0, none)")
	t.toggle("binary-search", "", "find the highest concurrency within the latency threshold", func() { c.Search = perf.Binary })
	t.value("request-count", "", "<n>", "send so many requests and stop (0, off)", func(text string) error {
		n, err := atLeast(1, "> 0.", "request-count", "", text)
		c.RequestCount = cmp.Or(c.RequestCount, n) // the first one counts
		return err
	})
	t.integer(&c.WarmupCount, 0, ">= 0.", "warmup-request-count", "", "<n>", "requests to send before measuring (0)")
	t.toggle("async", "a", "judge stability as for asynchronous calls: the throughput alone will do", func() { c.Async = true })
	t.toggle("sync", "", "synchronous calls (this is the default)", func() { c.Sync = true })
	t.integer(&o.maxThreads, 1, "> 0.", "max-threads", "", "<n>", "accepted; each concurrent request has a goroutine of its own")
}

func (o *options) inputs(t table) {
	c, d := &o.config, &o.config.Data
	t.Group("II. INPUT DATA OPTIONS")
	t.value("", "b", "<n|list|range>", "batch size; a list 1,4,16 or a range 1:16 or 1:16:5 is swept (1)", func(text string) (err error) {
		c.Batches, err = batches(text)
		return err
	})
	t.value("input-data", "", "<random|zero|path>", "input data: a JSON file (may be repeated) or a directory (random)", func(text string) error {
		err := AddInputData(d, text)
		o.zero = o.zero || d.Source == data.Zero
		return err
	})
	t.value("shape", "", "<name:d1,d2>", "shape of an input with variable dimensions; may be repeated", func(text string) error {
		return AddShape(d, text)
	})
	t.integer(&d.StringLength, 1, "> 0", "string-length", "", "<n>", "length of random strings (128)")
	t.text(&d.StringData, "string-data", "", "<text>", "the string to send instead of random ones")
}

func (o *options) server(t table) {
	t.Group("III. SERVER DETAILS")
	t.text(&o.client.Address, "", "u", "<host:port>", "the server (localhost:8000, with gRPC localhost:8001)")
	t.value("", "i", "<http|grpc>", "protocol (http)", o.setProtocol)
	t.value("", "H", "<name:value>", "header or gRPC metadata to send along; may be repeated", o.addHeader)
	t.value("service-kind", "", "<triton>", "kind of server (triton)", func(text string) error {
		if text != "triton" {
			return fmt.Errorf("--service-kind %s is not supported yet, only triton", text)
		}
		return nil
	})
}

func (o *options) other(t table) {
	c := &o.config
	t.Group("IV. OTHER OPTIONS")
	t.text(&o.csv, "", "f", "<file>", "write a CSV report")
	t.toggle("verbose-csv", "", "more columns in it", func() { o.csvMore = true })
	t.toggle("collect-metrics", "", "read the server's GPU metrics during the measurement", func() { c.CollectMetrics = true })
	t.text(&c.MetricsURL, "metrics-url", "", "<url>", "where they are (port 8002 of the server, /metrics)")
	t.value("metrics-interval", "", "<msec>", "how often to read them (1000)", o.setMetricsInterval)
	t.value("table", "", "<auto|always|never>", "closing table; auto is on a terminal and for several batch sizes (auto)", o.setTable)
	t.value("config", "", "<file>", "file with settings: long options and their values", func(string) error { return nil }) // settings reads it
	t.MarkOwn("table", "config")
	t.toggle("version", "", "print the version", func() { o.version = true })
	t.toggle("", "v", "print every window", func() { o.verbose++ })
	t.toggle("help", "h", "print this", func() { o.help = true })
	t.MarkTyped("version", "help")
}

func (o *options) deprecated(t table) {
	c := &o.config
	t.Group("")
	t.value("", "t", "<n>", "deprecated", func(text string) (err error) {
		o.warnDeprecated("-t", "--concurrency-range")
		c.Concurrency.Start, err = integer("-t", text)
		return err
	})
	t.value("", "c", "<n>", "deprecated", func(text string) (err error) {
		o.warnDeprecated("-c", "--concurrency-range")
		c.Concurrency.End, err = integer("-c", text)
		return err
	})
	t.toggle("", "d", "deprecated", func() { o.warnDeprecated("-d", "--concurrency-range") })
	t.toggle("", "z", "deprecated", func() {
		o.warnDeprecated("-z", "--input-data=zero")
		o.zero = true
		c.Data.Source = data.Zero
	})
	t.value("data-directory", "", "<dir>", "deprecated", func(text string) error {
		o.warnDeprecated("--data-directory", "--input-data")
		o.directories = true
		c.Data.Source = data.Files
		c.Data.Paths = append(c.Data.Paths, text)
		return nil
	})
	t.unsupported()
}

func (o *options) warnDeprecated(old, instead string) {
	o.warnings = append(o.warnings, fmt.Sprintf("Warning: %s is deprecated and will be removed in an upcoming version. Use %s instead.", old, instead))
}
