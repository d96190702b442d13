package profile

import (
	"runtime"
	"slices"

	"triton/analyzer/profile"
	"triton/analyzer/search"
	"triton/analyzer/settings"
	"triton/cmd/cli/analyze/simulate"
)

// plannedOptions returns the options of planned mode.
func plannedOptions(o *settings.Profile, s profile.Subject, notice func(string)) (search.PlannerOptions, error) {
	var options search.PlannerOptions
	if s.Mode != settings.Planned || len(s.Models) != 1 || len(s.Models[0].Composing) > 0 {
		return options, nil // quick search takes its place
	}
	m := s.Models[0]
	options.Axes = axes(o, m, notice)
	if len(o.Search.CostCurve) == 0 {
		return options, nil
	}
	model := m.Name
	if len(o.Models) == 1 {
		model = "" // of any name
	}
	var err error
	options.Predict, err = simulate.Predictor("--cost-curve", o.Search.CostCurve, model, m.Config, s.Devices, 0)
	return options, err
}

// axes returns the further dimensions of planned mode that the user wants and the model has. notice
// receives why the others are left out.
func axes(o *settings.Profile, m profile.Model, notice func(string)) []search.Axis {
	var out []search.Axis
	for _, name := range o.Search.Dimensions {
		a, why := axis(name, m)
		if why != "" {
			notice("search_dimensions: " + name + " is not searched for " + m.Name + ": " + why)
			continue
		}
		out = append(out, a)
	}
	return out
}

func axis(name string, m profile.Model) (a search.Axis, why string) {
	switch name {
	case settings.QueueDelay, settings.PreferredSize:
		switch {
		case m.Config.GetMaxBatchSize() == 0 || m.Config.GetSequenceBatching() != nil:
			return a, "the model has no dynamic batcher"
		case m.Parameters.Has("dynamic_batching"):
			return a, "model_config_parameters list its values"
		case name == settings.QueueDelay:
			return search.Delays(100, 500, 2000), ""
		}
		return search.Preferred(4, 8), ""
	case settings.Threads:
		switch {
		case m.Config.GetBackend() != "onnxruntime" && m.Config.GetPlatform() != "onnxruntime_onnx":
			return a, "the model does not run on ONNX Runtime"
		case m.Parameters.Has("parameters"):
			return a, "model_config_parameters list its values"
		}
		var counts []int
		for n := 1; n <= runtime.NumCPU(); n *= 2 {
			counts = append(counts, n)
		}
		return search.Threads(counts...), ""
	case settings.LengthBuckets:
		return bucketAxis(m)
	default: // settings.ResponseCache
		if !slices.ContainsFunc(m.ServerFlags, func(f settings.Flag) bool {
			return f.Name == "cache-config" || f.Name == "response-cache-byte-size"
		}) {
			return a, "triton_server_flags have no cache_config"
		}
		return search.Cache(), ""
	}
}
