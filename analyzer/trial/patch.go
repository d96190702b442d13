package trial

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Apply returns a copy of a configuration with the fields of the patch. Messages and maps of both are
// merged, other values replaced. A nil value removes the field. A scheduler takes the place of another
// one.
func (p Patch) Apply(base *inferencepb.ModelConfig) (*inferencepb.ModelConfig, error) {
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
	mergeFields(fields, change)
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

func mergeFields(into, from map[string]any) {
	for key, v := range from {
		old, isMap := into[key].(map[string]any)
		change, merges := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, key)
		case isMap && merges:
			mergeFields(old, change)
		default:
			into[key] = v
		}
	}
}
