package report

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"triton/analyzer/trial"
)

// schema is the version of the JSON form. It grows when a field changes its meaning or goes.
const schema = 1

// The types below are the JSON form of a profile.
type (
	documentJSON struct {
		Schema      int                     `json:"schema"`
		Tool        string                  `json:"tool"`
		Started     time.Time               `json:"started"`
		SearchMode  string                  `json:"search_mode,omitempty"`
		LaunchMode  string                  `json:"launch_mode,omitempty"`
		Interrupted bool                    `json:"interrupted"`
		Devices     []deviceJSON            `json:"devices"`
		ServerOnly  map[string]trial.Values `json:"server_only,omitempty"`
		Models      []modelJSON             `json:"models"`
		Warnings    []string                `json:"warnings"`
	}
	deviceJSON struct {
		UUID  string `json:"uuid"`
		Name  string `json:"name"`
		Total uint64 `json:"total_bytes"`
	}
	modelJSON struct {
		Name           string              `json:"name"`
		Members        []memberJSON        `json:"members"`
		Search         searchJSON          `json:"search"`
		Recommendation *recommendationJSON `json:"recommendation"` // null without measurements
		Variants       []variantJSON       `json:"variants"`       // the best first
		Pareto         []referenceJSON     `json:"pareto"`
		Failed         []failedJSON        `json:"failed"`
	}
	memberJSON struct {
		Model       string               `json:"model"`
		Ensemble    bool                 `json:"ensemble,omitempty"`
		Composing   []string             `json:"composing,omitempty"`
		CPUOnly     bool                 `json:"cpu_only,omitempty"`
		Weight      int                  `json:"weight,omitempty"`
		Objectives  map[trial.Metric]int `json:"objectives"`
		Constraints []constraintJSON     `json:"constraints"`
	}
	constraintJSON struct {
		Metric    trial.Metric `json:"metric"`
		Min       *float64     `json:"min,omitempty"`
		Max       *float64     `json:"max,omitempty"`
		MaxPerGPU *float64     `json:"max_per_gpu,omitempty"`
	}
	searchJSON struct {
		Measured int    `json:"measured"`
		Failed   int    `json:"failed"`
		Reason   string `json:"reason,omitempty"`
		Error    string `json:"error,omitempty"`
	}
	recommendationJSON struct {
		Variant   string       `json:"variant"`
		Satisfies bool         `json:"satisfies_constraints"`
		Load      []loadJSON   `json:"load"`
		Gain      *float64     `json:"gain_percent,omitempty"` // over the default configuration, if it is another one
		Configs   []configJSON `json:"configs"`
		// WithinNoise is the variant with better figures than the recommended default configuration.
		WithinNoise *withinNoiseJSON `json:"within_noise,omitempty"`
	}
	withinNoiseJSON struct {
		Variant string   `json:"variant"`
		Gain    *float64 `json:"gain_percent,omitempty"` // over the default configuration
	}
	configJSON struct {
		Model     string          `json:"model"`
		Variant   string          `json:"variant"`
		MaxBatch  int             `json:"max_batch_size"`
		Batching  bool            `json:"dynamic_batching"`
		Instances []instanceGroup `json:"instances"`
		Platform  string          `json:"platform"`
		Patch     trial.Patch     `json:"config_patch,omitempty"`
	}
	variantJSON struct {
		Name    string       `json:"name"`
		Default bool         `json:"default"`
		Passing bool         `json:"satisfies_constraints"`
		Configs []configJSON `json:"configs"`
		Results []resultJSON `json:"results"` // the best first
	}
	resultJSON struct {
		Load       []loadJSON                  `json:"load"`
		Passing    bool                        `json:"satisfies_constraints"`
		Metrics    trial.Values                `json:"metrics"`
		Members    []trial.Values              `json:"members,omitempty"` // of several
		GPUs       map[string]trial.Values     `json:"gpus,omitempty"`
		Requests   []int                       `json:"requests,omitempty"`
		Stable     bool                        `json:"stable"`
		Confidence map[trial.Metric][2]float64 `json:"confidence_95,omitempty"`
		Seconds    float64                     `json:"duration_s"`
	}
	loadJSON struct {
		Batch       int    `json:"batch_size"`
		Concurrency int    `json:"concurrency,omitempty"`
		RequestRate int    `json:"request_rate,omitempty"`
		Intervals   string `json:"request_intervals,omitempty"`
	}
	referenceJSON struct {
		Variant string     `json:"variant"`
		Load    []loadJSON `json:"load"`
	}
	failedJSON struct {
		Variant string     `json:"variant"`
		Load    []loadJSON `json:"load"`
		Class   string     `json:"class"`
		Error   string     `json:"error"`
	}
)

// writeJSON writes an outcome for programs.
func writeJSON(w io.Writer, o *outcome) error {
	r := o.Report
	d := documentJSON{
		Schema: schema, Tool: r.Tool, Started: r.Started.UTC(), SearchMode: r.Mode, LaunchMode: r.Launch, Interrupted: r.Interrupted,
		Devices: []deviceJSON{}, ServerOnly: finiteDevices(r.ServerOnly), Models: []modelJSON{}, Warnings: append([]string{}, r.Warnings...),
	}
	for _, uuid := range slices.Sorted(maps.Keys(r.GPUs)) {
		d.Devices = append(d.Devices, deviceJSON{uuid, r.GPUs[uuid].Name, r.GPUs[uuid].Total})
	}
	for i := range o.Models {
		d.Models = append(d.Models, modelJSONOf(o, &o.Models[i]))
	}
	return encodeJSON(w, d)
}

// writeDetailJSON writes one variant of a model for programs.
func writeDetailJSON(w io.Writer, o *outcome, m *modelOutcome, v variantOutcome) error {
	return encodeJSON(w, struct {
		Schema int    `json:"schema"`
		Tool   string `json:"tool"`
		Model  string `json:"model"`
		variantJSON
	}{schema, o.Report.Tool, m.Name, variantJSONOf(o, m, v)})
}

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func modelJSONOf(o *outcome, m *modelOutcome) modelJSON {
	out := modelJSON{Name: m.Name, Members: []memberJSON{}, Variants: []variantJSON{}, Pareto: []referenceJSON{}, Failed: []failedJSON{}}
	out.Search = searchJSON{Measured: m.Measurements(), Failed: len(m.Failed), Reason: m.Reason}
	if m.Err != nil {
		out.Search.Error = m.Err.Error()
	}
	for _, p := range m.Members {
		one := memberJSON{Model: p.Model, Ensemble: p.Ensemble, Composing: p.Composing, CPUOnly: p.CPUOnly, Weight: p.Weight, Objectives: map[trial.Metric]int{}, Constraints: []constraintJSON{}}
		objectives := p.Objectives
		if len(objectives) == 0 {
			objectives = trial.DefaultObjectives()
		}
		for _, objective := range objectives {
			one.Objectives[objective.Tag] = objective.Weight
		}
		for _, c := range p.Constraints {
			one.Constraints = append(one.Constraints, constraintJSON{c.Tag, c.Min, c.Max, c.MaxPerGPU})
		}
		out.Members = append(out.Members, one)
	}
	for _, v := range m.Variants {
		out.Variants = append(out.Variants, variantJSONOf(o, m, v))
	}
	if len(m.Variants) > 0 {
		out.Recommendation = recommend(o, m)
	}
	for _, r := range m.Pareto() {
		out.Pareto = append(out.Pareto, referenceJSON{r.Config.Key(), loadJSONsOf(r.Config)})
	}
	for _, r := range m.Failed {
		one := failedJSON{Variant: r.Config.Key(), Load: loadJSONsOf(r.Config)}
		if r.Failure != nil {
			one.Class = string(r.Failure.Class)
			if r.Failure.Err != nil {
				one.Error = r.Failure.Err.Error()
			}
		}
		out.Failed = append(out.Failed, one)
	}
	return out
}

func variantJSONOf(o *outcome, m *modelOutcome, v variantOutcome) variantJSON {
	out := variantJSON{Name: v.Name, Default: v.Default(), Passing: v.Passing, Configs: configJSONsOf(o, v.Best.Config), Results: []resultJSON{}}
	for _, r := range v.Results {
		out.Results = append(out.Results, resultJSONOf(m, r))
	}
	return out
}

func recommend(o *outcome, m *modelOutcome) *recommendationJSON {
	v := m.Verdict()
	out := &recommendationJSON{Variant: v.Serve.Name, Satisfies: v.Serve.Passing, Load: loadJSONsOf(v.Serve.Best.Config), Configs: configJSONsOf(o, v.Serve.Best.Config)}
	if math.IsNaN(v.Gain) || math.IsInf(v.Gain, 0) {
		v.Compared = false
	}
	switch {
	case v.withinNoise():
		out.WithinNoise = &withinNoiseJSON{Variant: v.Best.Name}
		if v.Compared {
			out.WithinNoise.Gain = &v.Gain
		}
	case v.Compared:
		out.Gain = &v.Gain
	}
	return out
}

func configJSONsOf(o *outcome, c trial.Config) []configJSON {
	var all []configJSON
	add := func(v trial.Variant) {
		all = append(all, configJSON{v.Model, v.Name, int(v.Config.GetMaxBatchSize()), v.Config.GetDynamicBatching() != nil, o.Instances(v), platformOf(v), v.Patch})
	}
	for _, m := range c.Members {
		add(m.Variant)
		for _, v := range m.Composing {
			add(v)
		}
	}
	return all
}

func resultJSONOf(m *modelOutcome, r trial.Result) resultJSON {
	x := r.Measurement
	out := resultJSON{
		Load: loadJSONsOf(r.Config), Passing: m.Scorer.Passes(x), Metrics: trial.Values{}, GPUs: finiteDevices(x.GPUs),
		Requests: x.Requests, Stable: x.Stable, Seconds: x.Duration.Seconds(),
	}
	for _, tag := range trial.Metrics() {
		if v, ok := valueOf(r, tag); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			out.Metrics[tag] = v
		}
	}
	if len(x.Members) > 1 {
		for _, values := range x.Members {
			out.Members = append(out.Members, finite(values))
		}
	}
	for tag, i := range x.Confidence {
		if out.Confidence == nil {
			out.Confidence = map[trial.Metric][2]float64{}
		}
		if !math.IsNaN(i.Low+i.High) && !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) {
			out.Confidence[tag] = [2]float64{i.Low, i.High}
		}
	}
	return out
}

// finite leaves out what JSON cannot write.
func finite(values trial.Values) trial.Values {
	out := trial.Values{}
	for tag, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[tag] = v
		}
	}
	return out
}

func finiteDevices(devices map[string]trial.Values) map[string]trial.Values {
	out := map[string]trial.Values{}
	for uuid, values := range devices {
		out[uuid] = finite(values)
	}
	return out
}

func loadJSONsOf(c trial.Config) []loadJSON {
	all := make([]loadJSON, len(c.Members))
	for i, m := range c.Members {
		all[i] = loadJSON{m.Load.Batch, m.Load.Concurrency, m.Load.RequestRate, m.Load.Intervals}
	}
	return all
}
