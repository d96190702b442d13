package analyze

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triton/analyzer/memory"
	"triton/cmd/cli/flags"
	perfcmd "triton/cmd/cli/perf"
	"triton/perf"
	"triton/pkg/client"
)

// arguments holds the values of the flags before they are parsed.
type arguments struct {
	config                          string
	model                           string
	repositories                    []string
	instances, batches, concurrency string
	tolerance, gain                 float64
	memory, headroom                string
	devices                         []string
	maxInstances                    int
	noVerify, quick                 bool
	budget, stress                  time.Duration
	directory, csv, json            string
	result                          flags.Output
	protocol                        string
	interval, latency, wait         time.Duration
	stability, stringChars          int
	trials                          int
	shapes                          []string
	data                            []string
	configName                      string
	backendConfig                   []string
	strict                          bool
	serve                           []string
}

func (a *arguments) bind(f *flags.Set) {
	f.SortFlags = false
	f.StringVarP(&a.model, "model", "m", "", "model to analyze; required")
	f.StringSliceVar(&a.repositories, "model-repository", nil, "folder with the model; may be repeated; required")
	f.BoolVar(&a.quick, "quick", false, "answer within a minute: instance counts 1, 2 and the processors, short windows and stress, one repeat")
	f.StringVar(&a.instances, "instance-counts", "", "instance counts to try (default 1,2,4); more are added where the answer needs them")
	f.StringVarP(&a.batches, "batch-sizes", "b", "1", "batch sizes of the requests")
	f.StringVar(&a.concurrency, "concurrency", "1,2,4", "numbers of requests in flight")
	f.Var(flags.Duration(&a.latency, 0, time.Millisecond), "latency-budget", "highest p99 latency to recommend, in milliseconds or with a unit: 500us; 0 is no limit")
	f.StringVar(&a.memory, "memory", "", "memory that the server may use on the host, or on each GPU, such as 8GiB (default: what is available)")
	f.StringVar(&a.headroom, "memory-headroom", "", "memory to keep free, in percent or as a size: 10, 10%, 1GiB (default: 5 %, at least 256 MiB)")
	f.StringSliceVar(&a.devices, "device", nil, "UUID or number of a GPU, or UUID of a MIG instance, that counts; may be repeated (default: all that CUDA shows)")
	f.IntVar(&a.maxInstances, "max-instances", 0, "largest instance count to recommend; 0 is no limit")
	f.Float64Var(&a.gain, "min-gain", 5, "percent by which more instances must raise the throughput to be of use; 0: as many as memory holds")
	f.Float64Var(&a.tolerance, "tolerance", 5, "percent of the best throughput to give up for a smaller batch")
	f.BoolVar(&a.noVerify, "no-verify", false, "do not run the number of instances that memory is predicted to hold")
	f.Var(flags.Duration(&a.budget, 0, time.Second), "budget", "time after which no further server is started, in seconds or with a unit: 10m; 0 is no limit")
	f.Var(flags.Duration(&a.stress, 3*time.Second, time.Second), "stress-time", "least time that all instances of a server run at once, in seconds or with a unit")
	f.StringVar(&a.directory, "output-directory", "analyze-results", "folder for the recommended <model>/config.pbtxt")
	a.result.Bind(f, flags.Forms())
	f.StringVarP(&a.csv, "csv", "f", "", "write one row for each setting to this file as CSV; the same as -o with --output csv")
	f.StringVar(&a.json, "json", "", "write all results to this file as JSON; the same as -o with --output json")
	f.StringVarP(&a.protocol, "protocol", "i", "grpc", "protocol of the requests, http or grpc")
	f.VarP(flags.Duration(&a.interval, time.Second, time.Millisecond), "measurement-interval", "p", "length of a window, in milliseconds or with a unit: 5s; slow models get longer windows")
	f.IntVarP(&a.stability, "stability-percentage", "s", 10, "maximum spread of three consecutive windows, in percent")
	f.IntVarP(&a.trials, "max-trials", "r", 10, "maximum number of windows at each setting")
	f.StringArrayVar(&a.shapes, "shape", nil, "shape of an input with variable dimensions, NAME:D1,D2; may be repeated")
	f.StringArrayVar(&a.data, "input-data", nil, "random, zero, a JSON file (may be repeated) or a folder (default random)")
	f.IntVar(&a.stringChars, "string-length", 128, "length of random strings")
	f.StringVar(&a.configName, "model-config-name", "", "the servers' model-config-name: they and the analysis read this file in the model's folder configs, if it is there")
	f.StringArrayVar(&a.backendConfig, "backend-config", nil, "the servers' backend-config, <backend>,<setting>=<value> or <setting>=<value>; may be repeated")
	f.BoolVar(&a.strict, "disable-auto-complete-config", false, "the servers do not complete the configuration")
	f.StringArrayVar(&a.serve, "server-flag", nil, "flag for the servers, such as backend-config=onnxruntime,intra_op_thread_count=1; may be repeated")
	f.Var(flags.Duration(&a.wait, 2*time.Minute, time.Second), "load-timeout", "time that a server may take to start, in seconds or with a unit: 5m")
	f.StringVar(&a.config, "config", "", "file with settings in YAML, JSON or TOML; its keys are flag names")
}

// complete tells shells what the arguments of the flags are.
func (a *arguments) complete(f *flags.Set, cmd *cobra.Command) {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	flags.CompleteFolders(cmd, "model-repository", "output-directory")
	functions := map[string]flags.Completion{
		"model": func(*cobra.Command, string) []string {
			repositories := a.repositories
			if _, folder := f.Variable("model-repository"); len(repositories) == 0 && folder != "" {
				repositories = []string{folder}
			}
			return flags.RepositoryModels(repositories)
		},
		"protocol": flags.CompleteValues("http", "grpc"),
		"output":   flags.CompleteValues(strings.Fields(flags.FormNames(flags.Forms(), " "))...),
	}
	for _, name := range []string{
		"model-config-name", "backend-config",
		"instance-counts", "batch-sizes", "concurrency", "latency-budget", "memory", "memory-headroom", "device", "max-instances",
		"min-gain", "tolerance", "budget", "stress-time",
		"measurement-interval", "stability-percentage", "max-trials", "shape", "string-length", "server-flag", "load-timeout",
	} {
		functions[name] = flags.CompleteNothing
	}
	flags.Complete(cmd, functions)
}

// options holds the parsed arguments.
type options struct {
	memory.Config
	load      perf.Config // each measurement sets model, batch and concurrency
	client    client.Options
	directory string // for the configuration
	targets   flags.OutputTargets
	serve     []string
	wait      time.Duration
}

// options parses the arguments. The error joins all mistakes.
func (a *arguments) options() (*options, error) {
	o := &options{
		Config: memory.DefaultConfig(a.model), load: perf.DefaultConfig(""),
		directory: a.directory, wait: a.wait,
	}
	var errs []error
	list := func(flag, text string) []int {
		numbers, err := memory.ParseList(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
			return []int{1}
		}
		return numbers
	}
	o.Repositories = a.repositories
	o.Space = memory.Space{
		Batches:       list("batch-sizes", a.batches),
		Concurrencies: list("concurrency", a.concurrency),
	}
	if a.instances != "" {
		o.Space.Instances = list("instance-counts", a.instances)
	}
	o.LatencyBudget, o.Tolerance, o.Devices, o.Shapes = a.latency, a.tolerance/100, a.devices, a.shapes
	f := &o.Footprint
	o.StressTime, f.Times.Idle = a.stress, min(f.Times.Idle, a.stress)
	f.MaxInstances, f.MinGain, f.Verify, f.Budget, f.Processors = a.maxInstances, a.gain/100, !a.noVerify, a.budget, runtime.GOMAXPROCS(0)
	if a.quick {
		f.Quick, f.Repeats, f.Verify, f.Times.Idle = true, 1, false, quickIdle
	}
	var err error
	if f.Headroom, err = flags.Headroom(a.headroom); err != nil {
		errs = append(errs, fmt.Errorf("--memory-headroom: %w", err))
	}
	if a.maxInstances < 0 || a.gain < 0 || a.budget < 0 || a.stress < 0 {
		errs = append(errs, errors.New("--max-instances, --min-gain, --budget and --stress-time must not be negative"))
	}
	if o.Memory, err = flags.Size(a.memory); err != nil {
		errs = append(errs, fmt.Errorf("--memory: %w", err))
	}
	if a.wait <= 0 {
		errs = append(errs, fmt.Errorf("--load-timeout: %s is not greater than 0", a.wait))
	}
	errs = append(errs, a.outputs(o))
	a.serverFlags(o)
	errs = append(errs, a.loadOptions(o), o.Validate())
	return o, errors.Join(errs...)
}

// Defaults of --quick in place of the usual ones.
const (
	quickInterval = 300 * time.Millisecond
	quickTrials   = 5
	quickStress   = time.Second
	quickIdle     = 500 * time.Millisecond
	quickTime     = 1500 * time.Millisecond // of a load with few requests in a window,
	quickRounds   = 8                       // and how often each connection has an answer at least
)

// shorten gives the flags that were not set the defaults of --quick.
func (a *arguments) shorten(changed func(flag string) bool) {
	if !a.quick {
		return
	}
	if !changed("instance-counts") {
		a.instances = fmt.Sprintf("1,2,%d", runtime.GOMAXPROCS(0))
	}
	if !changed("measurement-interval") {
		a.interval = quickInterval
	}
	if !changed("max-trials") {
		a.trials = quickTrials
	}
	if !changed("stress-time") {
		a.stress = quickStress
	}
}

// serverFlags collects the flags of the servers. The analysis reads the model's configuration as they do.
func (a *arguments) serverFlags(o *options) {
	if a.configName != "" {
		o.serve = append(o.serve, "--model-config-name="+a.configName)
	}
	for _, setting := range a.backendConfig {
		o.serve = append(o.serve, "--backend-config="+setting)
	}
	if a.strict {
		o.serve = append(o.serve, "--disable-auto-complete-config")
	}
	for _, flag := range a.serve {
		o.serve = append(o.serve, "--"+strings.TrimLeft(flag, "-"))
	}
	for _, flag := range o.serve {
		if name, ok := strings.CutPrefix(flag, "--model-config-name="); ok {
			o.ConfigName = name
		}
	}
}

// outputs collects the places that the result is written to.
func (a *arguments) outputs(o *options) (err error) {
	if o.targets, err = a.result.Targets(flags.Forms()); err != nil {
		return err
	}
	for _, t := range []flags.OutputTarget{{Form: flags.CSVForm.Name, File: a.csv}, {Form: flags.JSONForm.Name, File: a.json}} {
		if t.File != "" {
			o.targets = append(o.targets, t)
		}
	}
	return nil
}

// loadOptions reads the flags that analyze shares with perf.
func (a *arguments) loadOptions(o *options) error {
	var errs []error
	c := &o.load
	c.Model, c.Data.StringLength = a.model, a.stringChars
	c.Interval, c.MaxTrials = a.interval, a.trials
	c.Stability = float64(a.stability) / 100
	if a.interval < time.Millisecond || a.trials < 1 || a.stability < 0 {
		errs = append(errs, errors.New("the measurement interval must be at least 1 ms, the trials at least 1, the stability percentage at least 0"))
	}
	var err error
	if o.client.Protocol, err = client.ParseProtocol(a.protocol); err != nil {
		errs = append(errs, err)
	}
	for _, text := range a.shapes {
		errs = append(errs, perfcmd.AddShape(&c.Data, text))
	}
	for _, text := range a.data {
		errs = append(errs, perfcmd.AddInputData(&c.Data, text))
	}
	return errors.Join(errs...)
}
