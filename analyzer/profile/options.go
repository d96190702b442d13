package profile

import (
	"fmt"
	"strconv"
	"strings"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// preciseInterval is the length of a window, in milliseconds, in measurements that end with their
// confidence interval.
const preciseInterval = "500"

// generatorOptions returns the load generator's options for the members of a trial. The addresses are
// those of the settings, so that the options of a trial are the same in every run.
func (r *runner) generatorOptions(s Subject, p trial.Proposal, c trial.Config) ([]bench.LoadOptions, error) {
	all := make([]bench.LoadOptions, len(c.Members))
	for i, m := range c.Members {
		given, err := r.modelSettings(m.Model)
		if err != nil {
			return nil, err
		}
		o := &all[i]
		r.setCommon(o, m)
		setLoad(o, m.Load)
		if p.Precision > 0 {
			// The half-width is in percent. Ten windows are the time limit.
			o.Set("measurement-mode", "time_windows")
			o.Set("measurement-interval", preciseInterval)
			goals := "ci(throughput)<" + strconv.FormatFloat(100*p.Precision, 'f', 2, 64) + "%"
			if p.Rival > 0 && len(c.Members) == 1 {
				goals += ",throughput<" + strconv.FormatFloat(p.Rival, 'f', 3, 64)
			}
			o.Set("stop-when", goals)
		}
		if r.settings.ModelType == settings.LLM {
			r.setLanguageModel(o, given)
		}
		for _, f := range given.PerfFlags {
			o.Set(f.Name, f.Values...)
		}
	}
	return all, nil
}

// modelSettings returns the options of a profiled model.
func (r *runner) modelSettings(model string) (settings.Model, error) {
	for _, m := range r.settings.Models {
		if m.Name == model {
			return m, nil
		}
	}
	return settings.Model{}, fmt.Errorf("model %q is not profiled", model)
}

// setCommon sets what Model Analyzer passes to every run.
func (r *runner) setCommon(o *bench.LoadOptions, m trial.Member) {
	o.Set("model-name", m.Model)
	o.Set("latency-report-file", m.Model+"-results.csv")
	o.Set("measurement-mode", "count_windows")
	o.Set("verbose-csv", "true")
	if r.settings.Server.LaunchMode == settings.CAPI {
		o.Set("model-name", m.Name)
		o.Set("service-kind", "triton_c_api")
		o.Set("triton-server-directory", r.settings.Server.InstallPath)
		o.Set("model-repository", r.settings.OutputModelRepository)
	} else {
		url := r.settings.Server.GRPCEndpoint
		if r.settings.Client.Protocol == "http" {
			url = r.settings.Server.HTTPEndpoint
		}
		o.Set("protocol", r.settings.Client.Protocol)
		o.Set("url", url)
		o.Set("collect-metrics", "true")
		o.Set("metrics-url", r.settings.Server.MetricsURL)
		o.Set("metrics-interval", strconv.FormatInt(r.settings.MonitoringInterval.Milliseconds(), 10))
	}
	if len(r.settings.BLSComposing) > 0 {
		names := make([]string, len(r.settings.BLSComposing))
		for i, b := range r.settings.BLSComposing {
			names[i] = b.Name
		}
		o.Set("bls-composing-models", strings.Join(names, ","))
	}
}

// setLanguageModel makes the load generator report tokens. Of genai-perf's flags it has those that
// perf_analyzer has too; the others make requests, which perf_analyzer_flags describe here.
func (r *runner) setLanguageModel(o *bench.LoadOptions, m settings.Model) {
	if r.settings.Client.Path != "" {
		r.warn("perf_analyzer reports no tokens. Leave out perf_analyzer_path to measure language models.")
		return
	}
	o.Set("llm", "true")
	for _, f := range m.GenAIPerfFlags {
		switch f.Name {
		case "streaming", "endpoint", "service-kind", "url", "random-seed":
			o.Set(f.Name, f.Values...)
		default:
			r.warn("genai_perf_flags: " + f.Name + " is ignored. Describe the requests with input-data in perf_analyzer_flags.")
		}
	}
}

func setLoad(o *bench.LoadOptions, l trial.Load) {
	o.Set("batch-size", strconv.Itoa(max(1, l.Batch)))
	switch {
	case l.Concurrency > 0:
		o.Set("concurrency-range", strconv.Itoa(l.Concurrency))
	case l.RequestRate > 0:
		o.Set("request-rate-range", strconv.Itoa(l.RequestRate))
	case l.Intervals != "":
		o.Set("request-intervals", l.Intervals)
	}
}
