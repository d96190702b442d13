package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongDocuments(t *testing.T) {
	folder(t)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(i-1)+", ", 10), ", ") + "]\n"
	}
	for text, want := range map[string]string{
		"- a":                       "config.yaml:1: the file is not a mapping of options to values",
		"text":                      "config.yaml:1: the file is not a mapping of options to values",
		"a: [":                      "config.yaml: yaml: line 1: did not find expected node content",
		"gpus: all\n---\ngpus: all": "config.yaml:2: expected a single document in the file",
		"gpus: all\n---\n[":         "config.yaml: yaml: line 3: did not find expected node content",
		"gpus: all\ngpus: 1":        `config.yaml:2: "gpus" is given twice`,
		"profile_models:\n  a:\n    weighting: 1\n    weighting: 2": `config.yaml:4: "weighting" is given twice`,
		"? [a]\n: b":       "config.yaml:1: the key of a value must be a text",
		"<<: 3":            "config.yaml:1: << merges mappings only",
		"gpus: &x\n  - *x": "config.yaml:1: the file is nested too deeply or too large",
		bomb:               "config.yaml:", // somewhere
		strings.Repeat("{a: ", 80) + strings.Repeat("}", 80): "config.yaml:1: the file is nested too deeply or too large",
	} {
		_, err := load(t, text)
		require.Error(t, err, text)
		assert.Contains(t, err.Error(), want)
	}
	_, err := load(t, bomb)
	assert.ErrorContains(t, err, "the file is nested too deeply or too large")
}

// TestAllProblems: a file is read to its end, whatever is wrong in it.
func TestAllProblems(t *testing.T) {
	folder(t)
	_, err := load(t, `
batch-sizes: 1
concurency: 2
analysis_models: a
triton_server_flags: {log_verbos: 1, exit_on_eror: 2}
profile_models:
  a: {weight: 3, constraints: {perf_latency_p99: {min: 3}}}
  b: {parameters: {concurrency: [a, b]}}
gpus: {x: y}
`)
	assert.EqualError(t, err, strings.TrimSpace(`
config.yaml:2: batch-sizes is not a valid yaml argument. Please be sure to use underscores and check spelling. Did you mean "batch_sizes"?
config.yaml:3: concurency is not a valid yaml argument. Please be sure to use underscores and check spelling. Did you mean "concurrency"?
config.yaml:4: analysis_models is not a valid yaml argument. Please be sure to use underscores and check spelling. It was removed from Model Analyzer; use profile_models.
config.yaml:5: Key "log_verbos" should not be specified in field "triton_server_flags". Did you mean "log-verbose"?
config.yaml:5: Key "exit_on_eror" should not be specified in field "triton_server_flags". Did you mean "exit-on-error"?
config.yaml:7: Key "weight" should not be specified in field "profile_models.a". Did you mean "weighting"?
config.yaml:7: Key "min" should not be specified in field "profile_models.a.constraints.perf_latency_p99". Did you mean "max"?
config.yaml:8: Failed to set the value for field "profile_models.b.parameters.concurrency". Error: "a" is not an integer
config.yaml:8: Failed to set the value for field "profile_models.b.parameters.concurrency". Error: "b" is not an integer
config.yaml:9: Failed to set the value for field "gpus". Error: The value for field "gpus" should not be a dictionary, current value is "{x: y}".
The Yaml configuration file is incorrect. Please check the logged errors for the specific options that are causing the issue.
`))
}

// TestPlaces: a key at the wrong level is told where it belongs.
func TestPlaces(t *testing.T) {
	folder(t)
	_, err := load(t, `
parameters: {batch_sizes: 1}
dynamic_batching: {}
perf_throughput: {min: 1}
weighting: 3
profile_models:
  a: {concurrency: 4, measurement-interval: 100, batch_sizes: 2}
  b: {parameters: {instance_group: [], export_path: x, cpu_only: true}}
  c: {model_config_parameters: {concurrency: 3}}
perf_analyzer_flags: {log-verbose: 1}
triton_server_flags: {percentile: 99}
constraints: {objectives: x}
`)
	assert.EqualError(t, err, strings.TrimSpace(`
config.yaml:2: parameters is not a valid yaml argument. Please be sure to use underscores and check spelling. It belongs in profile_models.MODEL, or in profile_models.MODEL.model_config_parameters.
config.yaml:3: dynamic_batching is not a valid yaml argument. Please be sure to use underscores and check spelling. It belongs in profile_models.MODEL.model_config_parameters.
config.yaml:4: perf_throughput is not a valid yaml argument. Please be sure to use underscores and check spelling. It belongs in constraints, or in objectives.
config.yaml:7: Key "concurrency" should not be specified in field "profile_models.a". It belongs at the top of the file, or in profile_models.MODEL.parameters.
config.yaml:7: Key "measurement-interval" should not be specified in field "profile_models.a". It belongs in perf_analyzer_flags.
config.yaml:7: Key "batch_sizes" should not be specified in field "profile_models.a". It belongs at the top of the file, or in profile_models.MODEL.parameters.
config.yaml:8: Key "instance_group" should not be specified in field "profile_models.b.parameters". It belongs in profile_models.MODEL.model_config_parameters.
config.yaml:8: Key "export_path" should not be specified in field "profile_models.b.parameters". It belongs at the top of the file.
config.yaml:8: Key "cpu_only" should not be specified in field "profile_models.b.parameters". It belongs in profile_models.MODEL.
config.yaml:9: Key "concurrency" should not be specified in field "profile_models.c.model_config_parameters". It belongs at the top of the file, or in profile_models.MODEL.parameters.
config.yaml:10: Key "log-verbose" should not be specified in field "perf_analyzer_flags". It belongs in triton_server_flags.
config.yaml:11: Key "percentile" should not be specified in field "triton_server_flags". It belongs in perf_analyzer_flags.
config.yaml:12: Key "objectives" should not be specified in field "constraints". It belongs at the top of the file, or in profile_models.MODEL.
The Yaml configuration file is incorrect. Please check the logged errors for the specific options that are causing the issue.
`))
}

// FuzzFile reads any file: it ends, without a panic, and what is accepted satisfies the ranges.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"profile_models: a", "profile_models: [a, {b: {}}]", "profile_models: {a: {parameters: {concurrency: {start: 1, stop: 8, step: 2}}}}",
		"profile_models: {a: {model_config_parameters: {instance_group: [[{kind: KIND_GPU, count: [1, 2]}]]}}}",
		"profile_models: &x [a]\nbls_composing_models: *x", "a: &a [*a]", "<<: {gpus: all}", "gpus: []\nbatch_sizes: '1:4:2'",
		"constraints: {perf_latency_p99: {max: 1e3}}\nobjectives: [perf_throughput]", "plots: [{x_axis: concurrency, y_axis: perf_throughput}]",
		"monitoring_interval: 1e400", "run_config_search_mode: manual", "triton_docker_args: {volumes: a, privileged: yes}",
		"? a\n: b", "---\n...\n---\n", "!!binary aGk=: 1", "perf_output: !!str true",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := NewProfile()
		l := loader{options: p.Options(), set: p.set}
		if err := l.apply("config.yaml", text); err != nil {
			return
		}
		p.complete(host)
		_ = p.checkComplete()
		for _, n := range p.Global.Concurrency {
			require.Positive(t, n)
		}
		for _, m := range p.Models {
			require.NotEmpty(t, m.Objectives)
			require.Positive(t, m.Weight)
			for _, s := range m.Parameters {
				require.NotEmpty(t, s.Values)
			}
		}
		require.Positive(t, p.MonitoringInterval)

		r := NewReport()
		_ = (&loader{options: r.Options(), set: r.set}).apply("config.yaml", text)
	})
}

// TestDocumentedKeys: the file with all keys of the documentation is valid.
func TestDocumentedKeys(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "analyze-profile.md"))
	require.NoError(t, err)
	folder(t)
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	require.True(t, ok)
	example, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	p, err := load(t, example)
	require.NoError(t, err)
	require.Len(t, p.Models, 2)
	require.Len(t, p.Models[0].Parameters.Combinations(), 12)
}
