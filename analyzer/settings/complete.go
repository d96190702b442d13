package settings

import (
	"cmp"
	"maps"
	"slices"

	"triton/analyzer/trial"
)

// complete sets the values that depend on others.
func (p *Profile) complete(host Host) {
	p.Client.CPUUtilization = cmp.Or(p.Client.CPUUtilization, 80*float64(max(1, host.CPUs)))
	s := &p.Search
	if s.manual {
		s.Disable = true
	}
	if s.Mode == Brute && !p.set["run_config_search_mode"] {
		switch {
		case s.ConcurrentModels && len(p.Models) > 1 && !s.Disable: // listed values are combined
			p.useQuick("models that are profiled concurrently")
		case len(p.BLSComposing) > 0:
			p.useQuick("BLS models")
		}
	}
	if len(s.Dimensions) > 0 && s.Mode != Planned {
		p.notice("search_dimensions are of search mode planned. Ignoring them.")
	}
	if len(s.CostCurve) > 0 && s.Mode != Planned {
		p.notice("cost_curve is of search mode planned. Ignoring it.")
	}
	if s.Disable && len(p.Global.Concurrency) == 0 && len(p.Global.RequestRate) == 0 {
		p.Global.Concurrency = []int{1}
	}
	if p.window != "" {
		p.Global.PerfFlags.setFlag("measurement-interval", p.window)
	}
	if s.Mode == Optuna && !p.set["batch_sizes"] {
		p.Global.BatchSizes = nil
	}
	p.Global.Constraints = p.shorthands(p.Global.Constraints)
	p.fields()
	for i := range p.Models {
		p.Models[i] = p.fallBack(p.Models[i])
	}
	for _, list := range [][]Model{p.BLSComposing, p.EnsembleComposing} {
		for i := range list {
			list[i].CPUOnly = list[i].CPUOnly || p.withoutGPU() || slices.Contains(p.CPUOnlyComposing, list[i].Name)
		}
	}
	if p.ModelType != LLM && p.any(func(m Model) bool { return len(m.GenAIPerfFlags) > 0 }) {
		p.notice("genai_perf_flags are for model_type LLM. Ignoring them.")
	}
	p.Output.Plots = SummaryPlots(p.Mode)
	if p.set["plots"] {
		p.notice("profile has plots of its own. Ignoring plots, which are for report.")
	}
	p.ignoredByLaunchMode()
}

// useQuick replaces brute search, which the user has not asked for.
func (p *Profile) useQuick(models string) {
	p.Search.Mode = Quick
	p.notice("Brute search mode is not supported for " + models + ". Using run_config_search_mode quick.")
}

func (p *Profile) notice(text string) { p.Notices = append(p.Notices, text) }

// withoutGPU reports whether servers that we start get no GPU. In remote mode the server decides.
func (p *Profile) withoutGPU() bool { return p.Server.LaunchMode != Remote && len(p.GPUs) == 0 }

// shorthands returns constraints with latency_budget and min_throughput.
func (p *Profile) shorthands(all []trial.Constraint) []trial.Constraint {
	if p.LatencyBudget > 0 {
		limit := float64(p.LatencyBudget)
		all = constrain(all, trial.Constraint{Tag: trial.LatencyP99, Max: &limit})
		if slices.ContainsFunc(all, func(c trial.Constraint) bool { return c.Tag == "perf_latency" }) {
			all = constrain(all, trial.Constraint{Tag: "perf_latency", Max: &limit})
		}
	}
	if p.MinThroughput > 0 {
		limit := float64(p.MinThroughput)
		all = constrain(all, trial.Constraint{Tag: trial.Throughput, Min: &limit})
	}
	return all
}

// fields sets the columns that the user has not set.
func (p *Profile) fields() {
	load := "concurrency"
	if p.UsesRequestRate() {
		load = "request_rate"
	}
	if !p.set["inference_output_fields"] {
		p.Output.InferenceFields = inferenceFields(load)
		if p.ModelType == LLM && load == "concurrency" { // Model Analyzer keeps the columns of rates
			p.Output.InferenceFields = inferenceFields(load, "inter_token_latency_p99", "time_to_first_token_p99", "output_token_throughput")
		}
	}
	if !p.set["gpu_output_fields"] {
		p.Output.GPUFields = gpuFields(load)
	}
}

// fallBack returns a model with the values of the whole profile where it has none of its own.
// Dictionaries are replaced, not merged.
func (p *Profile) fallBack(m Model) Model {
	g := p.Global
	m.CPUOnly = m.CPUOnly || p.withoutGPU()
	if !m.IsSet("parameters.batch_sizes") {
		m.BatchSizes = g.BatchSizes
		if m.IsSet("parameters") && p.Search.Mode == Optuna {
			m.BatchSizes = nil
		}
	}
	if !m.IsSet("parameters.concurrency") && !m.IsSet("parameters.request_rate") {
		m.Concurrency = g.Concurrency
	}
	if !m.IsSet("parameters.request_rate") {
		m.RequestRate = g.RequestRate
	}
	if len(m.Objectives) == 0 {
		m.Objectives = g.Objectives
	}
	if !m.IsSet("constraints") {
		m.Constraints = g.Constraints
	}
	m.Constraints = p.shorthands(m.Constraints)
	m.Weight = cmp.Or(m.Weight, 1)
	if !m.IsSet("perf_analyzer_flags") {
		m.PerfFlags = slices.Clone(g.PerfFlags)
	}
	if !m.IsSet("genai_perf_flags") {
		m.GenAIPerfFlags = slices.Clone(g.GenAIPerfFlags)
	}
	if !m.IsSet("triton_server_flags") {
		m.ServerFlags = slices.Clone(g.ServerFlags)
	}
	if !m.IsSet("triton_server_environment") {
		m.ServerEnvironment = maps.Clone(g.ServerEnvironment)
	}
	if !m.IsSet("triton_docker_args") {
		m.DockerArgs = maps.Clone(g.DockerArgs)
	}
	return m
}

// ignoredByLaunchMode adds notices about options that the launch mode ignores.
func (p *Profile) ignoredByLaunchMode() {
	v := p.Server
	switch {
	case v.LaunchMode == Docker || v.LaunchMode == Remote:
	case len(v.DockerMounts) > 0 || len(v.DockerLabels) > 0:
		p.notice("Triton launch mode is set to " + v.LaunchMode + ". Ignoring triton_docker_mounts and triton_docker_labels.")
	}
	if v.LaunchMode == CAPI {
		if p.any(func(m Model) bool { return len(m.ServerFlags) > 0 }) {
			p.notice("Triton launch mode is set to C_API. Model Analyzer cannot set triton_server_flags.")
		}
		if v.OutputPath != "" {
			p.notice("Triton launch mode is set to C_API, triton logs are not supported. " +
				"Triton server error output can be obtained by setting perf_output_path.")
		}
	}
	if v.LaunchMode != Docker && p.any(func(m Model) bool { return len(m.DockerArgs) > 0 }) {
		p.notice("Triton launch mode is not set to docker. Model Analyzer cannot set triton_docker_args.")
	}
}

// any reports whether something holds for a model or for what models fall back to.
func (p *Profile) any(holds func(Model) bool) bool {
	return holds(p.Global) || slices.ContainsFunc(p.Models, holds)
}
