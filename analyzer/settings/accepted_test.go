package settings

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// TestAccepted reads the files of testdata/accepted.txtar, and compares what they mean with what Model
// Analyzer reads from them.
func TestAccepted(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "accepted.txtar"))
	require.NoError(t, err)
	folder(t)
	var p *Profile
	for _, f := range archive.Files {
		name, part, _ := strings.Cut(f.Name, "/")
		if part == "file" {
			p, err = load(t, string(f.Data))
			require.NoError(t, err, name)
			continue
		}
		var got []any
		for _, m := range p.Models {
			got = append(got, described(m))
		}
		got = append(got, p.Output.InferenceFields, p.Output.GPUFields)
		lines := strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		require.Len(t, lines, len(got), name)
		for i, want := range lines {
			text, err := json.Marshal(got[i])
			require.NoError(t, err)
			assert.JSONEq(t, want, string(text), name)
		}
	}
}

// described returns a model in the form of the recorded ones.
func described(m Model) map[string]any {
	constraints := map[trial.Metric]map[string]float64{}
	for _, c := range m.Constraints {
		constraints[c.Tag] = map[string]float64{}
		if c.Min != nil {
			constraints[c.Tag]["min"] = *c.Min
		}
		if c.Max != nil {
			constraints[c.Tag]["max"] = *c.Max
		}
	}
	objectives := map[trial.Metric]int{}
	for _, o := range m.Objectives {
		objectives[o.Tag] = o.Weight
	}
	combinations := []any{}
	if len(m.Parameters) > 0 {
		for _, c := range m.Parameters.Combinations() {
			combinations = append(combinations, c)
		}
	}
	orEmpty := func(list []int) []int { return append([]int{}, list...) }
	environment, docker := m.ServerEnvironment, m.DockerArgs
	if environment == nil {
		environment = map[string]string{}
	}
	if docker == nil {
		docker = map[string]any{}
	}
	return map[string]any{
		"name": m.Name, "cpu_only": m.CPUOnly, "weighting": m.Weight,
		"batch_sizes": orEmpty(m.BatchSizes), "concurrency": orEmpty(m.Concurrency), "request_rate": orEmpty(m.RequestRate),
		"objectives": objectives, "constraints": constraints, "combinations": combinations,
		"perf_analyzer_flags": asMap(m.PerfFlags), "triton_server_flags": asMap(m.ServerFlags),
		"triton_server_environment": environment, "triton_docker_args": docker,
	}
}

// asMap returns flags with one text each, or with a list where the file may have one.
func asMap(flags Flags) map[string]any {
	all := map[string]any{}
	for _, f := range flags {
		if perfFlags.takesList(f.Name) {
			all[f.Name] = f.Values
		} else {
			all[f.Name] = f.Values[0]
		}
	}
	return all
}
