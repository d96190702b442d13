package profile

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/trial"
)

// checkpointFile is the form of a checkpoint. Keys that Model Analyzer does not have begin with "_triton".
type checkpointFile struct {
	Results struct {
		Models map[string]map[string]variantEntry `json:"_results"`
	} `json:"ResultManager.results"`
	ServerOnly map[string][]metricRecord `json:"ResultManager.server_only_data"`
	GPUs       map[string]GPU            `json:"MetricsManager.gpus"`
	Names      *VariantNames             `json:"ModelManager.model_variant_name_manager"`
	Seed       uint64                    `json:"OptunaRunConfigGenerator.seed,omitempty"`
	Tool       string                    `json:"_triton.tool,omitempty"`
}

// variantEntry is a pair: the configuration, and its measurements by representation.
type variantEntry struct {
	config       runConfig
	measurements map[string]recordedMeasurement
}

func (e variantEntry) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{e.config, e.measurements})
}

func (e *variantEntry) UnmarshalJSON(text []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a variant is not a pair of its configuration and its measurements")
	}
	return errors.Join(json.Unmarshal(pair[0], &e.config), json.Unmarshal(pair[1], &e.measurements))
}

type runConfig struct {
	Environment map[string]string `json:"_triton_env"` // Model Analyzer requires the key
	Members     []memberConfig    `json:"_model_run_configs"`
}

type memberConfig struct {
	Model     string            `json:"_model_name"`
	Variant   variantConfig     `json:"_model_config_variant"`
	Options   bench.LoadOptions `json:"_perf_config"`
	Composing compositions      `json:"_composing_config_variants"`
}

type compositions []variantConfig

// variantConfig is a configuration in protobuf's JSON form.
type variantConfig struct {
	Config  json.RawMessage `json:"model_config"`
	Name    string          `json:"variant_name"`
	CPUOnly bool            `json:"cpu_only"`
	Patch   trial.Patch     `json:"_triton_patch,omitempty"`
}

type recordedMeasurement struct {
	Name    string                    `json:"_model_variants_name"`
	GPUs    map[string][]metricRecord `json:"_gpu_data"`
	Members []memberMeasurements      `json:"_model_config_measurements"`
	Own     *ownFields                `json:"_triton,omitempty"`
}

type memberMeasurements struct {
	Model  string         `json:"_model_config_name"`
	Params map[string]any `json:"_model_specific_pa_params"`
	Values []metricRecord `json:"_non_gpu_data"`
}

// ownFields is what Model Analyzer does not keep.
type ownFields struct {
	Order      int                             `json:"order"`
	Requests   []int                           `json:"requests,omitempty"`
	Stable     bool                            `json:"stable"`
	Confidence map[trial.Metric]trial.Interval `json:"confidence,omitempty"`
	Duration   time.Duration                   `json:"duration,omitempty"`
}

// metricRecord is a pair of a metric and its value.
type metricRecord struct {
	tag   trial.Metric
	value float64
	gpu   string
}

type recordValue struct {
	Value     float64 `json:"_value"`
	Timestamp int     `json:"_timestamp"`
	GPU       string  `json:"_device_uuid,omitempty"`
	// Device is GPU once more: Model Analyzer writes one key and reads the other.
	Device string `json:"_device,omitempty"`
}

func (r metricRecord) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{r.tag, recordValue{Value: r.value, GPU: r.gpu, Device: r.gpu}})
}

func (r *metricRecord) UnmarshalJSON(text []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("a record is not a pair of a tag and a value")
	}
	var v recordValue
	err := errors.Join(json.Unmarshal(pair[0], &r.tag), json.Unmarshal(pair[1], &v))
	r.value, r.gpu = v.Value, v.GPU
	return err
}

func metricRecords(v trial.Values, gpu string) []metricRecord {
	all := make([]metricRecord, 0, len(v))
	for _, tag := range slices.Sorted(maps.Keys(v)) {
		all = append(all, metricRecord{tag, v[tag], gpu})
	}
	return all
}

func valuesOf(all []metricRecord) trial.Values {
	v := make(trial.Values, len(all))
	for _, r := range all {
		v[r.tag] = r.value
	}
	return v
}

func recordsByGPU(all map[string]trial.Values) map[string][]metricRecord {
	out := make(map[string][]metricRecord, len(all))
	for id, v := range all {
		out[id] = metricRecords(v, id)
	}
	return out
}

func valuesByGPU(all map[string][]metricRecord) map[string]trial.Values {
	if len(all) == 0 {
		return nil
	}
	out := make(map[string]trial.Values, len(all))
	for id, r := range all {
		out[id] = valuesOf(r)
	}
	return out
}
