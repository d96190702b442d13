package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/analyzer"
	"triton/analyzer/search"
	"triton/pkg/client"
)

// Exit codes of analyze beside the common ones.
const (
	analyzeNoServer    = 4
	analyzeInterrupted = 130
)

// analyzeFlags are the flags of analyze as they are written.
type analyzeFlags struct {
	config                           string
	model                            string
	repositories                     []string
	instances, batches, concurrency  string
	budget, headroom, tolerance      float64
	memory                           string
	output, csv, json                string
	protocol                         string
	interval, stability, stringChars int
	trials                           int
	shapes                           []string
	data                             []string
	serve                            []string
	wait                             int
}

func newAnalyzeCommand(w World) *cobra.Command {
	f := &analyzeFlags{}
	cmd := &cobra.Command{
		Use:   "analyze -m MODEL --model-repository DIR [flags]",
		Short: "Find out how many instances of a model to serve, and what they cost",
		Long: `Start a server for each instance count over a copy of the model's
configuration, measure it at each batch size and concurrency, read its memory,
and recommend a setting. The model repository is only read.

Numbers are given as lists and ranges: 1,4,8 or 1:4 or 2:8:2.

Exit codes: 0 a setting is recommended, 1 none keeps the limits or something
failed, 2 wrong command line, 4 no server could be started, 130 interrupted
(what was measured until then is still reported).`,
		Example: `  triton analyze -m resnet50 --model-repository models/
  triton analyze -m text_classifier --model-repository models/ --shape input_ids:128 \
    --shape attention_mask:128 --instance-counts 1:4 --concurrency 1,8,32 --latency-budget 50`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unexpected argument %q", args[0])
			}
			return nil
		},
	}
	f.define(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := settleCommand(w, cmd, f.config); err != nil {
			return err
		}
		if f.model == "" || len(f.repositories) == 0 {
			return usageError("analyze takes -m MODEL and --model-repository DIR")
		}
		a, err := f.finish()
		if err != nil {
			return &exitError{exitUsage, err}
		}
		return runAnalyze(cmd.Context(), w, a)
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &exitError{exitUsage, suggest(cmd, err)} })
	return cmd
}

func (f *analyzeFlags) define(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVarP(&f.model, "model", "m", "", "the model to analyze; required")
	set.StringSliceVar(&f.repositories, "model-repository", nil, "folder that has it; may be repeated; required")
	set.StringVar(&f.instances, "instance-counts", "1,2", "instance counts to try")
	set.StringVarP(&f.batches, "batch-sizes", "b", "1", "batch sizes of the requests")
	set.StringVar(&f.concurrency, "concurrency", "1,2,4", "numbers of requests in flight")
	set.Float64Var(&f.budget, "latency-budget", 0, "highest p99 latency to recommend, in milliseconds; 0 for any")
	set.StringVar(&f.memory, "memory", "", "memory that the server may use, such as 8GiB (default: all of this machine, its control group, or its GPUs)")
	set.Float64Var(&f.headroom, "memory-headroom", 5, "percent of the memory to keep free")
	set.Float64Var(&f.tolerance, "tolerance", 5, "percent of the best throughput to give up for fewer instances")
	set.StringVar(&f.output, "output-directory", "analyze-results", "folder for the recommended <model>/config.pbtxt")
	set.StringVarP(&f.csv, "csv", "f", "", "write the settings to this file as CSV")
	set.StringVar(&f.json, "json", "", "write everything to this file as JSON")
	set.StringVarP(&f.protocol, "protocol", "i", "grpc", "protocol of the requests, http or grpc")
	set.IntVarP(&f.interval, "measurement-interval", "p", 1000, "length of a measurement window in milliseconds; longer ones are used for slow models")
	set.IntVarP(&f.stability, "stability-percentage", "s", 10, "how far three windows in a row may lie apart")
	set.IntVarP(&f.trials, "max-trials", "r", 10, "windows to try at each setting")
	set.StringArrayVar(&f.shapes, "shape", nil, "shape of an input with variable dimensions, NAME:D1,D2; may be repeated")
	set.StringArrayVar(&f.data, "input-data", nil, "random, zero, a JSON file (may be repeated) or a directory (default random)")
	set.IntVar(&f.stringChars, "string-length", 128, "length of random strings")
	set.StringArrayVar(&f.serve, "server-flag", nil, "flag for the servers, such as backend-config=onnxruntime,intra_op_thread_count=1; may be repeated")
	set.IntVar(&f.wait, "load-timeout", 120, "seconds that a server may take to start")
	set.StringVar(&f.config, "config", "", "file with settings: flag names as keys, in YAML, JSON or TOML")
}

// analysis is what the flags ask for.
type analysis struct {
	analyzer.Config
	load              perfSettings
	output, csv, json string
	serve             []string
	wait              time.Duration
}

// finish reads what the flags say and returns everything that is wrong.
func (f *analyzeFlags) finish() (*analysis, error) {
	a := &analysis{
		Config: analyzer.DefaultConfig(f.model), load: *newPerfSettings(),
		output: f.output, csv: f.csv, json: f.json, wait: time.Duration(f.wait) * time.Second,
	}
	var errs []error
	list := func(flag, text string) []int {
		numbers, err := search.ParseList(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
			return []int{1}
		}
		return numbers
	}
	a.Repositories = f.repositories
	a.Space = search.Space{
		Instances:     list("instance-counts", f.instances),
		Batches:       list("batch-sizes", f.batches),
		Concurrencies: list("concurrency", f.concurrency),
	}
	a.LatencyBudget = time.Duration(f.budget * float64(time.Millisecond))
	a.Headroom, a.Tolerance = f.headroom/100, f.tolerance/100
	var err error
	if a.Memory, err = parseSize(f.memory); err != nil {
		errs = append(errs, fmt.Errorf("--memory: %w", err))
	}
	if f.wait < 1 {
		errs = append(errs, fmt.Errorf("--load-timeout: %d is less than 1", f.wait))
	}
	for _, flag := range f.serve {
		a.serve = append(a.serve, "--"+strings.TrimLeft(flag, "-"))
	}
	errs = append(errs, f.finishLoad(&a.load), a.Validate())
	return a, errors.Join(errs...)
}

// finishLoad reads the flags that analyze shares with perf.
func (f *analyzeFlags) finishLoad(s *perfSettings) error {
	var errs []error
	c := &s.config
	c.Model, c.Data.StringLength = f.model, f.stringChars
	c.Interval, c.MaxTrials = time.Duration(f.interval)*time.Millisecond, f.trials
	c.Stability = float64(f.stability) / 100
	if f.interval < 1 || f.trials < 1 || f.stability < 0 {
		errs = append(errs, errors.New("the measurement interval and the trials must be at least 1, the stability percentage at least 0"))
	}
	var err error
	if s.client.Protocol, err = client.ParseProtocol(f.protocol); err != nil {
		errs = append(errs, err)
	}
	for _, text := range f.shapes {
		errs = append(errs, s.shape(occurrence{&option{long: "shape"}, text}))
	}
	for _, text := range f.data {
		errs = append(errs, s.inputData(occurrence{&option{long: "input-data"}, text}))
	}
	return errors.Join(errs...)
}

// parseSize reads a number of bytes with a unit: GiB, MiB, KiB or their first
// letters, GB, MB, kB. An empty text is 0.
func parseSize(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	number := strings.TrimRight(text, "KMGTkmgtiB ")
	unit := strings.TrimSpace(text[len(number):])
	factor, ok := map[string]float64{
		"": 1, "B": 1,
		"K": 1 << 10, "KiB": 1 << 10, "kB": 1e3, "KB": 1e3,
		"M": 1 << 20, "MiB": 1 << 20, "MB": 1e6,
		"G": 1 << 30, "GiB": 1 << 30, "GB": 1e9,
		"T": 1 << 40, "TiB": 1 << 40, "TB": 1e12,
	}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(v*factor >= 1 && v*factor < 1<<62) {
		return 0, fmt.Errorf("%q is not a size such as 8GiB or 512MiB", text)
	}
	return uint64(v * factor), nil
}

// suggest adds the nearest flag to an error about an unknown one.
func suggest(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := closest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
	}
	return fmt.Errorf("unknown flag --%s", name)
}
