package settings

import (
	"slices"
	"strings"
)

// checkSearch checks the search mode against the models.
func (p *Profile) checkSearch(c *problems) {
	s := p.Search
	explicitBrute := s.Mode == Brute && p.set["run_config_search_mode"]
	if s.ConcurrentModels && explicitBrute {
		c.add("Concurrent profiling of models not supported in brute search mode.\n" +
			"Please use quick search mode (`--run-config-search-mode quick`) or disable concurrent model profiling.")
	}
	for _, name := range s.Dimensions {
		if !contains(Dimensions(), name) {
			c.add("search_dimensions: %q is none of %s.%s", name, strings.Join(Dimensions(), ", "), didYouMean(name, Dimensions()))
		}
	}
	if len(p.BLSComposing) == 0 {
		return
	}
	if explicitBrute {
		c.add("Profiling of models in brute search mode is not supported for BLS models.\nPlease use quick search mode.")
	}
	if len(p.Models) > 1 {
		c.add("Profiling of multiple models is not supported for BLS models.")
	}
	if s.ConcurrentModels {
		c.add("Profiling models concurrently is not supported for BLS models.\n" +
			"Please remove `--run-config-profile-models-concurrently-enable from the config/CLI.")
	}
}

// checkQuick checks what quick search does not support.
func (p *Profile) checkQuick(c *problems) {
	if p.Search.Disable {
		c.add("Disabling of run config search is not supported in quick search mode.\n" +
			"Please use brute search mode or remove --run-config-search-disable.")
	}
	listed := p.set["concurrency"] && len(p.Global.Concurrency) > 0 || p.set["batch_sizes"]
	for _, m := range p.Models {
		listed = listed || m.IsSet("parameters.concurrency") || m.IsSet("parameters.batch_sizes")
	}
	switch {
	case listed && p.set["run_config_search_mode"]:
		c.add("Profiling of models in quick search mode is not supported with lists of concurrencies or batch sizes.\n" +
			"Please use brute search mode or remove concurrency/batch sizes list.")
	case listed:
		p.notice("Quick search mode ignores the lists of concurrencies and batch sizes.")
	}
	for _, m := range p.Models {
		if !p.isComposing(m.Name) {
			checkQuickModel(c, m)
		}
	}
	for _, m := range slices.Concat(p.BLSComposing, p.EnsembleComposing) {
		if len(m.Parameters.Without("max_batch_size", "instance_group").Combinations()) > 1 {
			c.add("Model %s has multiple parameter combinations after removing searchable parameters.\n"+
				"Please use brute search mode or give each parameter one value.", m.Name)
		}
	}
}

// isComposing reports whether a model is listed as a composing one.
func (p *Profile) isComposing(name string) bool {
	return slices.Contains(p.CPUOnlyComposing, name) ||
		slices.ContainsFunc(slices.Concat(p.BLSComposing, p.EnsembleComposing), func(m Model) bool { return m.Name == name })
}

func checkQuickModel(c *problems, m Model) {
	switch {
	case m.Parameters.Has("max_batch_size"):
		c.add("Profiling of top-level models in quick search mode is not supported with lists of max batch sizes.\n" +
			"Please use brute search mode or remove max batch size list.\n" +
			"Note: Composing models in ensembles/BLS can have max_batch_size ranges in Quick mode.")
	case m.Parameters.Has("instance_group"):
		c.add("Profiling of top-level models in quick search mode is not supported with instance group as a model config parameter.\n" +
			"Please use brute search mode or remove instance_group from 'model_config_parameters'.\n" +
			"Note: Composing models in ensembles/BLS can have instance_group with count ranges in Quick mode.")
	case len(m.Parameters.Combinations()) > 1:
		c.add("Profiling of top-level models in quick search mode is not supported for the specified model config parameters, " +
			"as more than one combination of parameters can be generated.\n" +
			"Please use brute search mode to profile or remove the model config parameters specified.\n" +
			"Note: Composing models in ensembles/BLS can have parameter ranges in Quick mode.")
	}
}

// checkLoads checks concurrency against request rate.
func (p *Profile) checkLoads(c *problems) {
	rates := []struct {
		name string
		set  bool
	}{
		{"request-rate-search-enable", p.Search.RequestRateSearch},
		{"request-rate", len(p.Global.RequestRate) > 0},
		{"run-config-search-min-request-rate", p.set["run_config_search_min_request_rate"]},
		{"run-config-search-max-request-rate", p.set["run_config_search_max_request_rate"]},
	}
	for _, concurrency := range []struct {
		name string
		set  bool
	}{
		{"concurrency", p.set["concurrency"] && len(p.Global.Concurrency) > 0},
		{"run-config-search-min/max-concurrency", p.set["run_config_search_min_concurrency"] || p.set["run_config_search_max_concurrency"]},
	} {
		for _, rate := range rates {
			if concurrency.set && rate.set {
				c.add("Cannot have both `%s` and `%s` specified in the config/CLI.", rate.name, concurrency.name)
				break
			}
		}
	}
	withRate := 0
	for _, m := range p.Models {
		if m.IsSet("parameters.request_rate") {
			withRate++
		}
	}
	everyModel := len(p.Global.RequestRate) > 0 || p.Search.RequestRateSearch || rates[2].set || rates[3].set
	if withRate > 0 && withRate < len(p.Models) && !everyModel {
		c.add("Parameters in all profiled models must use request-rate-range. " +
			"Model Analyzer does not support mixing concurrency-range and request-rate-range.")
	}
}
