package profile

import (
	"strconv"
	"strings"

	"triton/analyzer/profile"
	"triton/analyzer/search"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// newSearch returns the search that the options ask for. notice receives its log lines.
func newSearch(o *settings.Profile, notice func(string)) func(profile.Subject) (profile.Search, error) {
	return func(s profile.Subject) (profile.Search, error) {
		scorer := trial.NewScorer(goals(s)...)
		soft := func(r settings.Range, keys string) search.Range {
			return search.Range{Min: r.Min, Max: r.Max, Soft: !o.IsSet("run_config_search_min_"+keys) && !o.IsSet("run_config_search_max_"+keys)}
		}
		t := search.TPEOptions{
			Seed: s.Seed, MinPercent: o.Search.PercentageOfSpace.Min, MaxPercent: o.Search.PercentageOfSpace.Max,
			MinPercentSet: o.IsSet("min_percentage_of_search_space"), MaxPercentSet: o.IsSet("max_percentage_of_search_space"),
			Patience: o.Search.EarlyExitThreshold, Formula: o.Search.UseConcurrencyFormula,
		}
		if o.IsSet("optuna_min_trials") {
			t.MinTrials = o.Search.Trials.Min
		}
		if o.IsSet("optuna_max_trials") {
			t.MaxTrials = o.Search.Trials.Max
		}
		planned, err := plannedOptions(o, s, notice)
		if err != nil {
			return nil, err
		}
		return search.New(search.Options{
			Mode: search.Mode(s.Mode),
			Space: search.Space{
				Models:         spaceModels(s.Models),
				Concurrency:    soft(o.Search.Concurrency, "concurrency"),
				RequestRate:    soft(o.Search.RequestRate, "request_rate"),
				Instances:      soft(o.Search.InstanceCount, "instance_count"),
				ModelBatch:     soft(o.Search.ModelBatchSize, "model_batch_size"),
				UseRequestRate: o.UsesRequestRate(),
				Disabled:       o.Search.Disable,
				EarlyExit:      o.Search.EarlyExit,
				Unbounded:      o.Search.Unbounded,
			},
			Judge: search.Judge{
				Score:     scorer.Score,
				Passes:    scorer.Passes,
				Violation: func(m *trial.Measurement) float64 { return scorer.ViolationPercent(m) / 100 },
			},
			Notice: notice,
			Sweep: search.SweepOptions{
				Disable: o.Search.ConcurrencySweepDisable, Steps: o.Search.MaxBinarySearchSteps, Top: o.Output.ConfigsPerModel,
			},
			TPE:     t,
			Planner: planned,
		})
	}
}

// goals returns the goals of the models of a search.
func goals(s profile.Subject) []trial.Goal {
	all := make([]trial.Goal, len(s.Models))
	for i, m := range s.Models {
		all[i] = m.Goal
	}
	return all
}

// spaceModels describes models to the search.
func spaceModels(models []profile.Model) []search.Model {
	out := make([]search.Model, len(models))
	for i, m := range models {
		out[i] = search.Model{
			Name:         m.Name,
			MaxBatch:     int(m.Config.GetMaxBatchSize()),
			Instances:    instances(m.Config),
			Sequence:     m.Config.GetSequenceBatching() != nil,
			CPUOnly:      m.CPUOnly,
			Ensemble:     m.Ensemble(),
			Composing:    spaceModels(m.Composing),
			Batches:      m.BatchSizes,
			Concurrency:  m.Concurrency,
			RequestRates: m.RequestRate,
			Load:         loadOfFlags(m.PerfFlags),
		}
		out[i].Intervals, _ = m.PerfFlags.Get("request-intervals")
		if len(m.Parameters) > 0 {
			out[i].Patches = m.Parameters.Combinations()
		}
	}
	return out
}

// instances returns how many instances a configuration asks for.
func instances(c *inferencepb.ModelConfig) int {
	sum := 0
	for _, g := range c.GetInstanceGroup() {
		sum += int(max(1, g.GetCount())) * max(1, len(g.GetGpus()))
	}
	return max(1, sum)
}

// loadOfFlags returns the load that the flags of the load generator set for all trials of a model, if
// they set one.
func loadOfFlags(flags settings.Flags) *trial.Load {
	l := trial.Load{Batch: 1}
	if text, ok := flags.Get("batch-size"); ok {
		l.Batch = max(1, firstNumber(text))
	}
	if text, ok := flags.Get("concurrency-range"); ok {
		l.Concurrency = max(1, firstNumber(text))
		return &l
	}
	if text, ok := flags.Get("request-rate-range"); ok {
		l.RequestRate = max(1, firstNumber(text))
		return &l
	}
	return nil
}

// firstNumber returns the first number of a range such as 1:8, and 0 if there is none.
func firstNumber(text string) int {
	first, _, _ := strings.Cut(text, ":")
	n, _ := strconv.Atoi(first)
	return n
}
