// Package variant makes the variants of a model that a profile measures: it applies the changes that
// a search proposes to the model's configuration, names the results as Model Analyzer does, and
// writes them to the output repository.
package variant

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Apply returns a copy of a configuration with the fields of a patch. Messages and maps of both are
// merged, other values replaced. A nil value removes the field. A scheduler takes the place of another
// one.
func Apply(base *inferencepb.ModelConfig, p trial.Patch) (*inferencepb.ModelConfig, error) {
	if len(p) == 0 {
		return proto.Clone(base).(*inferencepb.ModelConfig), nil
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(base)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	// The patch may hold Go types of any kind; its JSON form has the same types as fields.
	var change map[string]any
	if text, err = json.Marshal(p); err == nil {
		err = json.Unmarshal(text, &change)
	}
	if err != nil {
		return nil, fmt.Errorf("model %q: changes of the configuration: %w", base.GetName(), err)
	}
	for _, name := range schedulers {
		if change[name] == nil {
			continue
		}
		for _, other := range schedulers {
			if other != name {
				delete(fields, other)
			}
		}
	}
	merge(fields, change)
	if text, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	c, err := modelconfig.ParseJSON("", text)
	if err != nil {
		return nil, fmt.Errorf("model %q: the configuration with the changes of the search: %w", base.GetName(), err)
	}
	return c.ModelConfig, nil
}

// schedulers are the fields of which a configuration has one at most.
var schedulers = []string{"dynamic_batching", "sequence_batching", "ensemble_scheduling"}

func merge(into, from map[string]any) {
	for key, v := range from {
		old, isMap := into[key].(map[string]any)
		change, merges := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, key)
		case isMap && merges:
			merge(old, change)
		default:
			into[key] = v
		}
	}
}

// Complete returns a configuration as its user wrote it, with what the server has added about the
// model itself: batch size, tensors, backend, dynamic batching and whether it is decoupled. The rest
// of the server's additions, such as instance groups, depends on the machine and stays open.
func Complete(written, served *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	c := proto.Clone(written).(*inferencepb.ModelConfig)
	c.Name = served.GetName()
	if c.GetPlatform() == "" && c.GetBackend() == "" {
		c.Platform, c.Backend = served.GetPlatform(), served.GetBackend()
	}
	if c.GetEnsembleScheduling() != nil {
		return c // describes itself
	}
	if c.GetMaxBatchSize() == 0 {
		c.MaxBatchSize = served.GetMaxBatchSize()
	}
	if len(c.GetInput()) == 0 {
		c.Input = served.GetInput()
	}
	if len(c.GetOutput()) == 0 {
		c.Output = served.GetOutput()
	}
	if c.GetModelTransactionPolicy() == nil && served.GetModelTransactionPolicy().GetDecoupled() {
		c.ModelTransactionPolicy = served.GetModelTransactionPolicy()
	}
	if c.GetSchedulingChoice() == nil && served.GetSchedulingChoice() != nil {
		c.SchedulingChoice = served.GetSchedulingChoice()
		if d := c.GetDynamicBatching(); d != nil {
			// The server prefers the largest batch, which the search may change.
			d = proto.Clone(d).(*inferencepb.ModelDynamicBatching)
			d.PreferredBatchSize = nil
			c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d}
		}
	}
	return c
}
