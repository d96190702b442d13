package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// host is a machine with two CPUs and one program on its path.
var host = Host{CPUs: 2, LookPath: func(name string) (string, error) {
	if name == "perf_analyzer" {
		return "/usr/bin/perf_analyzer", nil
	}
	return "", os.ErrNotExist
}}

// folder makes a folder with an empty model repository "models" the working directory.
func folder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("models", 0o755))
}

// load loads options from flags, written as --name=value, and from a file, in the working directory.
func load(t *testing.T, file string, args ...string) (*Profile, error) {
	t.Helper()
	p := NewProfile()
	if file != "" {
		require.NoError(t, os.WriteFile("config.yaml", []byte(file), 0o600))
		args = append(args, "--config-file=config.yaml")
	}
	changed := map[string]bool{}
	for _, a := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !ok {
			value = "true"
		}
		changed[name] = true
		found := false
		for _, o := range append(p.Options(), p.RemovedFlags()...) {
			if o.Flag == name {
				found = true
				if err := o.Value.Set(value); err != nil {
					return p, err
				}
			}
		}
		require.True(t, found, "no flag --%s", name)
	}
	return p, p.Finish(host, func(name string) bool { return changed[name] })
}

// valid is load of options for which nothing is missing.
func valid(t *testing.T, file string, args ...string) *Profile {
	t.Helper()
	p, err := load(t, file, append(args, "--model-repository=models")...)
	require.NoError(t, err)
	return p
}

func TestDefaults(t *testing.T) {
	folder(t)
	p := valid(t, "", "--profile-models=a,b")
	want := NewProfile()
	assert.Equal(t, want.Search, p.Search)
	assert.Equal(t, want.Server, p.Server)
	assert.InDelta(t, 160, p.Client.CPUUtilization, 0, "80 % of each CPU")
	assert.Empty(t, p.Notices)
	assert.Equal(t, "model_name batch_size concurrency model_config_path instance_group max_batch_size satisfies_constraints perf_throughput perf_latency_p99",
		strings.Join(p.Output.InferenceFields, " "))
	require.Len(t, p.Models, 2)
	for i, name := range []string{"a", "b"} {
		m := p.Models[i]
		assert.Equal(t, name, m.Name)
		assert.Equal(t, []int{1}, m.BatchSizes)
		assert.Empty(t, m.Concurrency)
		assert.Equal(t, trial.Goal{Objectives: []trial.Objective{{Tag: trial.Throughput, Weight: 10}}, Weight: 1}, m.Goal)
		assert.False(t, m.CPUOnly)
		assert.Len(t, m.Parameters.Combinations(), 1)
	}
	for _, o := range p.Options() {
		assert.Equal(t, o.Flag == "profile-models" || o.Flag == "model-repository", p.IsSet(o.Key), o.Key)
	}
	assert.Panics(t, func() { p.IsSet("no_such_option") })
}

// TestEveryOption sets each option on the command line, in a file, and in both, where the command
// line wins.
func TestEveryOption(t *testing.T) {
	folder(t)
	require.NoError(t, os.WriteFile("tool", nil, 0o755))
	values := map[string][2]string{ // values that differ from the default and from each other
		"checkpoint_directory": {"c1", "c2"}, "monitoring_interval": {"0.5", "2.5"}, "duration_seconds": {"5", "7"},
		"gpus": {"0,1", "GPU-1"}, "model_type": {"LLM", "generic"}, "output_model_repository_path": {"o1", "o2"},
		"client_max_retries": {"9", "8"}, "client_protocol": {"http", "grpc"}, "batch_sizes": {"2,4", "8"},
		"concurrency": {"3", "4"}, "request_rate": {"30", "40"}, "bls_composing_models": {"x", "y"},
		"ensemble_composing_models": {"x", "y"}, "cpu_only_composing_models": {"x", "y"},
		"perf_analyzer_timeout": {"20", "30"}, "perf_analyzer_cpu_util": {"70.5", "50"}, "perf_analyzer_path": {"perf_analyzer", "perf_analyzer"},
		"perf_output_path": {"p1", "p2"}, "perf_analyzer_max_auto_adjusts": {"4", "5"},
		"triton_launch_mode": {"docker", "remote"}, "triton_docker_image": {"i1", "i2"}, "triton_http_endpoint": {"h:1", "h:2"},
		"triton_grpc_endpoint": {"g:1", "g:2"}, "triton_metrics_url": {"m1", "m2"}, "triton_server_path": {"s1", "s2"},
		"triton_output_path": {"o1", "o2"}, "triton_docker_mounts": {"/a:/b:ro", "/c:/d:rw"}, "triton_docker_shm_size": {"1g", "2g"},
		"triton_install_path":               {"/opt/1", "/opt/2"},
		"run_config_search_max_concurrency": {"64", "65"}, "run_config_search_min_concurrency": {"2", "3"},
		"run_config_search_max_request_rate": {"640", "650"}, "run_config_search_min_request_rate": {"20", "21"},
		"run_config_search_max_instance_count": {"6", "7"}, "run_config_search_min_instance_count": {"2", "3"},
		"run_config_search_max_model_batch_size": {"64", "32"}, "run_config_search_min_model_batch_size": {"2", "4"},
		"run_config_search_max_binary_search_steps": {"0", "7"},
		"min_percentage_of_search_space":            {"6", "7"}, "max_percentage_of_search_space": {"20", "30"},
		"optuna_min_trials": {"21", "22"}, "optuna_max_trials": {"100", "110"}, "optuna_early_exit_threshold": {"5", "6"},
		"run_config_search_mode": {"quick", "optuna"}, "export_path": {"e1", "e2"},
		"filename_model_inference": {"i1.csv", "i2.csv"}, "filename_model_gpu": {"g1.csv", "g2.csv"}, "filename_server_only": {"s1.csv", "s2.csv"},
		"num_configs_per_model": {"4", "5"}, "num_top_model_configs": {"0", "0"},
		"inference_output_fields": {"model_name", "batch_size"}, "gpu_output_fields": {"gpu_uuid", "model_name"},
		"server_output_fields": {"gpu_uuid", "model_name"}, "latency_budget": {"50", "60"}, "min_throughput": {"70", "80"},
		"seed": {"-5", "6"}, "budget": {"60", "70"}, "memory_interval": {"0.1", "0.2"},
		"search_dimensions": {"queue_delay", "threads"}, "cost_curve": {"a.json", "2@b.json"},
	}
	elsewhere := map[string]bool{"config_file": true, "model_repository": true, "profile_models": true}
	for _, o := range NewProfile().Options() {
		if o.Flag == "" || elsewhere[o.Key] {
			continue
		}
		pair, ok := values[o.Key]
		if o.Value.Type() == "bool" {
			pair, ok = [2]string{"true", "false"}, true
		}
		require.True(t, ok, "no test value for %s", o.Key)
		models := "--profile-models=a"
		read := func(file string, args ...string) string {
			if o.Key == "dcgm_disable" {
				args = append(args, "--triton-launch-mode=remote")
			}
			loaded := valid(t, file, append(args, models)...)
			assert.True(t, loaded.IsSet(o.Key), o.Key)
			return loaded.option(o.Key).Value.String()
		}
		assert.Equal(t, pair[0], read("", "--"+o.Flag+"="+pair[0]), "%s on the command line", o.Key)
		assert.Equal(t, pair[1], read(o.Key+": "+pair[1]), "%s in the file", o.Key)
		assert.Equal(t, pair[0], read(o.Key+": "+pair[1], "--"+o.Flag+"="+pair[0]), "%s in both", o.Key)
	}
}

// TestEmptyValuesCount: false, 0 and empty lists of the user replace defaults and values of files.
func TestEmptyValuesCount(t *testing.T) {
	folder(t)
	p := valid(t, "run_config_search_max_binary_search_steps: 0\ngpus: []\nprofile_models: [a]\nconcurrency: 4\ncollect_cpu_metrics: true\ntriton_http_endpoint: ''",
		"--collect-cpu-metrics=false", "--concurrency=")
	assert.Zero(t, p.Search.MaxBinarySearchSteps)
	assert.Empty(t, p.GPUs)
	assert.True(t, p.Models[0].CPUOnly, "there is no GPU")
	assert.False(t, p.CollectCPUMetrics)
	assert.Empty(t, p.Models[0].Concurrency)
	assert.Empty(t, p.Server.HTTPEndpoint)

	p = valid(t, "profile_models: [a]\nduration_seconds:\n")
	assert.Equal(t, 3*time.Second, p.IdleSampleTime, "null is absent")
	assert.False(t, p.IsSet("duration_seconds"))
}

func TestNumbers(t *testing.T) {
	folder(t)
	for text, want := range map[string][]int{
		"4": {4}, "[4, 1, 4]": {1, 4}, "'1,2'": {1, 2}, "{start: 2, stop: 8, step: 3}": {2, 5, 8},
		"{start: 1, stop: 3}": {1, 2, 3}, "{start: 5, stop: 5}": {5}, "['7', 2]": {2, 7}, "'2:6:2,1'": {1, 2, 4, 6}, "3:4": {3, 4}, "[]": {},
	} {
		p := valid(t, "profile_models: a\nconcurrency: "+text)
		assert.Equal(t, want, p.Models[0].Concurrency, text)
	}
}

func TestFormsOfModels(t *testing.T) {
	folder(t)
	for name, file := range map[string]string{
		"text":              "profile_models: a,b",
		"list":              "profile_models: [a, b]",
		"list with objects": "profile_models: [a, {b: {cpu_only: true}}]",
		"one object":        "profile_models: [{a: {}, b: }]",
		"mapping":           "profile_models: {a: {weighting: 1}, b: {cpu_only: false}}",
		"aliases":           "profile_models:\n  a: &x {cpu_only: true}\n  b: *x",
		"merge":             "profile_models:\n  a: &x {cpu_only: true}\n  b: {<<: *x, weighting: 2}",
	} {
		p := valid(t, file)
		require.Len(t, p.Models, 2, name)
		assert.Equal(t, "a", p.Models[0].Name, name)
		assert.Equal(t, "b", p.Models[1].Name, name)
	}
}

// TestFile is the file of all forms.
func TestFile(t *testing.T) {
	folder(t)
	require.NoError(t, os.Mkdir("out_repo", 0o755))
	p := valid(t, `
model_repository: models
output_model_repository_path: out_repo
override_output_model_repository: true
triton_launch_mode: local
run_config_search_mode: brute
constraints:
  perf_latency_p99: {max: 100}
  gpu_used_memory: {max: 8000}
objectives: [perf_throughput, gpu_used_memory]
profile_models:
  resnet:
    objectives: {perf_throughput: 10, perf_latency_p99: 5}
    parameters:
      batch_sizes: [1, 8]
      concurrency: {start: 2, stop: 16, step: 2}
    model_config_parameters:
      max_batch_size: [8, 16]
      instance_group:
        - kind: KIND_GPU
          count: [1, 2, 4]
      dynamic_batching:
        max_queue_delay_microseconds: [100, 500]
    perf_analyzer_flags:
      shape: ["INPUT0:3,224,224"]
      percentile: "95"
  tokenizer:
    cpu_only: true
    weighting: 2
`)
	resnet, tokenizer := p.Models[0], p.Models[1]
	at := func(x float64) *float64 { return &x }
	constraints := []trial.Constraint{{Tag: "perf_latency_p99", Max: at(100)}, {Tag: "gpu_used_memory", Max: at(8000)}}
	assert.Equal(t, trial.Goal{Objectives: []trial.Objective{{Tag: "perf_throughput", Weight: 10}, {Tag: "perf_latency_p99", Weight: 5}}, Constraints: constraints, Weight: 1}, resnet.Goal)
	assert.Equal(t, trial.Goal{Objectives: []trial.Objective{{Tag: "perf_throughput", Weight: 10}, {Tag: "gpu_used_memory", Weight: 10}}, Constraints: constraints, Weight: 2}, tokenizer.Goal)
	assert.Equal(t, []int{1, 8}, resnet.BatchSizes)
	assert.Equal(t, []int{2, 4, 6, 8, 10, 12, 14, 16}, resnet.Concurrency)
	assert.Equal(t, Flags{{"shape", []string{"INPUT0:3,224,224"}}, {"percentile", []string{"95"}}}, resnet.PerfFlags)
	assert.True(t, tokenizer.CPUOnly)
	assert.False(t, resnet.CPUOnly)

	combinations := resnet.Parameters.Combinations()
	require.Len(t, combinations, 12)
	group := func(count int64) []any {
		return []any{map[string]any{"kind": "KIND_GPU", "count": count}}
	}
	assert.Equal(t, trial.Patch{"max_batch_size": int64(8), "instance_group": group(1), "dynamic_batching": map[string]any{"max_queue_delay_microseconds": int64(100)}}, combinations[0])
	assert.Equal(t, trial.Patch{"max_batch_size": int64(8), "instance_group": group(1), "dynamic_batching": map[string]any{"max_queue_delay_microseconds": int64(500)}}, combinations[1], "the last key varies fastest")
	assert.Equal(t, trial.Patch{"max_batch_size": int64(16), "instance_group": group(4), "dynamic_batching": map[string]any{"max_queue_delay_microseconds": int64(500)}}, combinations[11])
	assert.True(t, resnet.Parameters.Has("instance_group"))
	assert.Len(t, resnet.Parameters.Without("max_batch_size", "instance_group").Combinations(), 2)
}

func TestFallBack(t *testing.T) {
	folder(t)
	p := valid(t, `
batch_sizes: [2, 4]
concurrency: 8
perf_analyzer_flags: {percentile: 95, streaming: true}
triton_server_flags: {log_verbose: 1}
triton_server_environment: {A: 1}
triton_launch_mode: docker
triton_docker_args: {privileged: true, cpu_count: 4, volumes: [a], name: n}
profile_models:
  all: {}
  own:
    parameters: {batch_sizes: 1}
    perf_analyzer_flags: {max-trials: 3}
    triton_server_flags: {backend-config: [a, b]}
    triton_server_environment: {B: 2}
    triton_docker_args: {}
    constraints: {}
`, "--latency-budget=20")
	all, own := p.Models[0], p.Models[1]
	assert.Equal(t, []int{2, 4}, all.BatchSizes)
	assert.Equal(t, []int{8}, all.Concurrency)
	assert.Equal(t, Flags{{"percentile", []string{"95"}}, {"streaming", []string{"true"}}}, all.PerfFlags)
	assert.Equal(t, Flags{{"log-verbose", []string{"1"}}}, all.ServerFlags)
	assert.Equal(t, map[string]string{"A": "1"}, all.ServerEnvironment)
	assert.Equal(t, map[string]any{"privileged": true, "cpu_count": int64(4), "volumes": []string{"a"}, "name": "n"}, all.DockerArgs)
	assert.Equal(t, []int{1}, own.BatchSizes)
	assert.Equal(t, []int{8}, own.Concurrency)
	assert.Equal(t, Flags{{"max-trials", []string{"3"}}}, own.PerfFlags, "replaced, not merged")
	assert.Equal(t, Flags{{"backend-config", []string{"a", "b"}}}, own.ServerFlags)
	assert.Equal(t, map[string]string{"B": "2"}, own.ServerEnvironment)
	assert.Empty(t, own.DockerArgs)
	value, ok := own.ServerFlags.Get("backend-config")
	assert.True(t, ok)
	assert.Equal(t, "b", value)
	_, ok = own.ServerFlags.Get("id")
	assert.False(t, ok)

	p = valid(t, "run_config_search_mode: optuna\nprofile_models: {a: {}, b: {parameters: {concurrency: 2}}}")
	assert.Empty(t, p.Models[0].BatchSizes, "optuna searches batch sizes")
	assert.Empty(t, p.Models[1].BatchSizes)
	p = valid(t, "run_config_search_mode: optuna\nbatch_sizes: 4\nprofile_models: a")
	assert.Equal(t, []int{4}, p.Models[0].BatchSizes)
	p = valid(t, "concurrency: 4\nprofile_models: {a: {parameters: {request_rate: 100}}}")
	assert.Empty(t, p.Models[0].Concurrency, "the rate of the model excludes the concurrency of all")
	assert.Equal(t, []int{100}, p.Models[0].RequestRate)
}

func TestShorthands(t *testing.T) {
	folder(t)
	at := func(x float64) *float64 { return &x }
	p := valid(t, `
latency_budget: 50
min_throughput: 100
constraints: {perf_latency_p99: {max: 90}, gpu_used_memory: {max: 80, max_per_gpu: 40.5}}
profile_models:
  all: {}
  old: {constraints: {perf_latency: {max: 10}}}
`)
	budget, rate := trial.Constraint{Tag: "perf_latency_p99", Max: at(50)}, trial.Constraint{Tag: "perf_throughput", Min: at(100)}
	memory := trial.Constraint{Tag: "gpu_used_memory", Max: at(80), MaxPerGPU: at(40.5)}
	assert.Equal(t, []trial.Constraint{budget, memory, rate}, p.Global.Constraints)
	assert.Equal(t, []trial.Constraint{budget, memory, rate}, p.Models[0].Constraints)
	assert.Equal(t, []trial.Constraint{{Tag: "perf_latency", Max: at(50)}, budget, rate}, p.Models[1].Constraints)
}

func TestSearchModes(t *testing.T) {
	folder(t)
	for mode, want := range map[string]string{
		"brute": Brute, "quick": Quick, "optuna": Optuna, "bayesian": Optuna, "tpe": Optuna, "planned": Planned, "manual": Brute,
	} {
		p := valid(t, "", "--profile-models=a", "--run-config-search-mode="+mode)
		assert.Equal(t, want, p.Search.Mode, mode)
		assert.Equal(t, mode == "manual", p.Search.Disable, mode)
	}
	p := valid(t, "profile_models: [a, b]\nrun_config_profile_models_concurrently_enable: true")
	assert.Equal(t, Quick, p.Search.Mode)
	assert.Equal(t, []string{"Brute search mode is not supported for models that are profiled concurrently. Using run_config_search_mode quick."}, p.Notices)
	p = valid(t, "profile_models: [a, b]\nbatch_sizes: [1, 2]\nconcurrency: [1, 2]\nrun_config_search_disable: true\nrun_config_profile_models_concurrently_enable: true")
	assert.Equal(t, Brute, p.Search.Mode, "all combinations of what is listed")
	assert.Empty(t, p.Notices)
	p = valid(t, "profile_models: a\nrun_config_profile_models_concurrently_enable: true")
	assert.Equal(t, Brute, p.Search.Mode, "a single model")
	p = valid(t, "profile_models: a\nbls_composing_models: [b, c]")
	assert.Equal(t, Quick, p.Search.Mode)
	p = valid(t, "profile_models: a\nbls_composing_models: [b]\nconcurrency: 4")
	assert.Contains(t, p.Notices, "Quick search mode ignores the lists of concurrencies and batch sizes.")
	p = valid(t, "profile_models: a\nrun_config_search_mode: planned\nsearch_dimensions: [threads, queue_delay]")
	assert.Equal(t, []string{Threads, QueueDelay}, p.Search.Dimensions)
	assert.Empty(t, p.Notices)
	p = valid(t, "profile_models: a\nsearch_dimensions: threads")
	assert.Contains(t, p.Notices, "search_dimensions are of search mode planned. Ignoring them.")
	_, err := load(t, "profile_models: a\nsearch_dimensions: thread")
	require.ErrorContains(t, err, `search_dimensions: "thread" is none of queue_delay, preferred_batch_size, threads, response_cache, length_buckets. Did you mean "threads"?`)
	p = valid(t, "profile_models: [a, b]\nrun_config_search_mode: planned\ncost_curve: [c.json, 4@d.json]")
	assert.Equal(t, []string{"c.json", "4@d.json"}, p.Search.CostCurve)
	assert.Empty(t, p.Notices)
	p = valid(t, "profile_models: a\ncost_curve: c.json")
	assert.Contains(t, p.Notices, "cost_curve is of search mode planned. Ignoring it.")
	p = valid(t, "profile_models: a\nrun_config_search_disable: true")
	assert.Equal(t, []int{1}, p.Models[0].Concurrency)
	p = valid(t, "profile_models: a\nrun_config_search_disable: true\nrequest_rate: 5")
	assert.Empty(t, p.Models[0].Concurrency)
}

func TestOutputFields(t *testing.T) {
	folder(t)
	for name, c := range map[string]struct{ file, inference, gpu string }{
		"concurrency":       {"", "concurrency", "concurrency"},
		"rates":             {"request_rate: [5]", "request_rate", "request_rate"},
		"search of rates":   {"request_rate_search_enable: true", "request_rate", "request_rate"},
		"limit of rates":    {"run_config_search_max_request_rate: 500", "request_rate", "request_rate"},
		"language model":    {"model_type: LLM", "concurrency", "concurrency"},
		"language and rate": {"model_type: LLM\nrequest_rate: 5", "request_rate", "request_rate"},
	} {
		p := valid(t, "profile_models: a\n"+c.file)
		assert.Equal(t, c.inference, p.Output.InferenceFields[2], name)
		assert.Equal(t, c.gpu, p.Output.GPUFields[3], name)
		assert.Equal(t, name == "language model", len(p.Output.InferenceFields) == 12, name)
	}
	p := valid(t, "profile_models: {a: {parameters: {request_rate: 5}}}\ninference_output_fields: model_name")
	assert.Equal(t, []string{"model_name"}, p.Output.InferenceFields)
	assert.Equal(t, "request_rate", p.Output.GPUFields[3])
}

func TestRemovedFlags(t *testing.T) {
	folder(t)
	p := valid(t, "", "--analysis-models=a,b", "--max-retries=7", "--triton-version=21.02-py3", "--perf-measurement-window=3000",
		"--log-level=DEBUG", "--export", "--llm-search-enable", "--run-config-search-min-request-period=4", "--optuna_max_trials=44",
		"--use_concurrency_formula", "--triton-server-flags=--log-verbose=1 strict_readiness=true")
	assert.Len(t, p.Models, 2)
	assert.Equal(t, 7, p.Client.MaxRetries)
	assert.True(t, p.IsSet("client_max_retries"))
	assert.Equal(t, "nvcr.io/nvidia/tritonserver:21.02-py3", p.Server.DockerImage)
	assert.Equal(t, Flags{{"measurement-interval", []string{"3000"}}}, p.Models[0].PerfFlags)
	assert.True(t, p.Verbose)
	assert.Equal(t, 44, p.Search.Trials.Max)
	assert.True(t, p.IsSet("optuna_max_trials"))
	assert.True(t, p.Search.UseConcurrencyFormula)
	assert.Equal(t, Flags{{"log-verbose", []string{"1"}}, {"strict-readiness", []string{"true"}}}, p.Models[0].ServerFlags)
	require.Len(t, p.Notices, 11)
	assert.Equal(t, "--analysis-models: It was removed from Model Analyzer; use profile_models.", p.Notices[0])

	for arg, want := range map[string]string{
		"--max-retries=x":                    `"x" is not an integer`,
		"--perf-measurement-window=0":        "0 is less than 1",
		"--log-level=LOUD":                   "invalid choice: 'LOUD' (choose from 'DEBUG', 'INFO', 'WARNING', 'ERROR')",
		"--triton-server-flags=log-verbo":    `"log-verbo" is not a flag name=value`,
		"--triton-server-flags=log-verbos=1": `"log-verbos" is no flag of the server. Did you mean "log-verbose"?`,
	} {
		_, err := load(t, "", "--profile-models=a", arg)
		assert.EqualError(t, err, want, arg)
	}
	// A file's value does not replace that of the flag.
	p = valid(t, "client_max_retries: 3\nprofile_models: a", "--max-retries=7")
	assert.Equal(t, 7, p.Client.MaxRetries)
}

func TestPlots(t *testing.T) {
	folder(t)
	p := valid(t, "profile_models: a\nplots: {mine: {title: T, x_axis: perf_throughput, y_axis: cpu_used_ram, monotonic: true}}")
	assert.Equal(t, "throughput_v_latency", p.Output.Plots[0].Name, "profile has its own plots")
	assert.Equal(t, []string{"profile has plots of its own. Ignoring plots, which are for report."}, p.Notices)
	offline := NewProfile()
	offline.Mode, offline.ModelRepository, offline.Models = Offline, "models", []Model{{Name: "a"}}
	require.NoError(t, offline.Finish(host, func(string) bool { return false }))
	assert.Equal(t, []Plot{{"through_v_batch_size", "Throughput vs. Batch Size", "batch_size", trial.Throughput, false}}, offline.Output.Plots)
}

// TestLaunchModes: options that the launch mode ignores are told, not refused.
func TestLaunchModes(t *testing.T) {
	folder(t)
	const mounts, image, args, flags, log = "triton_docker_mounts: /a:/b:ro", "triton_docker_labels: {a: b}", "triton_docker_args: {name: x}", "triton_server_flags: {id: x}", "triton_output_path: log"
	const ignoredMounts = "Triton launch mode is set to %s. Ignoring triton_docker_mounts and triton_docker_labels."
	const ignoredArgs = "Triton launch mode is not set to docker. Model Analyzer cannot set triton_docker_args."
	const ignoredFlags = "Triton launch mode is set to C_API. Model Analyzer cannot set triton_server_flags."
	const ignoredLog = "Triton launch mode is set to C_API, triton logs are not supported. Triton server error output can be obtained by setting perf_output_path."
	for _, c := range []struct {
		mode string
		file []string
		want []string
	}{
		{Local, []string{mounts}, []string{fmt.Sprintf(ignoredMounts, "local")}},
		{CAPI, []string{image}, []string{fmt.Sprintf(ignoredMounts, "c_api")}},
		{Remote, []string{mounts, image}, nil},
		{Docker, []string{mounts, image, args, flags, log}, nil},
		{Local, []string{args}, []string{ignoredArgs}},
		{Remote, []string{args}, []string{ignoredArgs}},
		{Local, []string{flags, log}, nil},
		{CAPI, []string{flags, log}, []string{ignoredFlags, ignoredLog}},
		{CAPI, []string{log}, []string{ignoredLog}},
	} {
		p := valid(t, strings.Join(append(c.file, "profile_models: a"), "\n"), "--triton-launch-mode="+c.mode)
		assert.Equal(t, c.want, p.Notices, "%s %s", c.mode, c.file)
	}
	p := valid(t, "profile_models: {a: {triton_server_flags: {id: x}}}", "--triton-launch-mode=c_api")
	assert.Equal(t, []string{ignoredFlags}, p.Notices, "of a model")
}

func TestReport(t *testing.T) {
	folder(t)
	loadReport := func(file string, prepare func(*Report)) (*Report, error) {
		r := NewReport()
		if file != "" {
			require.NoError(t, os.WriteFile("report.yaml", []byte(file), 0o600))
			r.ConfigFile = "report.yaml"
		}
		prepare(r)
		return r, r.Finish(func(string) bool { return false })
	}
	keep := func(*Report) {}
	r, err := loadReport(`
profile_models: [a]   # of profile
report_model_configs:
  a_config_1: {plots: {mine: {x_axis: perf_latency_p99, y_axis: gpu_utilization}}}
  a_config_default:
plots: [{title: "RAM, of all", x_axis: concurrency, y_axis: cpu_used_ram}, {named: {x_axis: batch_size, y_axis: perf_throughput}}]
output_formats: [csv, html]
always_report_gpu_metrics: yes
`, keep)
	require.NoError(t, err)
	all := []Plot{{"ram_of_all", "RAM, of all", "concurrency", trial.CPUUsedRAM, false}, {"named", "named", "batch_size", trial.Throughput, false}}
	assert.Equal(t, []ReportConfig{
		{"a_config_1", []Plot{{"mine", "mine", trial.LatencyP99, trial.GPUUtilization, false}}},
		{"a_config_default", all},
	}, r.Configs)
	assert.Equal(t, all, r.Plots)
	assert.Equal(t, []string{"csv", "html"}, r.OutputFormats)
	assert.True(t, r.AlwaysReportGPUMetrics)

	for file, want := range map[string][]string{"report_model_configs: a_config_1": {"a_config_1"}, "report_model_configs: [a, {b: {}}]": {"a", "b"}} {
		r, err = loadReport(file, keep)
		require.NoError(t, err)
		for i, name := range want {
			assert.Equal(t, name, r.Configs[i].Name)
		}
	}
	plots := map[string][]string{
		Online:  {"gpu_mem_v_latency", "gpu_util_v_latency", "cpu_mem_v_latency", "gpu_power_v_latency"},
		Offline: {"throughput_v_batch_size", "latency_v_batch_size"},
	}
	for mode, want := range plots {
		r, err = loadReport("report_model_configs: a", func(r *Report) { r.Mode = mode })
		require.NoError(t, err)
		names := []string{}
		for _, p := range r.Configs[0].Plots {
			names = append(names, p.Name)
		}
		assert.Equal(t, want, names)
	}

	require.NoError(t, os.WriteFile("file", nil, 0o600))
	for name, c := range map[string]struct {
		file string
		with func(*Report)
		want string
	}{
		"nothing":       {"", keep, "Config for report_model_configs is not specified. You need to specify it using the YAML config file or using the -n, --report-model-configs flags in CLI."},
		"export path":   {"report_model_configs: a\nexport_path: none", keep, `Failed to set the value for field "export_path". Error: Either 'none' is a nonexistent path, or Model Analyzer does not have permissions to execute os.stat on this path`},
		"export a file": {"report_model_configs: a\nexport_path: file", keep, "Export path file is not a directory."},
		"checkpoints":   {"report_model_configs: a\ncheckpoint_directory: x/y", keep, `Failed to set the value for field "checkpoint_directory". Error: Either the parent directory for 'x/y' does not exist, or Model Analyzer does not have permissions to execute os.stat on this path.`},
		"format":        {"report_model_configs: a\noutput_formats: [doc]", keep, `report.yaml:2: Failed to set the value for field "output_formats". Error: Value "doc" for field "output_formats" is not acceptable. Value should be one of the following values: "['pdf', 'csv', 'png', 'svg', 'json', 'html']".`},
		"no axis":       {"report_model_configs: a\nplots: {p: {x_axis: perf_latency_p9, y_axis: batch_size}}", keep, `report.yaml:2: Failed to set the value for field "plots.p.x_axis". Error: "perf_latency_p9" is not a metric. Did you mean "perf_latency_p90"?`},
		"half a plot":   {"report_model_configs: a\nplots: {p: {x_axis: perf_latency_p99, z_axis: batch_size}}", keep, "report.yaml:2: Key \"z_axis\" should not be specified in field \"plots.p\". Did you mean \"x_axis\"?\nreport.yaml:2: Failed to set the value for field \"plots.p\". Error: a plot needs x_axis and y_axis"},
		"no file":       {"", func(r *Report) { r.ConfigFile = "none.yaml" }, "reading the configuration file: open none.yaml: no such file or directory"},
	} {
		_, err := loadReport(c.file, c.with)
		assert.EqualError(t, err, c.want, name)
	}
}

func TestSearchMode(t *testing.T) {
	folder(t)
	ensemble := map[string]Facts{"e": {Ensemble: true, Composing: []string{"x", "y"}}, "nested": {Ensemble: true, Composing: []string{"e"}}}
	for name, c := range map[string]struct {
		file    string
		mode    string
		notices []string
		err     string
	}{
		"plain":                     {"profile_models: a", Brute, nil, ""},
		"ensemble":                  {"profile_models: e", Quick, []string{"Brute search mode is not supported for ensemble models. Using run_config_search_mode quick."}, ""},
		"ensemble, optuna":          {"profile_models: e\nrun_config_search_mode: optuna", Optuna, nil, ""},
		"ensemble, explicit brute":  {"profile_models: e\nrun_config_search_mode: brute", Brute, nil, "Brute search mode is not supported for ensemble models\nPlease use quick search mode (--run-config-search-mode quick)"},
		"ensemble and another":      {"profile_models: [a, e]\nrun_config_search_mode: quick", Quick, nil, "Profiling of multiple models is not supported for ensemble models"},
		"CPU only in a plain model": {"profile_models: a\ncpu_only_composing_models: x", Brute, nil, "Can only specify --cpu-only-composing-models for ensemble or BLS models."},
		"CPU only in an ensemble":   {"profile_models: e\ncpu_only_composing_models: x\nrun_config_search_mode: quick", Quick, nil, ""},
		"CPU only in a BLS model":   {"profile_models: a\ncpu_only_composing_models: x\nbls_composing_models: x\nrun_config_search_mode: quick", Quick, nil, ""},
		"ensemble in an ensemble":   {"profile_models: nested\nrun_config_search_mode: quick", Quick, nil, "Model Analyzer does not support ensembles as a composing model type: e"},
		"ensemble in a BLS model":   {"profile_models: a\nbls_composing_models: e\nrun_config_search_mode: quick", Quick, nil, "Model Analyzer does not support ensembles as a composing model type: e"},
		"a model of another one":    {"profile_models: e\nensemble_composing_models: [x, z]\nrun_config_search_mode: quick", Quick, []string{"ensemble_composing_models: z is not a model of the ensemble and is ignored."}, ""},
	} {
		p := valid(t, c.file)
		mode, notices, err := p.SearchMode(p.Models, ensemble)
		assert.Equal(t, c.mode, mode, name)
		assert.Equal(t, c.notices, notices, name)
		if c.err == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, c.err, name)
		}
	}
}

// TestOutputRepositoryIsNotDeleted: folders with something else in them are never overridden.
func TestOutputRepositoryIsNotDeleted(t *testing.T) {
	folder(t)
	require.NoError(t, os.MkdirAll(filepath.Join("out", "models"), 0o755))
	require.NoError(t, os.Symlink("out", "link"))
	for _, path := range []string{".", "..", "models", "out", "link", "/"} {
		_, err := load(t, "", "--profile-models=a", "--model-repository=out/models", "--override-output-model-repository", "--output-model-repository-path="+path)
		if path == "models" {
			assert.NoError(t, err, "another folder of that name")
			continue
		}
		assert.ErrorContains(t, err, "would be deleted, but", path)
	}
	_, err := load(t, "", "--profile-models=a", "--model-repository=models", "--output-model-repository-path=out")
	assert.ErrorContains(t, err, `Path "out" already exists. Please set or modify`)
	p, err := load(t, "", "--profile-models=a", "--model-repository=models", "--output-model-repository-path=new")
	assert.NoError(t, err)
	assert.NoDirExists(t, p.OutputModelRepository)

	// What the profile makes again may be in the folder: Model Analyzer's own tests put it there.
	inside := func() error {
		_, err := load(t, "", "--profile-models=a", "--model-repository=models", "--override-output-model-repository",
			"--output-model-repository-path=old", "--export-path=old/made", "--checkpoint-directory=old/checkpoints")
		return err
	}
	require.NoError(t, os.MkdirAll(filepath.Join("old", "made", "results"), 0o755))
	assert.NoError(t, inside())
	require.NoError(t, os.MkdirAll(filepath.Join("old", "checkpoints"), 0o755))
	assert.NoError(t, inside())
	require.NoError(t, os.WriteFile(filepath.Join("old", "checkpoints", "0.ckpt"), nil, 0o600))
	assert.ErrorContains(t, inside(), `"old/checkpoints" is in it`, "measurements would be lost")
	require.NoError(t, os.Remove(filepath.Join("old", "checkpoints", "0.ckpt")))
	require.NoError(t, os.WriteFile(filepath.Join("old", "made", "thesis.md"), nil, 0o600))
	assert.ErrorContains(t, inside(), `"old/made" is in it`)
}
