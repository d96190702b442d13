package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

// MarshalJSON writes Model Analyzer's form.
func (s *Checkpoint) MarshalJSON() ([]byte, error) {
	f := checkpointFile{ServerOnly: recordsByGPU(s.ServerOnly), GPUs: s.GPUs, Names: s.Names, Seed: s.Seed, Tool: s.Tool}
	if f.GPUs == nil {
		f.GPUs = map[string]GPU{}
	}
	f.Results.Models = map[string]map[string]variantEntry{}
	for order, t := range s.Trials {
		if t.Result.Measurement == nil {
			continue
		}
		models, key := strings.Join(t.Result.Config.Models(), ","), CheckpointName(t.Result.Config)
		if f.Results.Models[models] == nil {
			f.Results.Models[models] = map[string]variantEntry{}
		}
		entry, ok := f.Results.Models[models][key]
		if !ok {
			config, err := newRunConfig(t)
			if err != nil {
				return nil, err
			}
			entry = variantEntry{config, map[string]recordedMeasurement{}}
			f.Results.Models[models][key] = entry
		}
		entry.measurements[t.Key] = newRecordedMeasurement(t, order)
	}
	return json.Marshal(f)
}

// CheckpointName returns the names of the variants of a trial: those of the profiled models, then after
// two colons those of the models that they call. It is Model Analyzer's form, of checkpoints and of texts
// for people; within a run trial.Config.Key identifies a configuration.
func CheckpointName(c trial.Config) string {
	var names, composing []string
	for _, m := range c.Members {
		names = append(names, m.Name)
		for _, v := range m.Composing {
			composing = append(composing, v.Name)
		}
	}
	name := strings.Join(names, ",")
	if len(composing) > 0 {
		name += "::" + strings.Join(composing, ",")
	}
	return name
}

func newRunConfig(t RecordedTrial) (runConfig, error) {
	c := runConfig{Environment: map[string]string{}}
	for i, m := range t.Result.Config.Members {
		v, err := newVariantConfig(m.Variant)
		if err != nil {
			return c, err
		}
		member := memberConfig{Model: m.Model, Variant: v, Composing: compositions{}}
		if i < len(t.Options) {
			member.Options = t.Options[i]
		}
		for _, composing := range m.Composing {
			v, err := newVariantConfig(composing)
			if err != nil {
				return c, err
			}
			member.Composing = append(member.Composing, v)
		}
		c.Members = append(c.Members, member)
	}
	return c, nil
}

func newVariantConfig(v trial.Variant) (variantConfig, error) {
	text, err := protojson.Marshal(v.Config)
	return variantConfig{text, v.Name, v.CPUOnly, v.Patch}, err
}

func newRecordedMeasurement(t RecordedTrial, order int) recordedMeasurement {
	m := t.Result.Measurement
	out := recordedMeasurement{
		Name: CheckpointName(t.Result.Config), GPUs: recordsByGPU(m.GPUs),
	}
	if !t.Foreign {
		out.Own = &ownFields{order, m.Requests, m.Stable, m.Confidence, m.Duration}
	}
	for i, member := range t.Result.Config.Members {
		out.Members = append(out.Members, memberMeasurements{member.Model, loadParams(member.Load), metricRecords(m.Members[i], "")})
	}
	return out
}

func loadParams(l trial.Load) map[string]any {
	p := map[string]any{"batch-size": l.Batch, "concurrency-range": nil, "request-rate-range": nil, "request-intervals": nil}
	switch {
	case l.Concurrency > 0:
		p["concurrency-range"] = l.Concurrency
	case l.RequestRate > 0:
		p["request-rate-range"] = l.RequestRate
	case l.Intervals != "":
		p["request-intervals"] = l.Intervals
	}
	return p
}

func loadOfParams(p map[string]any) trial.Load {
	number := func(key string) int {
		switch v := p[key].(type) {
		case float64:
			return int(v)
		case string:
			var n int
			_, _ = fmt.Sscan(v, &n)
			return n
		}
		return 0
	}
	l := trial.Load{Batch: max(1, number("batch-size")), Concurrency: number("concurrency-range"), RequestRate: number("request-rate-range")}
	l.Intervals, _ = p["request-intervals"].(string)
	return l
}

// UnmarshalJSON reads Model Analyzer's form.
func (s *Checkpoint) UnmarshalJSON(text []byte) error {
	var f checkpointFile
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = Checkpoint{Names: f.Names, ServerOnly: valuesByGPU(f.ServerOnly), GPUs: f.GPUs, Seed: f.Seed, Tool: f.Tool}
	if s.Names == nil {
		s.Names = newVariantNames()
	}
	type ordered struct {
		RecordedTrial
		order int
	}
	var all []ordered
	for models, variants := range f.Results.Models {
		for name, entry := range variants {
			for key, m := range entry.measurements {
				t, err := readTrial(entry.config, m)
				if err != nil {
					return fmt.Errorf("measurement of %s, %s: %w", models, name, err)
				}
				t.Key, t.Foreign = key, m.Own == nil
				o := ordered{t, 0}
				if m.Own != nil {
					o.order = m.Own.Order
				}
				all = append(all, o)
			}
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(all[i].order-all[j].order, strings.Compare(all[i].Key, all[j].Key)) < 0
	})
	for _, o := range all {
		s.Trials = append(s.Trials, o.RecordedTrial)
	}
	return nil
}

func readTrial(c runConfig, m recordedMeasurement) (RecordedTrial, error) {
	if len(c.Members) != len(m.Members) || len(c.Members) == 0 {
		return RecordedTrial{}, fmt.Errorf("%d configurations for %d models", len(c.Members), len(m.Members))
	}
	var t RecordedTrial
	out := &trial.Measurement{GPUs: valuesByGPU(m.GPUs), Stable: true}
	if m.Own != nil {
		out.Requests, out.Stable, out.Confidence, out.Duration = m.Own.Requests, m.Own.Stable, m.Own.Confidence, m.Own.Duration
	}
	for i, config := range c.Members {
		v, err := readVariant(config.Model, config.Variant)
		if err != nil {
			return RecordedTrial{}, err
		}
		member := trial.Member{Variant: v, Load: loadOfParams(m.Members[i].Params)}
		for _, composing := range config.Composing {
			v, err := readVariant(modelOf(composing.Name), composing)
			if err != nil {
				return RecordedTrial{}, err
			}
			member.Composing = append(member.Composing, v)
		}
		t.Result.Config.Members = append(t.Result.Config.Members, member)
		t.Options = append(t.Options, config.Options)
		out.Members = append(out.Members, valuesOf(m.Members[i].Values))
	}
	t.Result.Measurement = out
	return t, nil
}

func readVariant(model string, v variantConfig) (trial.Variant, error) {
	config := &inferencepb.ModelConfig{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(v.Config, config); err != nil {
		return trial.Variant{}, fmt.Errorf("configuration of %s: %w", v.Name, err)
	}
	config.Name = model
	// Model Analyzer does not say what it has changed. An ensemble has no instances of its own.
	if v.Patch == nil && !strings.HasSuffix(v.Name, "_config_default") && config.GetEnsembleScheduling() == nil {
		v.Patch = trial.Patch{"max_batch_size": config.GetMaxBatchSize()}
	}
	return trial.Variant{Model: model, Name: v.Name, Patch: v.Patch, Config: config, CPUOnly: v.CPUOnly}, nil
}
