package settings

import (
	"strings"
	"time"
)

// Option is one option by its names.
type Option struct {
	Key   string // in files
	Flag  string // on the command line, without dashes; empty: only files set it
	Short string // letter of the flag
	Group string // title in lists of options
	Usage string
	Value Value
}

// Options returns the options of p in the order of Model Analyzer's help. Their values are the
// fields of p.
func (p *Profile) Options() []Option {
	c, s, v, o, g := &p.Client, &p.Search, &p.Server, &p.Output, &p.Global
	const general, models, client, search, server, output = "General", "Models", "Load generator", "Search", "Server", "Results"
	yes, text := boolValue, textValue
	texts := func(to *[]string) Value { return textsValue{to} }
	from := func(low int, to *int) Value { return intValue(to, low, anyInt) }
	seconds := func(to *time.Duration) Value { return durationValue(to, time.Second, longest) }
	return []Option{
		{"config_file", "config-file", "f", general, "YAML file with options; the command line has precedence", text(&p.ConfigFile)},
		{"checkpoint_directory", "checkpoint-directory", "s", general, "folder to read and write checkpoints; its parent must exist", text(&p.CheckpointDirectory)},
		{"monitoring_interval", "monitoring-interval", "i", general, "seconds between metrics of devices and host", durationValue(&p.MonitoringInterval, time.Millisecond, time.Minute)},
		{"duration_seconds", "duration-seconds", "d", general, "seconds to sample the server without models", seconds(&p.IdleSampleTime)},
		{"collect_cpu_metrics", "collect-cpu-metrics", "", general, "measure the memory of the host", yes(&p.CollectCPUMetrics)},
		{"gpus", "gpus", "", general, "GPUs to use: all, [] for none, UUIDs, indices, UUIDs of MIG devices or index:gi:ci", texts(&p.GPUs)},
		{"always_report_gpu_metrics", "always-report-gpu-metrics", "", general, "report GPU metrics even if all models are cpu_only", yes(&p.AlwaysReportGPUMetrics)},
		{"dcgm_disable", "dcgm-disable", "", general, "do not ask for GPUs; needs launch mode remote", yes(&p.DCGMDisable)},
		{"skip_summary_reports", "skip-summary-reports", "", output, "write no summary reports", yes(&o.SkipSummary)},
		{"skip_detailed_reports", "skip-detailed-reports", "", output, "write no detailed reports; the command lines that write them are printed", yes(&o.SkipDetailed)},
		{"model_type", "model-type", "", general, "generic or LLM", choiceValue{&p.ModelType, []string{"generic", LLM}, map[string]string{"llm": LLM}}},

		{"model_repository", "model-repository", "m", models, "folder with the models; it is only read", text(&p.ModelRepository)},
		{"output_model_repository_path", "output-model-repository-path", "", models, "folder for the generated configurations; it must not exist", text(&p.OutputModelRepository)},
		{"override_output_model_repository", "override-output-model-repository", "", models, "delete the folder for the generated configurations if it exists", yes(&p.OverrideOutput)},

		{"client_max_retries", "client-max-retries", "r", client, "how often to ask whether a server is ready, once per second", from(1, &c.MaxRetries)},
		{"client_protocol", "client-protocol", "", client, "protocol of the requests", choiceValue{&c.Protocol, []string{"http", "grpc"}, nil}},

		{"profile_models", "profile-models", "", models, "models to profile; the file may give options for each", modelsValue(&p.Models)},
		{"batch_sizes", "batch-sizes", "b", client, "batch sizes of requests, such as 1,8 or 1:16:5", intsValue{&g.BatchSizes}},
		{"concurrency", "concurrency", "c", client, "numbers of requests in flight to measure, such as 1,8 or 2:16:2", intsValue{&g.Concurrency}},
		{"request_rate", "request-rate", "", client, "requests per second to measure; excludes concurrency", intsValue{&g.RequestRate}},
		{"reload_model_disable", "reload-model-disable", "", models, "in launch mode remote, measure what is loaded and load nothing", yes(&p.ReloadModelDisable)},
		{"bls_composing_models", "bls-composing-models", "", models, "models that the profiled BLS model calls", modelsValue(&p.BLSComposing)},
		{"ensemble_composing_models", "ensemble-composing-models", "", models, "models of the profiled ensemble that get options", modelsValue(&p.EnsembleComposing)},
		{"cpu_only_composing_models", "cpu-only-composing-models", "", models, "models of the ensemble or BLS model that run on the CPU", texts(&p.CPUOnlyComposing)},

		{"perf_analyzer_timeout", "perf-analyzer-timeout", "", client, "seconds until a measurement is given up", seconds(&c.Timeout)},
		{"perf_analyzer_cpu_util", "perf-analyzer-cpu-util", "", client, "CPU utilization at which the load generator is stopped, in percent of one CPU (default 80 for each CPU)", floatValue(&c.CPUUtilization)},
		{"perf_analyzer_path", "perf-analyzer-path", "", client, "perf_analyzer to use instead of our own load generator", text(&c.Path)},
		{"perf_output", "perf-output", "", client, "print the output of the load generator", yes(&c.Output)},
		{"perf_output_path", "perf-output-path", "", client, "append the output of the load generator to this file", text(&c.OutputPath)},
		{"perf_analyzer_max_auto_adjusts", "perf-analyzer-max-auto-adjusts", "", client, "how often a measurement is repeated with longer windows", from(1, &c.MaxAutoAdjusts)},

		{"triton_launch_mode", "triton-launch-mode", "", server, "how servers are started", choiceValue{&v.LaunchMode, []string{Local, Docker, Remote, CAPI}, nil}},
		{"triton_docker_image", "triton-docker-image", "", server, "image for launch mode docker", text(&v.DockerImage)},
		{"triton_http_endpoint", "triton-http-endpoint", "", server, "HTTP address of the server", text(&v.HTTPEndpoint)},
		{"triton_grpc_endpoint", "triton-grpc-endpoint", "", server, "gRPC address of the server", text(&v.GRPCEndpoint)},
		{"triton_metrics_url", "triton-metrics-url", "", server, "URL of the server's metrics", text(&v.MetricsURL)},
		{"triton_server_path", "triton-server-path", "", server, "tritonserver to use instead of our own server", text(&v.Path)},
		{"triton_output_path", "triton-output-path", "", server, "file for the log of the servers", text(&v.OutputPath)},
		{"triton_docker_mounts", "triton-docker-mounts", "", server, "mounts for launch mode docker: host:destination:mode", texts(&v.DockerMounts)},
		{"triton_docker_shm_size", "triton-docker-shm-size", "", server, "size of /dev/shm for launch mode docker, such as 1g", text(&v.DockerShmSize)},
		{"triton_install_path", "triton-install-path", "", server, "folder of Triton's library for launch mode c_api", text(&v.InstallPath)},

		{"early_exit_enable", "early-exit-enable", "", search, "end a search at a plateau even if the values are listed", yes(&s.EarlyExit)},
		{"run_config_search_max_concurrency", "run-config-search-max-concurrency", "", search, "highest concurrency to search", from(1, &s.Concurrency.Max)},
		{"run_config_search_min_concurrency", "run-config-search-min-concurrency", "", search, "lowest concurrency to search", from(1, &s.Concurrency.Min)},
		{"run_config_search_max_request_rate", "run-config-search-max-request-rate", "", search, "highest request rate to search", from(1, &s.RequestRate.Max)},
		{"run_config_search_min_request_rate", "run-config-search-min-request-rate", "", search, "lowest request rate to search", from(1, &s.RequestRate.Min)},
		{"run_config_search_max_instance_count", "run-config-search-max-instance-count", "", search, "highest number of instances to search", intValue(&s.InstanceCount.Max, 1, 4096)},
		{"run_config_search_min_instance_count", "run-config-search-min-instance-count", "", search, "lowest number of instances to search", intValue(&s.InstanceCount.Min, 1, 4096)},
		{"run_config_search_max_model_batch_size", "run-config-search-max-model-batch-size", "", search, "highest max_batch_size to search", from(1, &s.ModelBatchSize.Max)},
		{"run_config_search_min_model_batch_size", "run-config-search-min-model-batch-size", "", search, "lowest max_batch_size to search", from(1, &s.ModelBatchSize.Min)},
		{"run_config_search_max_binary_search_steps", "run-config-search-max-binary-search-steps", "", search, "steps between two loads to find the limit of a constraint", intValue(&s.MaxBinarySearchSteps, 0, 64)},
		{"min_percentage_of_search_space", "min-percentage-of-search-space", "", search, "least share of the search space that optuna measures", intValue(&s.PercentageOfSpace.Min, 1, 100)},
		{"max_percentage_of_search_space", "max-percentage-of-search-space", "", search, "largest share of the search space that optuna measures", intValue(&s.PercentageOfSpace.Max, 1, 100)},
		{"optuna_min_trials", "optuna-min-trials", "", search, "least number of trials of optuna; if not set, the percentage counts", from(1, &s.Trials.Min)},
		{"optuna_max_trials", "optuna-max-trials", "", search, "largest number of trials of optuna; if not set, the percentage counts", from(1, &s.Trials.Max)},
		{"optuna_early_exit_threshold", "optuna-early-exit-threshold", "", search, "trials of optuna without a better one after which it ends", from(1, &s.EarlyExitThreshold)},
		{"use_concurrency_formula", "use-concurrency-formula", "", search, "optuna: concurrency is 2 x instances x max_batch_size rather than searched", yes(&s.UseConcurrencyFormula)},
		{"run_config_search_mode", "run-config-search-mode", "", search, "search: brute, quick, optuna (aliases bayesian, tpe), planned (our own), or manual for the listed values only", searchModeValue{s}},
		{"run_config_search_disable", "run-config-search-disable", "", search, "measure the listed values only", yes(&s.Disable)},
		{"run_config_profile_models_concurrently_enable", "run-config-profile-models-concurrently-enable", "", search, "profile all models at the same time", yes(&s.ConcurrentModels)},
		{"request_rate_search_enable", "request-rate-search-enable", "", search, "search over request rates rather than concurrencies", yes(&s.RequestRateSearch)},
		{"concurrency_sweep_disable", "concurrency-sweep-disable", "", search, "no sweep over loads after quick and optuna", yes(&s.ConcurrencySweepDisable)},

		{"export_path", "export-path", "e", output, "folder for results; its parent must exist", text(&o.ExportPath)},
		{"filename_model_inference", "filename-model-inference", "", output, "file for the metrics of models", text(&o.FilenameInference)},
		{"filename_model_gpu", "filename-model-gpu", "", output, "file for the metrics of GPUs", text(&o.FilenameGPU)},
		{"filename_server_only", "filename-server-only", "", output, "file for the metrics of the server without models", text(&o.FilenameServerOnly)},
		{"num_configs_per_model", "num-configs-per-model", "", output, "best variants of each model in sweeps and reports", from(1, &o.ConfigsPerModel)},
		{"num_top_model_configs", "num-top-model-configs", "", output, "best variants in a comparison of all models; needs global constraints", from(0, &o.TopConfigs)},
		{"inference_output_fields", "inference-output-fields", "", output, "columns of the metrics of models", texts(&o.InferenceFields)},
		{"gpu_output_fields", "gpu-output-fields", "", output, "columns of the metrics of GPUs", texts(&o.GPUFields)},
		{"server_output_fields", "server-output-fields", "", output, "columns of the metrics of the server without models", texts(&o.ServerFields)},
		{"latency_budget", "latency-budget", "", models, "highest p99 latency of all models, in milliseconds", optionalInt(&p.LatencyBudget)},
		{"min_throughput", "min-throughput", "", models, "least throughput of all models, in inferences per second", optionalInt(&p.MinThroughput)},

		{Key: "perf_analyzer_flags", Group: client, Usage: "flags of the load generator", Value: flagsValue{&g.PerfFlags, perfFlags}},
		{Key: "genai_perf_flags", Group: client, Usage: "flags of genai-perf, for model_type LLM: streaming, endpoint, service-kind, url and random-seed count", Value: flagsValue{&g.GenAIPerfFlags, genAIPerfFlags}},
		{Key: "triton_server_flags", Group: server, Usage: "flags of the servers", Value: flagsValue{&g.ServerFlags, serverFlags}},
		{Key: "triton_server_environment", Group: server, Usage: "environment variables of the servers", Value: mapValue{&g.ServerEnvironment}},
		{Key: "triton_docker_args", Group: server, Usage: "arguments of containers for launch mode docker", Value: dockerValue{&g.DockerArgs}},
		{Key: "triton_docker_labels", Group: server, Usage: "labels of containers for launch mode docker", Value: mapValue{&v.DockerLabels}},
		{Key: "objectives", Group: models, Usage: "metrics to optimize, with their weights", Value: objectivesValue{&g.Objectives}},
		{Key: "constraints", Group: models, Usage: "bounds of metrics", Value: constraintsValue{&g.Constraints}},
		{Key: "weighting", Group: models, Usage: "an error here; models have weights", Value: intValue(&p.weighting, 0, anyInt)},
		{Key: "plots", Group: output, Usage: "ignored: profile has diagrams of its own; for report", Value: ignoredValue{}},

		// Not in Model Analyzer.
		{"seed", "seed", "", search, "seed of random choices of optuna", int64Value(&s.Seed)},
		{"unbounded", "unbounded", "", search, "quick: go beyond the default limits of instances, batch sizes and concurrency", yes(&s.Unbounded)},
		{"search_dimensions", "search-dimensions", "", search, "planned: search " + strings.Join(Dimensions(), ", ") + " too, which takes about twice the measurements", texts(&s.Dimensions)},
		{"cost_curve", "cost-curve", "", search, "planned: files with the durations of batches, as for --curve of triton analyze simulate; trials are predicted from them", texts(&s.CostCurve)},
		{"budget", "budget", "", search, "end the search after this time, in seconds or with a unit: 30m", durationValue(&p.Budget, time.Second, longest)},
		{"memory_interval", "memory-interval", "", general, "time between readings of GPU memory, in seconds or with a unit", durationValue(&p.MemoryInterval, time.Millisecond, time.Minute)},
		{"strict", "strict", "", output, "exit with code 2 if no variant of a model satisfies its constraints", yes(&p.Strict)},
	}
}

// ignoredValue is a value that only the other subcommand uses.
type ignoredValue struct{}

// Set reports that the command line has no such option.
func (ignoredValue) Set(string) error { return errFileOnly }
func (ignoredValue) String() string   { return "" }

// Type returns the type of the value.
func (ignoredValue) Type() string { return "mapping" }
func (ignoredValue) decode(field) {}

// Options returns the options of r. Their values are the fields of r.
func (r *Report) Options() []Option {
	const general = "General"
	return []Option{
		{"config_file", "config-file", "f", general, "YAML file with options; the command line has precedence", textValue(&r.ConfigFile)},
		{"checkpoint_directory", "checkpoint-directory", "s", general, "folder with the checkpoint of a profile", textValue(&r.CheckpointDirectory)},
		{"export_path", "export-path", "e", general, "folder for reports; it must exist", textValue(&r.ExportPath)},
		{"report_model_configs", "report-model-configs", "n", general, "variants to report, such as resnet_config_3; the file may give plots for each", reportConfigsValue(&r.Configs)},
		{"output_formats", "output-formats", "o", general, "formats of reports, in addition to html: pdf, csv, png, svg, json", choicesValue{&r.OutputFormats, []string{"pdf", "csv", "png", "svg", "json", "html"}}},
		{Key: "plots", Group: general, Usage: "diagrams of variants that have none of their own", Value: plotsValue{&r.Plots}},
		{"always_report_gpu_metrics", "always-report-gpu-metrics", "", general, "report GPU metrics even if the model is cpu_only", boolValue(&r.AlwaysReportGPUMetrics)},
	}
}

// searchModeValue is the search mode. "manual" is brute with the search disabled.
type searchModeValue struct{ of *Search }

func (v searchModeValue) choice(to *string) choiceValue {
	return choiceValue{to, []string{Brute, Quick, Optuna, Planned, "manual"}, map[string]string{"bayesian": Optuna, "tpe": Optuna}}
}

func (v searchModeValue) keep(mode string) {
	if mode == "manual" {
		v.of.Mode, v.of.manual = Brute, true
	} else if mode != "" {
		v.of.Mode, v.of.manual = mode, false
	}
}

// Set reads a mode.
func (v searchModeValue) Set(text string) error {
	var mode string
	err := v.choice(&mode).Set(text)
	v.keep(mode)
	return err
}
func (v searchModeValue) String() string { return v.of.Mode }

// Type returns the modes.
func (v searchModeValue) Type() string { return v.choice(nil).Type() }

func (v searchModeValue) decode(f field) {
	var mode string
	v.choice(&mode).decode(f)
	v.keep(mode)
}

// choicesValue is a list of names out of several.
type choicesValue struct {
	to      *[]string
	choices []string
}

func (v choicesValue) Set(text string) error {
	all := splitList(text)
	for i := range all {
		if err := (choiceValue{&all[i], v.choices, nil}).Set(all[i]); err != nil {
			return err
		}
	}
	*v.to = all
	return nil
}
func (v choicesValue) String() string { return textsValue{v.to}.String() }
func (v choicesValue) Type() string   { return "list" }
func (v choicesValue) decode(f field) {
	all := f.texts()
	for i := range all {
		if c := (choiceValue{&all[i], v.choices, nil}); !c.choose(all[i]) {
			f.fail("Value %q for field %q is not acceptable. Value should be one of the following values: \"['%s']\".",
				shorten(all[i]), f.name, joinQuoted(v.choices))
		}
	}
	*v.to = all
}

// profileKeys returns the keys of the options of profile.
func profileKeys() map[string]bool { return keys(NewProfile().Options()) }

// reportKeys returns the keys of the options of report.
func reportKeys() map[string]bool { return keys(NewReport().Options()) }

func keys(options []Option) map[string]bool {
	all := map[string]bool{}
	for _, o := range options {
		all[o.Key] = true
	}
	return all
}

// CommonOptions returns the options of all subcommands, which a file cannot set. Their values are
// the arguments.
func CommonOptions(mode *string, quiet, verbose *bool) []Option {
	return []Option{
		{Flag: "mode", Usage: "online (plots over latency) or offline (plots over batch size)", Value: choiceValue{mode, []string{Online, Offline}, nil}},
		{Flag: "quiet", Short: "q", Usage: "print errors only", Value: boolValue(quiet)},
		{Flag: "verbose", Short: "v", Usage: "print details, and the tables of results", Value: boolValue(verbose)},
	}
}

// OwnFlags returns the flags of profile that Model Analyzer does not have.
func OwnFlags() []string {
	return []string{"seed", "unbounded", "search-dimensions", "cost-curve", "budget", "memory-interval", "strict"}
}

// Columns returns the names that output fields may have, apart from backend_parameter/<key>.
func Columns() []string {
	return append([]string{
		"model_name", "gpu_uuid", "batch_size", "concurrency", "request_rate", "model_config_path", "instance_group",
		"max_batch_size", "satisfies_constraints",
	}, metricNames()...)
}
