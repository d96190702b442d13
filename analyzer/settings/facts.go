package settings

import (
	"fmt"
	"slices"
)

// Facts is what the configuration of a model says about it. Load does not read models.
type Facts struct {
	Ensemble  bool
	Composing []string // of an ensemble, in the order of its steps
}

// SearchMode returns the search mode for models that are profiled at the same time. facts has the
// configurations of these models and of the composing models of ensembles. The notices are for the
// user.
func (p *Profile) SearchMode(models []Model, facts map[string]Facts) (mode string, notices []string, err error) {
	mode = p.Search.Mode
	c := &problems{}
	composing := []string{}
	for _, m := range models {
		f := facts[m.Name]
		if !f.Ensemble {
			if len(p.BLSComposing) == 0 && len(p.CPUOnlyComposing) > 0 {
				c.add("Can only specify --cpu-only-composing-models for ensemble or BLS models.")
			}
			continue
		}
		composing = append(composing, f.Composing...)
		switch {
		case len(p.Models) > 1:
			c.add("Profiling of multiple models is not supported for ensemble models")
		case mode == Brute && p.set["run_config_search_mode"]:
			c.add("Brute search mode is not supported for ensemble models\nPlease use quick search mode (--run-config-search-mode quick)")
		case mode == Brute:
			mode = Quick
			notices = append(notices, "Brute search mode is not supported for ensemble models. Using run_config_search_mode quick.")
		}
	}
	for _, m := range p.BLSComposing {
		composing = append(composing, m.Name)
	}
	for _, name := range composing {
		if facts[name].Ensemble {
			c.add("Model Analyzer does not support ensembles as a composing model type: %s", name)
		}
	}
	for _, m := range p.EnsembleComposing {
		if !slices.Contains(composing, m.Name) {
			notices = append(notices, fmt.Sprintf("ensemble_composing_models: %s is not a model of the ensemble and is ignored.", m.Name))
		}
	}
	return mode, notices, c.join()
}
