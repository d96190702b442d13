package export

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"triton/analyzer/metric"
	"triton/analyzer/ranking"
	"triton/analyzer/report/outcome"
	"triton/analyzer/trial"
)

// schema is the version of the JSON form. It grows when a field changes its meaning or goes.
const schema = 1

// The types below are the JSON form of a profile.
type (
	document struct {
		Schema      int                      `json:"schema"`
		Tool        string                   `json:"tool"`
		Started     time.Time                `json:"started"`
		SearchMode  string                   `json:"search_mode,omitempty"`
		LaunchMode  string                   `json:"launch_mode,omitempty"`
		Interrupted bool                     `json:"interrupted"`
		Devices     []device                 `json:"devices"`
		ServerOnly  map[string]metric.Values `json:"server_only,omitempty"`
		Models      []model                  `json:"models"`
		Warnings    []string                 `json:"warnings"`
	}
	device struct {
		UUID  string `json:"uuid"`
		Name  string `json:"name"`
		Total uint64 `json:"total_bytes"`
	}
	model struct {
		Name           string          `json:"name"`
		Members        []member        `json:"members"`
		Search         search          `json:"search"`
		Recommendation *recommendation `json:"recommendation"` // null without measurements
		Variants       []variant       `json:"variants"`       // the best first
		Pareto         []reference     `json:"pareto"`
		Failed         []failed        `json:"failed"`
	}
	member struct {
		Model       string             `json:"model"`
		Ensemble    bool               `json:"ensemble,omitempty"`
		Composing   []string           `json:"composing,omitempty"`
		CPUOnly     bool               `json:"cpu_only,omitempty"`
		Weight      int                `json:"weight,omitempty"`
		Objectives  map[metric.Tag]int `json:"objectives"`
		Constraints []constraint       `json:"constraints"`
	}
	constraint struct {
		Metric    metric.Tag `json:"metric"`
		Min       *float64   `json:"min,omitempty"`
		Max       *float64   `json:"max,omitempty"`
		MaxPerGPU *float64   `json:"max_per_gpu,omitempty"`
	}
	search struct {
		Measured int    `json:"measured"`
		Failed   int    `json:"failed"`
		Reason   string `json:"reason,omitempty"`
		Error    string `json:"error,omitempty"`
	}
	recommendation struct {
		Variant   string   `json:"variant"`
		Satisfies bool     `json:"satisfies_constraints"`
		Load      []load   `json:"load"`
		Gain      *float64 `json:"gain_percent,omitempty"` // over the default configuration
		Configs   []config `json:"configs"`
	}
	config struct {
		Model     string          `json:"model"`
		Variant   string          `json:"variant"`
		MaxBatch  int             `json:"max_batch_size"`
		Batching  bool            `json:"dynamic_batching"`
		Instances []outcome.Group `json:"instances"`
		Platform  string          `json:"platform"`
		Patch     trial.Patch     `json:"config_patch,omitempty"`
	}
	variant struct {
		Name    string   `json:"name"`
		Default bool     `json:"default"`
		Passing bool     `json:"satisfies_constraints"`
		Configs []config `json:"configs"`
		Results []result `json:"results"` // the best first
	}
	result struct {
		Load       []load                    `json:"load"`
		Passing    bool                      `json:"satisfies_constraints"`
		Metrics    metric.Values             `json:"metrics"`
		Members    []metric.Values           `json:"members,omitempty"` // of several
		GPUs       map[string]metric.Values  `json:"gpus,omitempty"`
		Requests   []int                     `json:"requests,omitempty"`
		Stable     bool                      `json:"stable"`
		Confidence map[metric.Tag][2]float64 `json:"confidence_95,omitempty"`
		Seconds    float64                   `json:"duration_s"`
	}
	load struct {
		Batch       int    `json:"batch_size"`
		Concurrency int    `json:"concurrency,omitempty"`
		RequestRate int    `json:"request_rate,omitempty"`
		Intervals   string `json:"request_intervals,omitempty"`
	}
	reference struct {
		Variant string `json:"variant"`
		Load    []load `json:"load"`
	}
	failed struct {
		Variant string `json:"variant"`
		Load    []load `json:"load"`
		Class   string `json:"class"`
		Error   string `json:"error"`
	}
)

// JSON writes an outcome for programs.
func JSON(w io.Writer, o *outcome.Outcome) error {
	r := o.Report
	d := document{
		Schema: schema, Tool: r.Tool, Started: r.Started.UTC(), SearchMode: r.Mode, LaunchMode: r.Launch, Interrupted: r.Interrupted,
		Devices: []device{}, ServerOnly: finiteDevices(r.ServerOnly), Models: []model{}, Warnings: append([]string{}, r.Warnings...),
	}
	for _, uuid := range slices.Sorted(maps.Keys(r.GPUs)) {
		d.Devices = append(d.Devices, device{uuid, r.GPUs[uuid].Name, r.GPUs[uuid].Total})
	}
	for i := range o.Models {
		d.Models = append(d.Models, modelOf(o, &o.Models[i]))
	}
	return encode(w, d)
}

// detailJSON writes one variant of a model for programs.
func detailJSON(w io.Writer, o *outcome.Outcome, m *outcome.Model, v outcome.Variant) error {
	return encode(w, struct {
		Schema int    `json:"schema"`
		Tool   string `json:"tool"`
		Model  string `json:"model"`
		variant
	}{schema, o.Report.Tool, m.Name, variantOf(o, m, v)})
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func modelOf(o *outcome.Outcome, m *outcome.Model) model {
	out := model{Name: m.Name, Members: []member{}, Variants: []variant{}, Pareto: []reference{}, Failed: []failed{}}
	out.Search = search{Measured: m.Measurements(), Failed: len(m.Failed), Reason: m.Reason}
	if m.Err != nil {
		out.Search.Error = m.Err.Error()
	}
	for _, p := range m.Members {
		one := member{Model: p.Model, Ensemble: p.Ensemble, Composing: p.Composing, CPUOnly: p.CPUOnly, Weight: p.Weight, Objectives: map[metric.Tag]int{}, Constraints: []constraint{}}
		objectives := p.Objectives
		if len(objectives) == 0 {
			objectives = metric.DefaultObjectives()
		}
		for _, objective := range objectives {
			one.Objectives[objective.Tag] = objective.Weight
		}
		for _, c := range p.Constraints {
			one.Constraints = append(one.Constraints, constraint{c.Tag, c.Min, c.Max, c.MaxPerGPU})
		}
		out.Members = append(out.Members, one)
	}
	for _, v := range m.Variants {
		out.Variants = append(out.Variants, variantOf(o, m, v))
	}
	if len(m.Variants) > 0 {
		out.Recommendation = recommend(o, m)
	}
	for _, r := range m.Pareto() {
		out.Pareto = append(out.Pareto, reference{name(r.Config), loads(r.Config)})
	}
	for _, r := range m.Failed {
		one := failed{Variant: name(r.Config), Load: loads(r.Config)}
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

func variantOf(o *outcome.Outcome, m *outcome.Model, v outcome.Variant) variant {
	out := variant{Name: v.Name, Default: v.Default(), Passing: v.Passing, Configs: configsOf(o, v.Best.Config), Results: []result{}}
	for _, r := range v.Results {
		out.Results = append(out.Results, resultOf(m, r))
	}
	return out
}

func recommend(o *outcome.Outcome, m *outcome.Model) *recommendation {
	top, _ := m.Top(1)
	best := top[0]
	out := &recommendation{Variant: best.Name, Satisfies: best.Passing, Load: loads(best.Best.Config), Configs: configsOf(o, best.Best.Config)}
	if base, ok := m.Default(); ok {
		if gain := m.Scorer.Gain(best.Best.Measurement, base.Measurement); !math.IsNaN(gain) && !math.IsInf(gain, 0) {
			out.Gain = &gain
		}
	}
	return out
}

func configsOf(o *outcome.Outcome, c trial.Config) []config {
	var all []config
	add := func(v trial.Variant) {
		all = append(all, config{v.Model, v.Name, int(v.Config.GetMaxBatchSize()), v.Config.GetDynamicBatching() != nil, o.Instances(v), outcome.Platform(v), v.Patch})
	}
	for _, m := range c.Members {
		add(m.Variant)
		for _, v := range m.Composing {
			add(v)
		}
	}
	return all
}

func resultOf(m *outcome.Model, r trial.Result) result {
	x := r.Measurement
	out := result{
		Load: loads(r.Config), Passing: m.Scorer.Passes(x), Metrics: metric.Values{}, GPUs: finiteDevices(x.GPUs),
		Requests: x.Requests, Stable: x.Stable, Seconds: x.Duration.Seconds(),
	}
	for _, tag := range metric.Tags() {
		if v, ok := outcome.Value(r, tag); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
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
			out.Confidence = map[metric.Tag][2]float64{}
		}
		if !math.IsNaN(i.Low+i.High) && !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) {
			out.Confidence[tag] = [2]float64{i.Low, i.High}
		}
	}
	return out
}

// finite leaves out what JSON cannot write.
func finite(values metric.Values) metric.Values {
	out := metric.Values{}
	for tag, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[tag] = v
		}
	}
	return out
}

func finiteDevices(devices map[string]metric.Values) map[string]metric.Values {
	out := map[string]metric.Values{}
	for uuid, values := range devices {
		out[uuid] = finite(values)
	}
	return out
}

func loads(c trial.Config) []load {
	all := make([]load, len(c.Members))
	for i, m := range c.Members {
		all[i] = load{m.Load.Batch, m.Load.Concurrency, m.Load.RequestRate, m.Load.Intervals}
	}
	return all
}

// name returns the names of the variants of a trial.
func name(c trial.Config) string { return ranking.Key(c) }
